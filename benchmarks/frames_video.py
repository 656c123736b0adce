"""H.264 1080p: every frame, tensors and single frames against OpenCV and PyAV.

One process, decoders of one thread, interleaved in random order; CPU time of the process, the
median. Beside each time whether the picture was right: the largest distance from the conversion in
float64 of the decoder's planes, or the decibels from the exact resize of it. The clips are made
here by PyAV's own encoder: a photo-like scene that pans under a camera's noise.
pip install 'framejudge[video]' opencv-python-headless
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import cv2
import numpy as np

from benchmarks.frames_common import photo, psnr, show
from framejudge import _core
from framejudge.frames.video import Video

HEIGHT, WIDTH, SIDE = 1080, 1920, 384
EVERY = 30
MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
# ITU-R BT.709, limited range, which 1080 rows mean where nothing else is said.
MATRIX = np.array([[1, 0, 1.5748], [1, -0.187324, -0.468124], [1, 1.8556, 0]])


def make_clip(path: Path, *, frames: int, gop: int) -> None:
    scene = photo(HEIGHT + 64, WIDTH + 256)
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 2, (HEIGHT + 40, WIDTH + 40, 1)).astype(np.int16)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.gop_size = gop
        stream.options = {"preset": "veryfast", "crf": "23"}
        for number in range(frames):
            dx, dy = number * 3 % 256, number % 64
            ny, nx = rng.integers(0, 40, 2)
            view = scene[dy : dy + HEIGHT, dx : dx + WIDTH].astype(np.int16)
            view = np.clip(view + noise[ny : ny + HEIGHT, nx : nx + WIDTH], 0, 255)
            frame = av.VideoFrame.from_ndarray(view.astype(np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def exact_rgb(frame: av.VideoFrame) -> np.ndarray:
    planes = [np.frombuffer(p, np.uint8).reshape(p.height, -1)[:, : p.width] for p in frame.planes]
    u, v = (np.repeat(np.repeat(plane, 2, 0), 2, 1) for plane in planes[1:])
    scaled = [
        (planes[0] - 16.0) / 219,
        (u[:HEIGHT, :WIDTH] - 128.0) / 224,
        (v[:HEIGHT, :WIDTH] - 128.0) / 224,
    ]
    return np.clip(np.stack(scaled, axis=-1) @ MATRIX.T * 255, 0, 255)


def pyav_frames(path: Path) -> Iterator[av.VideoFrame]:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "NONE"
        yield from container.decode(stream)


def cv2_frames(path: Path) -> Iterator[np.ndarray]:
    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
    while (read := capture.read())[0]:
        yield read[1]
    capture.release()


def ours(path: Path, **options: object) -> Iterator[object]:
    with Video(path, threads=1, assume_intact=bool(options.pop("assume_intact", False))) as video:
        yield from video.frames(**options)


def normalised(pixels: np.ndarray) -> np.ndarray:
    return ((pixels.astype(np.float32) / 255 - MEAN) / STD).transpose(2, 0, 1)


def our_tensors(path: Path, batch: np.ndarray) -> None:
    for i, frame in enumerate(ours(path)):
        place = batch[i % len(batch)][None]
        frame.to_tensor(size=(SIDE, SIDE), mean=MEAN.tolist(), std=STD.tolist(), out=place)


def swscale_tensors(path: Path) -> None:
    for frame in pyav_frames(path):
        normalised(frame.to_ndarray(format="rgb24", width=SIDE, height=SIDE))


def cv2_tensors(path: Path) -> None:
    for pixels in cv2_frames(path):
        small = cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        normalised(small[..., ::-1])


def process_times(methods: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Milliseconds of all threads of this process per call, median; each round another order."""
    times: dict[str, list[float]] = {name: [] for name in methods}
    for number in range(rounds):
        names = list(methods)
        random.Random(number).shuffle(names)
        for name in names:
            start = time.process_time()
            methods[name]()
            times[name].append((time.process_time() - start) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def drain(frames: Iterator[object], look: Callable[[object], object] = lambda frame: frame) -> None:
    for frame in frames:
        look(frame)


def rightness(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """How far each one's first frame is from the exact one, whole and resized."""
    source = next(pyav_frames(path))
    exact = exact_rgb(source)
    mine = next(ours(path))
    whole = {
        "framejudge": mine.pixels,
        "cv2.VideoCapture": next(cv2_frames(path))[..., ::-1],
        "PyAV rgb24": source.to_ndarray(format="rgb24"),
    }
    rounded = np.rint(exact).astype(np.uint8)
    wanted = _core.resize(rounded, size=(SIDE, SIDE), filter="area")
    capture = cv2.resize(whole["cv2.VideoCapture"], (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    small = {
        "framejudge": mine.to_array(size=(SIDE, SIDE)),
        "PyAV swscale + numpy": source.to_ndarray(format="rgb24", width=SIDE, height=SIDE),
        "cv2 + AREA + numpy": capture,
    }
    return (
        {name: f"off by {np.abs(p - exact).max():.1f} at most" for name, p in whole.items()},
        {name: f"{psnr(p, wanted):.1f} dB of the exact" for name, p in small.items()},
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--frames", type=int, default=120)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clips = {gop: Path(folder) / f"gop{gop}.mp4" for gop in (30, 250)}
        for gop, clip in clips.items():
            make_clip(clip, frames=options.frames, gop=gop)
        path = clips[250]
        whole, small = rightness(path)
        batch = np.empty((8, 3, SIDE, SIDE), np.float32)
        methods: dict[str, Callable[[], object]] = {
            "framejudge": lambda: drain(ours(path), lambda frame: frame.pixels),
            "cv2.VideoCapture": lambda: drain(cv2_frames(path)),
            "PyAV rgb24": lambda: drain(
                pyav_frames(path), lambda frame: frame.to_ndarray(format="rgb24")
            ),
            "PyAV, no conversion": lambda: drain(pyav_frames(path)),
        }
        title = f"{options.frames} frames of 1080p H.264"
        show(
            f"{title}, every one to RGB",
            process_times(methods, options.rounds),
            "framejudge",
            whole,
        )
        tensors = {
            "framejudge": lambda: our_tensors(path, batch),
            "PyAV swscale + numpy": lambda: swscale_tensors(path),
            "cv2 + AREA + numpy": lambda: cv2_tensors(path),
        }
        show(
            f"{title}, every one to a {SIDE} x {SIDE} tensor",
            process_times(tensors, options.rounds), "framejudge", small,
        )  # fmt: skip
        picked = range(0, options.frames, EVERY)
        for gop, clip in clips.items():
            picks = {
                "framejudge": lambda clip=clip: drain(
                    ours(clip, indices=picked), lambda frame: frame.pixels
                ),
                "framejudge, assume_intact": lambda clip=clip: drain(
                    ours(clip, indices=picked, assume_intact=True), lambda frame: frame.pixels
                ),
                "framejudge, all to RGB": lambda clip=clip: drain(
                    ours(clip), lambda frame: frame.pixels
                ),
                "cv2, all to BGR": lambda clip=clip: drain(cv2_frames(clip)),
            }
            show(
                f"{title}, every {EVERY}th, a keyframe every {gop}",
                process_times(picks, options.rounds), "framejudge", {},
            )  # fmt: skip


if __name__ == "__main__":
    main()
