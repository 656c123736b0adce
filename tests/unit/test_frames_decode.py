"""probe, decode and decode_batch: inputs, options, infos and errors."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

import framejudge
from framejudge import _core, frames
from framejudge.errors import (
    DamagedImageError,
    FramejudgeError,
    ImageError,
    ImageLimitError,
    InputError,
    UnsupportedImageError,
)


def noise(height, width, channels=3, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)


def scene(height, width):
    """Smooth colours: what survives JPEG."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 100 * np.sin(x / 37), 128 + 100 * np.cos(y / 29), (x + y) % 256 * 0.3 + 60]
    return np.stack(planes, axis=-1).astype(np.uint8)


def saved(array, kind, **options):
    file = io.BytesIO()
    Image.fromarray(array.squeeze()).save(file, kind, **options)
    return file.getvalue()


def with_orientation(jpeg, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = io.BytesIO()
    Image.open(io.BytesIO(jpeg)).save(file, "JPEG", exif=exif, quality=95, subsampling=0)
    return file.getvalue()


@pytest.fixture(scope="module")
def jpeg():
    return saved(scene(120, 160), "JPEG", quality=90)


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, "u1")])
def test_bytes_may_come_in_any_container(jpeg, wrap):
    assert np.array_equal(frames.decode(wrap(jpeg)), frames.decode(jpeg))
    assert frames.probe(wrap(jpeg)).format == "jpeg"


def test_a_path_may_be_text_or_an_object(jpeg, tmp_path):
    path = tmp_path / "frame.png"  # the name lies; the bytes decide
    path.write_bytes(jpeg)
    assert np.array_equal(frames.decode(path), frames.decode(str(path)))
    assert frames.probe(path).format == "jpeg"
    with pytest.raises(FileNotFoundError, match=r"nowhere\.jpg"):
        frames.decode(tmp_path / "nowhere.jpg")


def test_pixels_equal_those_of_another_libjpeg(jpeg):
    assert np.array_equal(frames.decode(jpeg), np.asarray(Image.open(io.BytesIO(jpeg))))


def test_gray_and_rgba_have_one_and_four_channels(jpeg):
    assert frames.decode(jpeg, mode="gray").shape == (120, 160, 1)
    rgba = frames.decode(jpeg, mode="rgba")
    assert rgba.shape == (120, 160, 4)
    assert (rgba[..., 3] == 255).all()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("mode", ["rgb", "gray"])
def test_orientation_equals_pillows_transpose(orientation, mode):
    data = with_orientation(saved(scene(33, 50), "JPEG", quality=95), orientation)
    image = Image.open(io.BytesIO(data))
    upright = np.asarray(ImageOps.exif_transpose(image))
    array, info = frames.decode(data, mode=mode, return_info=True)
    if mode == "rgb":
        assert np.array_equal(array, upright)
    assert array.shape[:2] == upright.shape[:2]
    assert info.orientation == orientation
    assert (info.height, info.width) == upright.shape[:2]
    stored = frames.decode(data, orient=False)
    assert np.array_equal(stored, np.asarray(image))


@pytest.mark.parametrize("orientation", [1, 3, 6])
def test_a_size_is_that_of_the_upright_picture(orientation):
    data = with_orientation(saved(scene(300, 500), "JPEG", quality=95), orientation)
    sideways = orientation == 6
    assert frames.decode(data, size=(30, 70)).shape == (30, 70, 3)
    small = frames.decode(data, max_side_px=100)
    assert small.shape == ((100, 60, 3) if sideways else (60, 100, 3))
    assert frames.decode(data, max_side_px=9000).shape[:2] == (
        (500, 300) if sideways else (300, 500)
    )
    assert frames.decode(data, max_side_px=100, orient=False).shape == (60, 100, 3)


def test_a_scaled_decode_is_close_to_the_exact_resize():
    data = saved(scene(1080, 1920), "JPEG", quality=90)
    array, info = frames.decode(data, size=(216, 384), filter="bilinear", return_info=True)
    exact = Image.open(io.BytesIO(data)).resize((384, 216), Image.Resampling.BILINEAR)
    error = array.astype(float) - np.asarray(exact)
    assert info.scale_denominator == 4
    # Published for photos: 50 dB at this ratio with the same filter; 46 is the least allowed.
    assert 10 * np.log10(255**2 / (error**2).mean()) > 46


def test_an_edge_that_is_off_the_grid_shows_no_line():
    """libjpeg-turbo #297: a coloured line at the edge of scaled pictures of odd sizes."""
    data = saved(np.full((427, 641, 3), (200, 60, 20), dtype=np.uint8), "JPEG", quality=95)
    for side in (320, 160, 80):
        array = frames.decode(data, max_side_px=side).astype(int)
        # One flat colour: every sample is what the first one is.
        assert np.abs(array - array[0, 0]).max() <= 1


def test_infos_name_the_codec_and_the_source(jpeg):
    _, info = frames.decode(jpeg, max_side_px=40, return_info=True)
    assert (info.format, info.width, info.height, info.channels) == ("jpeg", 160, 120, 3)
    assert info.codec == framejudge.build_info()["jpeg"]
    assert info.scale_denominator == 4
    assert not info.damaged
    assert info.warnings == info.damage == ()


def test_build_info_names_the_codecs_and_their_vector_code():
    info = framejudge.build_info()
    assert info["jpeg"].startswith("libjpeg-turbo ")
    assert info["jpeg_simd"] is True
    assert info["inflate"].split()[0] in {"libdeflate", "zlib"}


def test_an_array_owns_its_memory(jpeg):
    array = frames.decode(jpeg)
    copy = array.copy()
    for _ in range(5):
        frames.decode(saved(noise(120, 160), "JPEG"))
    assert np.array_equal(array, copy)
    array[:] = 0  # writable
    assert frames.decode(jpeg).any()


def test_a_truncated_picture_is_an_error_that_says_where(jpeg):
    with pytest.raises(DamagedImageError, match=r"row \d+ of 120, near byte \d+ of \d+"):
        frames.decode(jpeg[: len(jpeg) // 2])


def test_a_partial_picture_marks_what_is_missing(jpeg):
    whole = frames.decode(jpeg)
    array, info = frames.decode(
        jpeg[: len(jpeg) // 2], partial=True, background=(255, 0, 255), return_info=True
    )
    assert info.damaged
    assert 0 < info.rows_read < 120
    assert np.array_equal(array[: info.rows_read], whole[: info.rows_read])
    assert (array[info.rows_read :] == (255, 0, 255)).all()


def test_a_partial_progressive_picture_is_coarse_but_whole():
    """Pillow #2717: a truncated progressive JPEG came back black or gray."""
    data = saved(scene(240, 320), "JPEG", quality=90, progressive=True)
    whole = frames.decode(data).astype(int)
    array, info = frames.decode(data[: len(data) * 6 // 10], partial=True, return_info=True)
    assert info.damaged
    assert info.rows_read == 240
    assert np.abs(array - whole).mean() < 20  # gray would be about 50 off


def test_parts_of_an_earlier_picture_never_show(jpeg):
    """opencv #26488: a JPEG with missing data showed parts of previously decoded ones."""
    loud = saved(noise(120, 160), "JPEG")
    cut = jpeg[: len(jpeg) // 3]
    first = frames.decode(cut, partial=True)
    for _ in range(50):
        frames.decode(loud)
        assert np.array_equal(frames.decode(cut, partial=True), first)


def test_stray_bytes_before_a_marker_are_a_warning():
    """PyTurboJPEG #53: cameras' stray bytes gave empty output or floods of warnings."""
    data = saved(scene(120, 160), "JPEG", restart_marker_rows=1)
    at = data.index(b"\xff\xd0")
    array, info = frames.decode(data[:at] + b"\x01\x02" + data[at:], return_info=True)
    assert np.array_equal(array, frames.decode(data))
    assert not info.damaged
    assert "2 extraneous bytes" in info.warnings[0]


def test_a_lost_restart_interval_spares_the_others():
    data = saved(scene(160, 160), "JPEG", restart_marker_rows=1, subsampling=0)
    start, end = data.index(b"\xff\xd2"), data.index(b"\xff\xd3")
    lost = data[:start] + data[end:]
    with pytest.raises(DamagedImageError, match="0xd3 instead of RST2"):
        frames.decode(lost)
    array, info = frames.decode(lost, partial=True, return_info=True)
    assert info.damaged
    assert np.array_equal(array[:24], frames.decode(data)[:24])  # three whole rows of blocks


def test_a_picture_of_many_scans_is_refused_before_the_first():
    """A 172 kB progressive file of 406 scans took every decoder 10 to 28 s."""
    data = saved(np.zeros((5000, 5000, 3), dtype=np.uint8), "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    bomb = data[:-2] + data[last:-2] * 400 + b"\xff\xd9"
    start = time.process_time()
    with pytest.raises(ImageLimitError, match="scans than the limit of 100"):
        frames.decode(bomb)
    assert time.process_time() - start < 0.2
    with pytest.raises(ImageLimitError, match="time budget"):
        frames.decode(bomb, limits=frames.Limits(max_scans=10_000, time_budget_s=0.05))


def test_limits_hold_before_anything_is_allocated(jpeg):
    with pytest.raises(ImageLimitError, match="160 x 120 pixels; the limit is 100"):
        frames.decode(jpeg, limits=frames.Limits(max_pixels=100))
    with pytest.raises(ImageLimitError, match="bytes"):
        frames.decode(jpeg, limits=frames.Limits(max_bytes=100))
    with pytest.raises(InputError, match="max_scans must be at least 1, got 0"):
        frames.decode(jpeg, limits=frames.Limits(max_scans=0))


def test_a_claim_that_its_bytes_cannot_fill_needs_no_memory(jpeg):
    """opencv: a 21 kB JPEG claiming 20000 x 20000 took 13 s and 1.2 GB."""
    at = jpeg.index(b"\xff\xc0") + 5
    claim = jpeg[:at] + (12_000).to_bytes(2, "big") * 2 + jpeg[at + 4 :]
    code = (
        "import resource, sys; from framejudge import frames\n"
        "from framejudge.errors import ImageError\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: frames.decode(sys.stdin.buffer.read())\n"
        "except ImageError as error: print(type(error).__name__)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], input=claim, capture_output=True, check=True)
    name, grown_kb = run.stdout.decode().split()
    assert name == "DamagedImageError"
    assert int(grown_kb) < 100_000
    assert run.stderr == b""


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b"", "no bytes"),
        (b"<!DOCTYPE html><html>", "an HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "Git LFS pointer"),
        (b"\0" * 20, "20 bytes that start with 00 00"),
    ],
)
def test_what_is_no_picture_is_said_to_be_what_it_is(data, seen):
    with pytest.raises(UnsupportedImageError, match=seen) as caught:
        frames.decode(data)
    assert "Pillow" in str(caught.value)


def test_other_formats_come_through_pillow():
    pixels = np.repeat(noise(3, 4), 8, axis=0).repeat(8, axis=1)
    gif = saved(pixels, "TIFF")
    array, info = frames.decode(gif, return_info=True)
    assert np.array_equal(array, pixels)
    assert info.format == "tiff"
    assert info.codec.startswith("Pillow ")
    assert frames.probe(gif).width == 32
    assert frames.decode(gif, mode="gray", size=(6, 8)).shape == (6, 8, 1)
    with pytest.raises(DamagedImageError, match="Pillow"):
        frames.decode(gif[:-800])
    with pytest.raises(ImageLimitError, match="32 x 24"):
        frames.decode(gif, limits=frames.Limits(max_pixels=100))


def test_errors_are_value_errors_of_framejudge():
    for error in (UnsupportedImageError, DamagedImageError, ImageLimitError):
        assert issubclass(error, ImageError)
    assert issubclass(ImageError, FramejudgeError)
    assert issubclass(ImageError, ValueError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "bgr"}, "mode must be 'rgb', 'gray' or 'rgba', got 'bgr'"),
        ({"size": (0, 5)}, "size's height must be at least 1, got 0"),
        ({"size": 5}, r"size \(height, width\)"),
        ({"max_side_px": 0}, "max_side_px must be at least 1, got 0"),
        ({"max_side_px": 5, "size": (5, 5)}, "not both"),
        ({"background": (0, 0, 256)}, "from 0 to 255, got 256"),
        ({"background": [0, 0, 0]}, "background three whole numbers"),
        ({"filter": "nearest"}, "nearest"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(jpeg, options, message):
    with pytest.raises(InputError, match=message):
        frames.decode(jpeg, **options)


@pytest.mark.parametrize("data", [None, 5, np.zeros((4, 4), "u1"), np.zeros(4, "f4"), ["x"]])
def test_what_cannot_hold_a_picture_is_an_input_error(data):
    with pytest.raises(InputError, match="data must be"):
        frames.decode(data)


@pytest.mark.threads
def test_a_batch_keeps_order_and_spares_the_good_from_the_bad(jpeg):
    others = [saved(noise(40, 50 + i), "JPEG") for i in range(8)]
    items = [others[0], b"nothing", jpeg[:900], *others[1:], jpeg]
    arrays, infos = frames.decode_batch(items, on_error="record", return_info=True)
    assert [type(a).__name__ for a in arrays[1:3]] == ["UnsupportedImageError", "DamagedImageError"]
    assert infos[1].error is arrays[1]
    for item, array in zip(items, arrays, strict=True):
        if isinstance(array, np.ndarray):
            assert np.array_equal(array, frames.decode(item))
    assert [info.width for info in infos[3:-1]] == list(range(51, 58))
    with pytest.raises(UnsupportedImageError, match="item 1: "):
        frames.decode_batch(items)


def test_a_batch_may_use_one_thread_or_be_empty(jpeg):
    assert frames.decode_batch([]) == []
    assert len(frames.decode_batch([jpeg] * 3, threads=1)) == 3
    with pytest.raises(InputError, match="threads must be at least 1, got 0"):
        frames.decode_batch([jpeg], threads=0)
    with pytest.raises(InputError, match="on_error must be 'raise' or 'record', got 'skip'"):
        frames.decode_batch([jpeg], on_error="skip")
    with pytest.raises(InputError, match="items must be a list"):
        frames.decode_batch(jpeg)


@pytest.mark.threads
def test_another_thread_runs_while_a_picture_is_decoded():
    data = saved(noise(2000, 3000), "JPEG", quality=95)
    frames.decode(data)
    done = threading.Event()

    def work():
        for _ in range(5):
            frames.decode(data)
        done.set()

    ticks = 0
    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    # Five decodes take 0.1 s at the very least. With the lock held this loop would run between
    # them only: about five times.
    assert ticks > 25


@pytest.mark.threads
def test_threads_decode_at_the_same_time(jpeg):
    expected = frames.decode(jpeg)
    wrong = []

    def work():
        wrong.extend(i for i in range(50) if not np.array_equal(frames.decode(jpeg), expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_forked_child_decodes_a_batch():
    """opencv #5150: a pool that was used before fork() hung the child."""
    code = (
        "import os, signal, sys\n"
        "from framejudge import frames\n"
        "items = [sys.stdin.buffer.read()] * 16\n"
        "frames.decode_batch(items)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    signal.alarm(20)\n"
        "    os._exit(0 if len(frames.decode_batch(items)) == 16 else 1)\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    data = saved(noise(300, 400), "JPEG")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], input=data, capture_output=True, check=True
    )
    assert run.stdout.split() == [b"0"]


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("kind", ["good", "cut", "partial", "garbage"])
def test_memory_stays_flat_over_ten_thousand_calls(kind):
    """torchvision #9383: an error path skipped destructors and leaked for each bad JPEG."""
    whole = saved(noise(24, 32), "JPEG")
    data = {"garbage": b"\xff\xd8\xff" + b"x" * 300}.get(kind, whole[: len(whole) * 2 // 3])
    data = whole if kind == "good" else data

    def many(count):
        for _ in range(count):
            try:
                frames.decode(data, partial=kind == "partial")
            except ImageError:
                continue

    many(1000)
    before = resident_bytes()
    many(10_000)
    # The smallest thing a call can leak is more than 16 bytes; the heap may move by some pages.
    assert resident_bytes() - before < 16 * 10_000 + (1 << 20)


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=300))
def test_any_bytes_after_a_jpeg_start_are_a_picture_or_an_image_error(data):
    for partial in (False, True):
        try:
            array = frames.decode(b"\xff\xd8\xff" + data, partial=partial)
        except ImageError:
            continue
        assert array.ndim == 3


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 3000), value=st.integers(0, 255))
def test_any_changed_byte_is_a_picture_or_an_image_error(at, value):
    data = bytearray(saved(scene(48, 64), "JPEG"))
    data[at % len(data)] = value
    for partial in (False, True):
        try:
            array = frames.decode(bytes(data), partial=partial)
        except ImageError:
            continue
        assert array.ndim == 3


@settings(max_examples=40, deadline=None)
@given(height=st.integers(1, 40), width=st.integers(1, 40), gray=st.booleans())
def test_a_constant_picture_survives_jpeg_within_its_rounding(height, width, gray):
    pixels = np.full((height, width, 1 if gray else 3), 137, dtype=np.uint8)
    back = frames.decode(frames.encode_jpeg(pixels, quality=100), mode="gray" if gray else "rgb")
    # Luma is rounded once and its only coefficient once more; equal channels have no chroma.
    assert np.abs(back.astype(int) - 137).max() <= 1
    assert back.shape == pixels.shape


def test_encode_jpeg_gives_what_pillow_reads():
    pixels = scene(61, 83)
    data = frames.encode_jpeg(pixels, quality=92)
    image = Image.open(io.BytesIO(data))
    assert image.size == (83, 61)
    assert np.array_equal(np.asarray(image), frames.decode(data))
    assert data == frames.encode_jpeg(np.asfortranarray(pixels), quality=92)
    assert not image.getexif()
    with pytest.raises(InputError, match="quality must be 1 to 100, got 0"):
        frames.encode_jpeg(pixels, quality=0)
    with pytest.raises(InputError, match="1 or 3 channels, got 4"):
        frames.encode_jpeg(noise(4, 4, 4))


def test_a_stream_is_split_into_views_that_decode(jpeg):
    stream = b"--b\r\nContent-Length: 1\r\n\r\n" + jpeg + b"\r\n--b\r\n\r\n" + jpeg[:-400]
    whole, cut = frames.split_jpeg_stream(stream)
    assert (whole.complete, cut.complete) == (True, False)
    assert bytes(whole.data) == jpeg
    assert stream[whole.offset : whole.offset + 2] == b"\xff\xd8"
    assert np.array_equal(frames.decode(whole.data), frames.decode(jpeg))
    with pytest.raises(DamagedImageError):
        frames.decode(cut.data)


def test_idle_memory_is_bounded_and_can_be_given_back():
    arrays = [np.asarray(frames.decode(saved(noise(900, 1200), "JPEG"))) for _ in range(4)]
    arrays.clear()
    state = _core.pixel_pool()
    assert 0 < state["idle_bytes"] <= state["limit_bytes"]
    _core.clear_pixel_pool()
    assert _core.pixel_pool()["idle_bytes"] == 0
