"""PNG from Python: against Pillow, on files made here, and on the corpus where it is."""

from __future__ import annotations

import io
import struct
import time
import zlib

import numpy as np
import pytest
from PIL import Image

from framejudge import errors, frames

RNG = np.random.default_rng(5)


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, depth, color, idat, *, extra=b"", interlace=0) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + extra
        + chunk(b"IDAT", idat)
        + chunk(b"IEND", b"")
    )


def saved(image: Image.Image, **options) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", **options)
    return file.getvalue()


def smooth(height, width, channels):
    """Pixels that every filter suits somewhere."""
    y, x = np.mgrid[:height, :width]
    ramps = [(x * (c + 2) + y * (5 - c)) // 3 + (x * y) // 50 for c in range(channels)]
    noise = RNG.integers(0, 4, (height, width, channels))
    return ((np.stack(ramps, axis=-1) + noise) % 256).astype(np.uint8)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1"])
def test_a_picture_is_pillows_in_every_mode(mode):
    image = Image.fromarray(smooth(61, 83, 4), "RGBA").convert(mode)
    file = saved(image)
    assert np.array_equal(frames.decode(file), np.asarray(image.convert("RGB")))
    assert np.array_equal(frames.decode(file, mode="rgba"), np.asarray(image.convert("RGBA")))
    gray = np.asarray(image.convert("RGB").convert("L"))
    assert np.array_equal(frames.decode(file, mode="gray")[..., 0], gray)


def test_transparent_pixels_keep_their_colour_when_alpha_is_dropped():
    pixels = np.zeros((2, 2, 4), np.uint8)
    pixels[...] = (200, 10, 20, 0)
    assert np.array_equal(frames.decode(frames.encode_png(pixels)), pixels[..., :3])


def test_hidden_colours_do_not_bleed_into_a_resized_picture():
    pixels = np.zeros((8, 8, 4), np.uint8)
    pixels[:, :4] = (255, 0, 0, 0)  # red that nobody should see
    pixels[:, 4:] = (0, 0, 255, 255)
    file = frames.encode_png(pixels)
    assert frames.decode(file, size=(1, 2), filter="area", background=(10, 20, 30)).tolist() == [
        [[10, 20, 30], [0, 0, 255]]
    ]
    scale = {"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0)}
    tensor = frames.decode_to_tensor(
        [file], size=(1, 2), filter="area", background=(0, 255, 0), **scale
    )
    expected = frames.to_tensor([np.array([[[0, 255, 0], [0, 0, 255]]], np.uint8)], **scale)
    assert np.array_equal(tensor, expected)
    assert np.array_equal(frames.decode(file, max_side_px=8), pixels[..., :3])


def test_16_bit_gray_is_shifted_not_clipped():
    values = np.array([[0, 255, 256, 30000, 65535]], np.uint16)
    file = saved(Image.fromarray(values))
    assert frames.decode(file, mode="gray")[0, :, 0].tolist() == [0, 0, 1, 117, 255]


@pytest.mark.parametrize("shape", [(1, 1), (1, 7, 1), (3, 1, 3), (33, 65, 4), (200, 1, 4)])
@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_encoded_pixels_come_back_and_pillow_reads_them(shape, level):
    pixels = RNG.integers(0, 256, shape, np.uint8)
    file = frames.encode_png(pixels, level=level)
    assert np.array_equal(
        np.asarray(Image.open(io.BytesIO(file))),
        pixels.squeeze(-1) if pixels.shape[-1:] == (1,) and pixels.ndim == 3 else pixels,
    )
    mode = {1: "gray", 3: "rgb", 4: "rgba"}[1 if pixels.ndim == 2 else shape[2]]
    assert np.array_equal(frames.decode(file, mode=mode).reshape(shape), pixels)


def test_png_bytes_are_the_same_every_time():
    pixels = smooth(64, 48, 3)
    assert frames.encode_png(pixels) == frames.encode_png(pixels.copy())
    assert frames.encode_png(pixels) == frames.encode_png(np.repeat(pixels, 2, axis=0)[::2])


def test_png_has_no_metadata():
    file = frames.encode_png(smooth(5, 5, 3))
    assert file[12:16] == b"IHDR"
    assert file[37:41] == b"IDAT"
    assert file[-8:-4] == b"IEND"
    assert Image.open(io.BytesIO(file)).info == {}


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 2, 2), np.uint8),
        np.zeros((0, 2, 3), np.uint8),
        np.zeros((2, 2, 3), np.float32),
        np.zeros(4, np.uint8),
    ],
)
def test_what_can_not_be_a_png_is_refused(array):
    with pytest.raises(errors.InputError):
        frames.encode_png(array)


@pytest.mark.parametrize("level", [-1, 10])
def test_a_level_out_of_range_is_echoed(level):
    with pytest.raises(errors.InputError, match=rf"0 \(stored\) to 9 \(smallest\), got {level}"):
        frames.encode_png(np.zeros((1, 1), np.uint8), level=level)


def test_every_cut_of_a_file_is_an_error_or_flagged_rows():
    pixels = smooth(12, 9, 3)
    file = frames.encode_png(pixels)
    for cut in range(8, len(file) - 12):
        with pytest.raises(errors.ImageError):
            frames.decode(file[:cut])
    for cut in range(49, len(file) - 12, 7):
        got, info = frames.decode(file[:cut], partial=True, background=(1, 2, 3), return_info=True)
        assert info.damaged
        rows = info.rows_read
        assert np.array_equal(got[:rows], pixels[:rows])
        assert (got[rows:] == (1, 2, 3)).all()


def test_a_flipped_bit_in_the_image_data_is_an_error_that_names_the_chunk():
    file = bytearray(frames.encode_png(smooth(20, 20, 3)))
    file[60] ^= 4
    with pytest.raises(errors.DamagedImageError, match="IDAT at byte 33: its CRC"):
        frames.decode(bytes(file))


def test_a_wrong_checksum_of_the_pixels_is_an_error():
    stream = bytearray(zlib.compress(b"\0\7\0\7"))
    stream[-1] ^= 1
    with pytest.raises(errors.DamagedImageError, match="Adler-32"):
        frames.decode(png(1, 2, 8, 0, bytes(stream)))


def test_a_missing_end_chunk_loses_nothing():
    file = frames.encode_png(smooth(4, 4, 3))
    got, info = frames.decode(file[:-12], return_info=True)
    assert np.array_equal(got, frames.decode(file))
    assert not info.damaged
    assert "without IEND" in info.warnings[0]


def seconds_and_result(file, **options):
    start = time.perf_counter()
    try:
        result = frames.decode(file, **options)
    except errors.ImageError as error:
        result = error
    return time.perf_counter() - start, result


def test_bombs_are_refused_or_decoded_without_inflating_them():
    bomb = zlib.compress(bytes(50_000_000), 9)
    pixel = zlib.compress(b"\0\7")
    for name in (b"zTXt", b"iCCP"):
        extra = chunk(name, b"bomb\0\0" + bomb)
        assert frames.decode(png(1, 1, 8, 0, pixel, extra=extra), mode="gray").item() == 7
    surplus = png(16, 16, 8, 0, zlib.compress(bytes(40_000_000), 9))
    taken, got = seconds_and_result(surplus)
    assert got.shape == (16, 16, 3)
    assert taken < 0.2
    for width, height, depth, color in ((30000, 30000, 1, 0), (1, 2**31 - 1, 8, 0)):
        taken, got = seconds_and_result(png(width, height, depth, color, bomb))
        assert isinstance(got, errors.ImageLimitError)
        assert taken < 0.2
    taken, got = seconds_and_result(png(13000, 13000, 16, 6, pixel))
    assert isinstance(got, errors.DamagedImageError)
    assert taken < 0.2


def test_an_animation_gives_its_default_image():
    stills = [Image.new("RGB", (6, 4), color) for color in ("red", "green", "blue")]
    file = saved(stills[0], save_all=True, append_images=stills[1:], duration=50)
    assert (frames.decode(file) == (255, 0, 0)).all()
    assert frames.probe(file).animated


def test_interlaced_pictures_of_every_small_size_come_out_right():
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2)]
    passes.append((0, 1, 1, 2))
    for height in range(1, 10):
        for width in range(1, 10):
            pixels = RNG.integers(0, 256, (height, width, 3), np.uint8)
            rows = b""
            for x, y, step_x, step_y in passes:
                part = pixels[y::step_y, x::step_x]
                if part.size:
                    rows += b"".join(b"\0" + row.tobytes() for row in part)
            file = png(width, height, 8, 2, zlib.compress(rows), interlace=1)
            assert np.array_equal(frames.decode(file), pixels)


def empty_block() -> str:
    """The bits of a deflate block with its own codes and nothing in it (RFC 1951, 3.2.7)."""

    def number(value: int, bits: int) -> str:
        return format(value, f"0{bits}b")[::-1]

    order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1]
    code_lengths = {18: 1, 1: 2, 0: 2}  # their codes: 0, 11, 10
    bits = "0" + number(2, 2) + number(0, 5) + number(0, 5) + number(len(order) - 4, 4)
    bits += "".join(number(code_lengths.get(symbol, 0), 3) for symbol in order)
    bits += "0" + number(138 - 11, 7) + "0" + number(118 - 11, 7)  # 256 literals without a code
    return bits + "11" + "11" + "0"  # lengths of end and distance are 1; the end


def test_a_stream_of_empty_blocks_is_not_followed_for_ever():
    bits = 8 * empty_block()
    blocks = bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, len(bits), 8))
    rows = b"".join(b"\0" + bytes(16) for _ in range(16))
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    end = packer.compress(rows) + packer.flush() + struct.pack(">I", zlib.adler32(rows))
    few = png(16, 16, 8, 0, b"\x78\x9c" + 100 * blocks + end)
    assert not frames.decode(few, mode="gray").any()
    many = png(16, 16, 8, 0, b"\x78\x9c" + 100_000 * blocks + end)
    with pytest.raises(errors.DamagedImageError, match="IDAT"):
        frames.decode(many, mode="gray")


@pytest.mark.parametrize("interlace", [0, 1])
def test_the_time_budget_holds_for_png(interlace):
    image = Image.fromarray(smooth(600, 800, 3))
    data = saved(image) if not interlace else png(8, 8, 8, 0, zlib.compress(bytes(80)), interlace=1)
    with pytest.raises(errors.ImageLimitError, match="PNG: the time budget is used up"):
        frames.decode(data, limits=frames.Limits(time_budget_s=1e-9))
