"""PNM and BMP from Python, against Pillow."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from framejudge import errors, frames

RNG = np.random.default_rng(7)


def saved(image: Image.Image, kind: str) -> bytes:
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


@pytest.mark.parametrize("mode", ["1", "L", "RGB"])
@pytest.mark.parametrize("size", [(1, 1), (9, 5), (64, 33)])
@pytest.mark.parametrize("kind", ["PPM", "BMP"])
def test_a_picture_is_pillows(mode, size, kind):
    pixels = RNG.integers(0, 256, (size[1], size[0], 3), np.uint8)
    image = Image.fromarray(pixels).convert(mode)
    assert np.array_equal(frames.decode(saved(image, kind)), np.asarray(image.convert("RGB")))


def test_a_palette_bmp_is_pillows():
    pixels = RNG.integers(0, 256, (20, 31, 3), np.uint8)
    image = Image.fromarray(pixels).quantize(64)
    assert np.array_equal(frames.decode(saved(image, "BMP")), np.asarray(image.convert("RGB")))


def test_a_16_bit_bmp_is_pillows():
    # 5-5-5 bits, made by hand as Pillow writes none: every red, green and blue once.
    rows = np.zeros((32, 32, 2), np.uint8)
    words = np.arange(1024, dtype="<u2") * 31 % 32768
    rows[...] = words.view(np.uint8).reshape(32, 32, 2)
    header = b"BM" + (54 + 2048).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    header += (40).to_bytes(4, "little") + (32).to_bytes(4, "little") * 2 + b"\1\0\x10\0"
    file = header + bytes(24) + rows.tobytes()
    theirs = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
    assert np.array_equal(frames.decode(file), theirs)


def test_samples_of_any_maxval_are_scaled():
    # cv2 hands these out as they are: half of 100 would be darker than half of 255.
    file = b"P5 3 1 100\n" + bytes([0, 50, 100])
    assert frames.decode(file, mode="gray")[0, :, 0].tolist() == [0, 128, 255]


def test_alpha_of_a_pam_is_kept_or_dropped():
    header = b"P7\nWIDTH 1\nHEIGHT 2\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n"
    file = header + bytes([1, 2, 3, 0, 4, 5, 6, 7])
    assert frames.decode(file, mode="rgba").ravel().tolist() == [1, 2, 3, 0, 4, 5, 6, 7]
    assert frames.decode(file).ravel().tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("kind", ["PPM", "BMP"])
def test_a_cut_file_is_an_error_or_rows_and_background(kind):
    pixels = RNG.integers(0, 200, (10, 8, 3), np.uint8)
    file = saved(Image.fromarray(pixels), kind)[:-60]
    with pytest.raises(errors.DamagedImageError, match=r"bytes?"):
        frames.decode(file)
    got, info = frames.decode(file, partial=True, background=(255, 0, 255), return_info=True)
    assert info.damaged
    assert info.rows_read == 7
    there = slice(0, 7) if kind == "PPM" else slice(3, 10)  # a BMP starts at the bottom
    assert np.array_equal(got[there], pixels[there])
    missing = np.ones(10, bool)
    missing[there] = False
    assert (got[missing] == (255, 0, 255)).all()


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (b"P6 1 1 0\n\0\0\0", "maxval is 0"),
        (b"P6 #" + b"x" * 100_000, "does not end"),
        (b"P6 -10 1 255\n", "the width must be a number"),
    ],
)
def test_a_header_that_can_not_be_is_named(file, words):
    with pytest.raises(errors.DamagedImageError, match=words):
        frames.decode(file)


def test_a_size_beyond_64_bits_is_refused():
    with pytest.raises(errors.ImageLimitError):
        frames.decode(b"P6 18446744073709551617 1 255\n\0\0\0")
