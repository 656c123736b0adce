"""Video: the right frame at the right time, upright, in the right colours, and honest of damage."""

from __future__ import annotations

import gc
import io
import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from framejudge import frames
from framejudge.errors import (
    ConfigurationError,
    DamagedVideoError,
    InputError,
    VideoError,
    VideoTimeoutError,
)
from framejudge.frames import Video

if "FRAMEJUDGE_CI" not in os.environ:
    pytest.importorskip("av", reason="needs the extra [video]")
import av

OPEN_FILES, MEMORY = Path("/proc/self/fd"), Path("/proc/self/statm")
HEIGHT, WIDTH = 96, 160
BLOCK = 16


def numbered_picture(number):
    """(H, W, 3): the number in eight black or white blocks on top, a gradient below."""
    picture = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    picture[:] = np.linspace(40, 200, WIDTH)[None, :, None]
    picture[40:60, 8 * (number % 16) : 8 * (number % 16) + 20] = (220, 60, 60)
    for bit in range(8):
        picture[:BLOCK, bit * BLOCK : (bit + 1) * BLOCK] = 255 * (number >> bit & 1)
    return picture


def number_in(pixels):
    """The number that a picture shows."""
    blocks = pixels[4:12, : 8 * BLOCK, 0].reshape(8, 8, BLOCK)[..., 4:12].mean(axis=(0, 2))
    return sum(1 << bit for bit, level in enumerate(blocks) if level > 127)


def clip(
    target,
    *,
    count=40,
    codec="libx264",
    pixel_format="yuv420p",
    pts=None,
    time_base=Fraction(1, 1000),
    gop=12,
    options=None,
    container=None,
    tags=None,
    noise=0,
):
    """Write a clip of numbered pictures; `pts` are milliseconds, 40 apart if not given."""
    rng = np.random.default_rng(0)
    with av.open(target, "w", format=container) as output:
        stream = output.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, pixel_format
        stream.codec_context.time_base = time_base
        stream.codec_context.gop_size = gop
        stream.options = options or {}
        for name, value in (tags or {}).items():
            setattr(stream.codec_context, name, value)
        for number, stamp_ms in enumerate(pts or range(0, count * 40, 40)):
            picture = numbered_picture(number)
            picture[BLOCK:] += rng.integers(0, noise + 1, picture[BLOCK:].shape, dtype=np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame = frame.reformat(format=pixel_format)
            frame.pts, frame.time_base = int(stamp_ms / (1000 * time_base)), time_base
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return target


@pytest.fixture(scope="module")
def bframes(tmp_path_factory):
    path = tmp_path_factory.mktemp("video") / "bframes.mp4"
    return clip(str(path), options={"bf": "3", "preset": "veryfast"})


def numbers(video, **options):
    return [number_in(frame.pixels) for frame in video.frames(**options)]


def exact_rgb(frame, red, blue, *, full):
    """Float64 RGB of a 4:2:0 or 4:4:4 frame's planes, by the recommendations' equations."""
    y, u, v = (plane.astype(np.float64) for plane in frame.planes)
    if u.shape != y.shape:
        u, v = (np.repeat(np.repeat(p, 2, 0), 2, 1)[: y.shape[0], : y.shape[1]] for p in (u, v))
    y, u, v = (
        (y / 255, (u - 128) / 255, (v - 128) / 255)
        if full
        else ((y - 16) / 219, (u - 128) / 224, (v - 128) / 224)
    )
    r, b = y + 2 * (1 - red) * v, y + 2 * (1 - blue) * u
    g = (y - red * r - blue * b) / (1 - red - blue)
    return 255 * np.clip(np.stack([r, g, b], axis=-1), 0, 1)


def test_every_frame_comes_once_in_the_order_of_showing(bframes):
    with Video(bframes) as video:
        found = list(video.frames())
        assert [number_in(frame.pixels) for frame in found] == list(range(40))
        assert [frame.index for frame in found] == list(range(40))
        assert [frame.pts_s for frame in found] == pytest.approx([n * 0.04 for n in range(40)])
        assert not any(frame.is_corrupt for frame in found)
        assert video.count_frames() == 40
        assert video.damage == ()


@pytest.mark.parametrize("picked", [[0, 13, 14, 39], [39, 25, 0], [7, 7, 7], list(range(40))])
@pytest.mark.parametrize("assume_intact", [False, True])
def test_frames_by_number_are_those_of_reading_through(bframes, picked, assume_intact):
    with Video(bframes, assume_intact=assume_intact) as video:
        through = [frame.pixels for frame in video.frames()]
        for index, frame in zip(picked, video.frames(indices=picked), strict=True):
            assert frame.index == index
            assert np.array_equal(frame.pixels, through[index])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("open.mp4", {"codec": "libx264", "options": {"x264-params": "open-gop=1:bframes=3"}}),
        ("open265.mp4", {"codec": "libx265", "options": {"x265-params": "log-level=none"}}),
        ("stream.ts", {"codec": "libx264", "options": {"bf": "3"}}),
        ("two.ts", {"codec": "mpeg2video", "time_base": Fraction(1, 25)}),
        ("four.avi", {"codec": "mpeg4"}),
        ("nine.webm", {"codec": "libvpx-vp9", "options": {"deadline": "realtime"}}),
    ],
)
def test_seeking_is_exact_in_every_container(tmp_path, name, options):
    path = clip(str(tmp_path / name), **options)
    with Video(path) as video:
        assert numbers(video) == list(range(40))
        assert numbers(video, indices=[30, 31, 5, 17, 39, 0]) == [30, 31, 5, 17, 39, 0]


def test_the_time_of_a_frame_is_the_containers_not_a_number_over_a_rate(tmp_path):
    # Bug log 13: a variable rate and a start that is not zero.
    pts = [500, 510, 540, 900, 905, 1000, 2000, 2010]
    path = clip(str(tmp_path / "vfr.mkv"), pts=pts, container="matroska")
    with Video(path) as video:
        found = list(video.frames())
        assert [round(frame.pts_s * 1000) for frame in found] == pts
        # On screen at 0.95 s is what began at 0.905 s; before the start, the first.
        assert numbers(video, times_s=[0.95, 0.0, 1.0, 99.0]) == [4, 0, 5, 7]
        # From 0.5 s on, at or after 0.5, 0.9, 1.3, (1.7, 2.1): 2.01 s is before 2.1 s.
        assert numbers(video, every_s=0.4) == [0, 3, 6]


@pytest.mark.parametrize("wrap", [lambda data: data, memoryview, io.BytesIO])
def test_bytes_and_file_objects_read_like_files(bframes, wrap):
    with Video(wrap(Path(bframes).read_bytes())) as video:
        assert numbers(video) == list(range(40))
        assert numbers(video, indices=[21, 3]) == [21, 3]


def test_several_readers_of_one_video_do_not_disturb_each_other(bframes):
    with Video(bframes) as video:
        pairs = zip(video.frames(), video.frames(indices=range(39, -1, -1)), strict=True)
        for ahead, back in itertools.islice(pairs, 10):
            assert number_in(ahead.pixels) == ahead.index
            assert number_in(back.pixels) == 39 - ahead.index


def test_raw_streams_without_timestamps_are_counted(tmp_path):
    path = clip(str(tmp_path / "raw.h264"), count=20, container="h264")
    with Video(path) as video:
        found = list(video.frames())
        assert [number_in(frame.pixels) for frame in found] == list(range(20))
        assert {frame.pts_s for frame in found} == {None}
        assert numbers(video, indices=[4, 9, 2]) == [4, 9, 2]
        with pytest.raises(VideoError, match="use indices"):
            list(video.frames(times_s=[0.1]))
        with pytest.raises(VideoError, match="do not tell how many"):
            video.count_frames()
        with pytest.raises(InputError, match="has no frame 20"):
            list(video.frames(indices=[20]))


@pytest.mark.parametrize(
    ("tags", "red", "blue", "full"),
    [
        ({"colorspace": 1, "color_range": 1}, 0.2126, 0.0722, False),
        ({"colorspace": 6, "color_range": 1}, 0.299, 0.114, False),
        ({"colorspace": 1, "color_range": 2}, 0.2126, 0.0722, True),
        ({"colorspace": 9, "color_range": 1}, 0.2627, 0.0593, False),
        ({}, 0.299, 0.114, False),  # unspecified, and lower than 720 rows
    ],
)
def test_matrix_and_range_are_those_of_the_stream(tmp_path, tags, red, blue, full):
    # Bug log 16. The tolerance is that of cpp/tests/test_yuv.cpp.
    path = clip(str(tmp_path / "c.mp4"), count=2, options={"qp": "4"}, tags=tags)
    with Video(path) as video:
        frame = next(video.frames())
    assert frame.is_full_range == full
    assert np.abs(frame.pixels - exact_rgb(frame, red, blue, full=full)).max() <= 0.545


def test_pixels_agree_with_swscale(bframes):
    # Its fast conversion keeps fewer bits than ours, which is within 0.55 of the exact result, so
    # single samples are apart; a wrong matrix or range would move the mean by more than 2 levels.
    with Video(bframes) as video, av.open(bframes) as container:
        ours = next(video.frames()).pixels
        theirs = next(container.decode(video=0)).to_ndarray(format="rgb24")
    assert np.abs(ours.astype(int) - theirs).mean() < 1.0


def test_ten_bits_are_used_whole(tmp_path):
    path = clip(str(tmp_path / "10.mp4"), count=3, pixel_format="yuv420p10le")
    with Video(path) as video:
        frame = next(video.frames())
    assert frame.planes[0].dtype == np.dtype("<u2")
    y, u, v = (plane.astype(np.float64) for plane in frame.planes)
    u, v = (np.repeat(np.repeat(plane, 2, 0), 2, 1) for plane in (u, v))
    red = 255 * ((y - 64) / 876 + 1.402 * (v - 512) / 896)
    assert np.abs(frame.pixels[..., 0] - np.clip(red, 0, 255)).max() <= 0.545
    assert number_in(frame.pixels) == 0


@pytest.mark.parametrize("pixel_format", ["gbrp", "yuv444p", "gray", "yuv422p"])
def test_other_layouts_read_too(tmp_path, pixel_format):
    codec = "libx264rgb" if pixel_format == "gbrp" else "ffv1"
    stored = "rgb24" if pixel_format == "gbrp" else pixel_format
    path = clip(str(tmp_path / "f.mkv"), count=3, codec=codec, pixel_format=stored)
    with Video(path) as video:
        assert numbers(video) == [0, 1, 2]
        assert numbers(video, mode="gray") == [0, 1, 2]
        assert next(video.frames(mode="rgba")).pixels.shape == (HEIGHT, WIDTH, 4)


def test_a_size_is_resized_without_a_detour(bframes):
    with Video(bframes) as video:
        frame = next(video.frames(size=(32, 48)))
        whole = frame.to_array()
        exact = np.asarray(frames.resize(whole, size=(32, 48), filter="area"), dtype=int)
        # Four levels, see cpp/tests/test_yuv.cpp, and one of the resize of whole pixels; below the
        # blocks, at whose edges there are colours that are clipped.
        assert np.abs(frame.pixels - exact)[22:].max() <= 4 + 1
        assert next(video.frames(max_side_px=80)).pixels.shape == (48, 80, 3)


def test_a_tensor_is_the_normalised_pixels(bframes):
    batch = np.zeros((2, 3, 32, 48), np.float32)
    with Video(bframes) as video:
        for i, frame in enumerate(video.frames(indices=[3, 30])):
            out = batch[i : i + 1]
            frame.to_tensor(size=(32, 48), mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4), out=out)
            pixels = frame.to_array(size=(32, 48)).astype(np.float64) / 255
            expected = (pixels - [0.5, 0.4, 0.3]) / [0.2, 0.3, 0.4]
            assert np.abs(batch[i] - expected.transpose(2, 0, 1)).max() < 1e-5


def test_planes_are_the_decoders_own_memory(bframes):
    with Video(bframes) as video:
        frame = next(video.frames())
        assert frame.planes[0].shape == (HEIGHT, WIDTH)
        assert frame.planes[1].shape == (HEIGHT // 2, WIDTH // 2)
        address = frame.planes[0].__array_interface__["data"][0]
        assert address == frame._source.planes[0].buffer_ptr
        with pytest.raises(ValueError, match="read-only"):
            frame.planes[0][:] = 0


def test_the_hash_of_a_frames_luma_is_near_that_of_its_pixels(bframes):
    with Video(bframes) as video:
        frame = next(video.frames())
        one, other = frames.phash(frame.luma()), frames.phash(frame.pixels)
    # Limited against full range, and luma rounded twice: what hashes call the same picture.
    assert int(frames.hamming(one, other)) <= 4


def by_time(video):
    return {round(frame.pts_s, 3): frame.pixels for frame in video.frames()}


def test_a_stream_entered_in_the_middle_shows_no_wrong_picture(tmp_path):
    # Open groups of pictures: the first ones lean on what was before the cut.
    options = {"x264-params": "open-gop=1:bframes=3:keyint=12:min-keyint=12"}
    path = clip(str(tmp_path / "o.ts"), options=options, noise=20)
    data = Path(path).read_bytes()
    with Video(path) as whole, Video(data[len(data) // 2 // 188 * 188 :]) as video:
        right = by_time(whole)
        found = list(video.frames())
    sound = [frame for frame in found if not frame.is_corrupt]
    assert len(sound) >= 10  # a group of pictures at least
    assert all(np.array_equal(f.pixels, right[round(f.pts_s, 3)]) for f in sound)


def test_a_lost_packet_flags_what_leans_on_it(tmp_path):
    # Bug log 15: grey smear must not pass for a picture.
    path = clip(str(tmp_path / "loss.ts"), options={"preset": "veryfast"}, gop=20, noise=30)
    data = bytearray(Path(path).read_bytes())
    middle = len(data) // 2 // 188 * 188
    del data[middle : middle + 3 * 188]
    with Video(path) as whole, Video(bytes(data)) as video:
        right = by_time(whole)
        found = list(video.frames())
        assert video.damage
    wrong = [f for f in found if not np.array_equal(f.pixels, right[round(f.pts_s, 3)])]
    assert wrong
    assert all(frame.is_corrupt for frame in wrong)
    assert not all(frame.is_corrupt for frame in found)
    with Video(bytes(data), on_damage="skip") as video:
        kept = by_time(video)
    assert all(np.array_equal(pixels, right[pts_s]) for pts_s, pixels in kept.items())
    with Video(bytes(data), on_damage="raise") as video, pytest.raises(DamagedVideoError):
        list(video.frames())


def test_motion_jpeg_that_is_cut_off_is_flagged():
    # FFmpeg's decoder gives half a picture without a word.
    picture = frames.encode_jpeg(numbered_picture(1), quality=90)
    stream = picture + picture[: len(picture) // 2] + picture
    with Video(bytes(stream), format="mjpeg") as video:
        found = list(video.frames())
    assert [frame.is_corrupt for frame in found] == [False, True, False]
    assert found[1].damage
    assert number_in(found[2].pixels) == 1


def test_a_video_without_video_is_an_error(tmp_path):
    path = tmp_path / "sound.wav"
    with av.open(str(path), "w") as output:
        stream = output.add_stream("pcm_s16le", rate=8000)
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), layout="mono")
        silence.rate = 8000
        output.mux(stream.encode(silence))
    with pytest.raises(VideoError, match=r"sound\.wav: holds no video"):
        Video(path)
    with pytest.raises(VideoError, match="can't be opened as video"):
        Video(tmp_path / "missing.mp4")
    with pytest.raises(VideoError, match="5 bytes of video: can't be opened"):
        Video(b"12345")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"indices": [40]}, "has frames 0 to 39, got index 40"),
        ({"indices": [-1]}, "whole numbers from 0, got -1"),
        ({"indices": [1.5]}, "whole numbers from 0, got 1.5"),
        ({"every_s": 0}, "positive number of seconds, got 0"),
        ({"times_s": [float("nan")]}, "finite seconds, got nan"),
        ({"indices": [0], "every_s": 1.0}, "one of indices=, times_s= and every_s="),
        ({"mode": "bgr"}, "rgb, gray or rgba, got 'bgr'"),
        ({"size": (0, 4)}, r"at least 1, got \(0, 4\)"),
        ({"size": (4, 4), "max_side_px": 3}, "not both"),
        ({"filter": "nearest"}, "got 'nearest'"),
    ],
)
def test_options_that_cannot_work_are_refused_before_anything_is_decoded(bframes, options, message):
    with Video(bframes) as video, pytest.raises(InputError, match=message):
        video.frames(**options)


def test_constructor_options_are_checked(bframes):
    with pytest.raises(InputError, match="threads must be"):
        Video(bframes, threads=0)
    with pytest.raises(InputError, match="on_damage must be"):
        Video(bframes, on_damage="ignore")
    with pytest.raises(InputError, match="a path, a URL, bytes or a binary file object, got int"):
        Video(5)
    with pytest.raises(ConfigurationError, match="hw must be one of"):
        Video(bframes, hw="abacus")


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is such a GPU here")
def test_hardware_that_is_not_there_is_an_error_not_a_slow_fallback(bframes):
    with pytest.raises(ConfigurationError, match="hw='cuda'"):
        list(Video(bframes, hw="cuda").frames())


def test_a_closed_video_gives_no_more_frames(bframes):
    video = Video(bframes)
    video.close()
    video.close()
    with pytest.raises(VideoError, match="is closed"):
        list(video.frames())


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="needs /proc")
def test_closing_gives_every_file_back(bframes):
    gc.collect()
    before = len(list(OPEN_FILES.iterdir()))
    for _ in range(5):
        with Video(bframes) as video:
            next(video.frames())  # abandoned
            list(video.frames(indices=[0, 30]))
    assert len(list(OPEN_FILES.iterdir())) == before


@pytest.mark.skipif(not MEMORY.is_file(), reason="needs /proc")
def test_memory_does_not_grow_over_openings(bframes):
    # Bug log 11.
    def resident_bytes():
        return int(MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def read_some(times):
        for _ in range(times):
            with Video(bframes, threads=1) as video:
                next(video.frames()).to_array()

    read_some(60)
    gc.collect()
    before = resident_bytes()
    read_some(240)
    gc.collect()
    # One leaked 160 x 96 frame per opening would be 5.5 MB, one decoder much more.
    assert resident_bytes() - before < 3 << 20


@pytest.fixture
def silent_server():
    """Accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def accept():
            while True:
                try:
                    held.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        for connection in held:
            connection.close()


@pytest.fixture
def stalling_server(tmp_path):
    """Gives half of a stream over HTTP, then falls silent."""
    path = clip(str(tmp_path / "half.ts"), options={"bf": "0"}, noise=30)
    data = Path(path).read_bytes()
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection = server.accept()[0]
            with connection:
                connection.recv(4096)
                head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(data)}\r\n\r\n"
                connection.sendall(head.encode() + data[: len(data) * 3 // 4])
                stop.wait(20)

        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        stop.set()
        thread.join()


def test_a_server_that_falls_silent_is_a_timeout(stalling_server):
    url = f"http://127.0.0.1:{stalling_server}/half.ts"
    shown = []

    def watch(video):
        shown.extend(number_in(f.pixels) for f in video.frames() if not f.is_corrupt)

    late = pytest.raises(VideoTimeoutError, match=r"no data for 0\.5 s after packet")
    with Video(url, read_timeout_s=0.5, threads=1) as video, late:
        watch(video)
    assert len(shown) > 10
    assert shown == list(range(len(shown)))


class Pipe(io.RawIOBase):
    """A file that can be read once, as a process's output."""

    def __init__(self, data):
        self._inner = io.BytesIO(data)

    def readable(self):
        return True

    def read(self, size=-1):
        return self._inner.read(size)


def test_what_can_be_read_once_is_read_through_or_sampled(tmp_path):
    data = Path(clip(str(tmp_path / "p.ts"))).read_bytes()
    with Video(Pipe(data)) as video:
        # Every 0.1 s of frames 0.04 s apart: at or after 0, 0.1, 0.2, ... are 0, 0.12, 0.2, ...
        assert numbers(video, every_s=0.1)[:5] == [0, 3, 5, 8, 10]
        with pytest.raises(VideoError, match="can be read only once"):
            list(video.frames())
    with Video(Pipe(data)) as video:
        with pytest.raises(VideoError, match="a live source has no frame numbers"):
            video.frames(indices=[3])
        assert len(list(video)) == 40


def test_a_frame_of_too_many_pixels_is_refused(bframes):
    with pytest.raises(VideoError, match="160 x 96 is more than 10000 pixels"):
        Video(bframes, max_pixels=10_000)


@pytest.mark.parametrize("scheme", ["rtsp", "http"])
def test_a_server_that_stays_silent_is_a_timeout(silent_server, scheme):
    # Bug log 10.
    url = f"{scheme}://user:secret@127.0.0.1:{silent_server}/cam"
    started = time.monotonic()
    with pytest.raises(VideoTimeoutError, match=r"no answer in 0\.5 s") as caught:
        Video(url, open_timeout_s=0.5)
    assert time.monotonic() - started < 5
    assert isinstance(caught.value, TimeoutError)
    assert "secret" not in str(caught.value)


def test_without_pyav_the_error_gives_the_pip_line():
    code = """
import sys
sys.modules["av"] = None
from framejudge.errors import MissingExtraError
from framejudge.frames import Video
try:
    Video("a.mp4")
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'framejudge[video]'" in done.stdout
