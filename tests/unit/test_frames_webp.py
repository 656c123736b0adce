"""WebP from Python, against Pillow's own libwebp."""

from __future__ import annotations

import io
import os

import numpy as np
import pytest
from PIL import Image

import framejudge
from framejudge import errors, frames

pytestmark = pytest.mark.skipif(
    not framejudge.build_info()["webp"] and "FRAMEJUDGE_CI" not in os.environ,
    reason="this build has no WebP: libwebp-dev was missing",
)

RNG = np.random.default_rng(6)


def saved(image: Image.Image, **options) -> bytes:
    file = io.BytesIO()
    image.save(file, "WEBP", **options)
    return file.getvalue()


def photo(height=96, width=120, channels=3):
    y, x = np.mgrid[:height, :width]
    ramps = [128 + 100 * np.sin(x / (9 + c) + y / 17) for c in range(channels)]
    return np.stack(ramps, axis=-1).astype(np.uint8)


@pytest.mark.parametrize("channels", [3, 4])
def test_lossless_pixels_are_exact(channels):
    pixels = RNG.integers(0, 256, (31, 45, channels), np.uint8)
    file = saved(Image.fromarray(pixels), lossless=True, exact=True)
    mode = {3: "rgb", 4: "rgba"}[channels]
    assert np.array_equal(frames.decode(file, mode=mode), pixels)
    assert np.array_equal(frames.decode(file), pixels[..., :3])


@pytest.mark.parametrize("channels", [3, 4])
def test_lossy_pixels_are_pillows_within_a_level(channels):
    file = saved(Image.fromarray(photo(channels=channels)), quality=80)
    mode = {3: "RGB", 4: "RGBA"}[channels]
    theirs = np.asarray(Image.open(io.BytesIO(file)).convert(mode)).astype(int)
    # libwebp's decoder is defined to the bit up to the upsampling of chroma, which rounds.
    assert np.abs(frames.decode(file, mode=mode.lower()) - theirs).max() <= 1


def test_gray_is_the_luma_of_the_colours():
    file = saved(Image.fromarray(photo()), lossless=True)
    theirs = np.asarray(Image.open(io.BytesIO(file)).convert("L"))
    assert np.array_equal(frames.decode(file, mode="gray")[..., 0], theirs)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_turns_the_picture(orientation):
    pixels = RNG.integers(0, 256, (6, 10, 3), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = saved(Image.fromarray(pixels), lossless=True, exif=exif)
    turned = np.array(frames.decode(file))
    stored = np.array(frames.decode(file, orient=False))
    assert np.array_equal(stored, pixels)
    upright = {
        1: pixels,
        2: pixels[:, ::-1],
        3: pixels[::-1, ::-1],
        4: pixels[::-1],
        5: pixels.transpose(1, 0, 2),
        6: np.rot90(pixels, -1),
        7: pixels[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(pixels),
    }[orientation]
    assert np.array_equal(turned, upright)
    assert frames.probe(file).orientation == orientation


def test_an_animation_gives_its_first_frame_on_the_full_canvas():
    first = Image.fromarray(RNG.integers(0, 256, (20, 30, 3), np.uint8))
    second = first.copy()
    second.paste((0, 0, 0), (4, 4, 9, 9))
    file = saved(first, save_all=True, append_images=[second], lossless=True, duration=40)
    assert np.array_equal(frames.decode(file), np.asarray(first))
    info = frames.probe(file)
    assert info.animated
    assert (info.height, info.width) == (20, 30)


def test_a_cut_file_is_an_error_or_rows_with_a_flag():
    file = saved(Image.fromarray(photo(240, 320)), quality=90)
    whole = frames.decode(file)
    for share in (0.3, 0.6, 0.9):
        part = file[: int(len(file) * share)]
        with pytest.raises(errors.DamagedImageError, match="the file ends"):
            frames.decode(part)
        got, info = frames.decode(part, partial=True, background=(7, 7, 7), return_info=True)
        assert info.damaged
        assert got.shape == whole.shape
        rows = info.rows_read
        assert 0 <= rows < 240
        assert (got[rows:] == 7).all()
        assert np.array_equal(got[: max(rows - 1, 0)], whole[: max(rows - 1, 0)])


def test_a_picture_of_268_million_pixels_in_40_bytes_is_refused():
    # VP8L: the signature, 14 bits each of width - 1 and height - 1, then nothing.
    bits = (16382 | 16382 << 14).to_bytes(4, "little")
    data = b"\x2f" + bits + bytes(15)
    file = b"RIFF" + (12 + len(data)).to_bytes(4, "little") + b"WEBPVP8L"
    file += len(data).to_bytes(4, "little") + data
    with pytest.raises(errors.ImageLimitError, match="16383 x 16383"):
        frames.decode(file)


def test_a_sound_in_the_same_container_is_no_picture():
    with pytest.raises(errors.ImageError):
        frames.decode(b"RIFF\x24\0\0\0WAVEfmt " + bytes(28))


def test_the_time_budget_holds_for_a_long_webp_and_steps_change_no_pixel():
    noise = np.random.default_rng(5).integers(0, 256, (400, 300, 3), np.uint8)
    data = saved(Image.fromarray(noise), lossless=True)
    assert len(data) > 128 << 10  # handed to libwebp in steps
    assert np.array_equal(frames.decode(data), noise)
    with pytest.raises(errors.ImageLimitError, match="WebP: the time budget is used up"):
        frames.decode(data, limits=frames.Limits(time_budget_s=1e-9))
    with pytest.raises(errors.DamagedImageError, match="before its end"):
        frames.decode(data[: len(data) // 2])
