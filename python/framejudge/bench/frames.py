"""How fast the frame path is here, on a made-up picture of camera-like smoothness."""

from __future__ import annotations

import numpy as np

from framejudge import frames
from framejudge.bench import BenchRow
from framejudge.bench.timing import timed_row

__all__ = ["run"]

_MEAN = _STD = (0.5, 0.5, 0.5)


def run() -> list[BenchRow]:
    """Time decoding, resizing, normalising, hashing and encoding of a 1080p frame."""
    picture = _picture()
    jpeg = frames.encode_jpeg(picture, quality=85)
    png = frames.encode_png(picture)
    small = frames.resize(picture, size=(432, 768))
    tensor = np.empty((1, 3, 1080, 1920), np.float32)
    thumbnail = np.empty((1, 3, 384, 384), np.float32)

    def to_thumbnail() -> object:
        return frames.decode_to_tensor([jpeg], size=(384, 384), mean=_MEAN, std=_STD, out=thumbnail)

    return [
        timed_row("decode, 1080p JPEG", lambda: frames.decode(jpeg), picture.nbytes),
        timed_row("decode, 1080p PNG", lambda: frames.decode(png), picture.nbytes),
        timed_row("decode_to_tensor, 1080p JPEG to 384 x 384", to_thumbnail, picture.nbytes),
        timed_row(
            "resize, 1080p to 384 x 384",
            lambda: frames.resize(picture, size=(384, 384)),
            picture.nbytes,
        ),
        timed_row(
            "to_tensor, 1080p float32",
            lambda: frames.to_tensor([picture], mean=_MEAN, std=_STD, out=tensor),
            tensor.nbytes,
        ),
        timed_row("phash, 1080p JPEG", lambda: frames.phash(jpeg), picture.nbytes),
        timed_row("dhash, 1080p array", lambda: frames.dhash(picture), picture.nbytes),
        timed_row("encode_png, 768 x 432", lambda: frames.encode_png(small), small.nbytes),
        timed_row("xxh3_128, 1080p PNG", lambda: frames.xxh3_128(png), len(png)),
        timed_row("sha256, 1080p PNG", lambda: frames.sha256(png), len(png)),
    ]


def _picture() -> np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]:
    """Return a 1080p frame with soft shapes and a little noise, the same each time."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (34, 60, 3), dtype=np.uint8)
    smooth = frames.resize(coarse, size=(1080, 1920), filter="bicubic").astype(np.int16)
    noisy = smooth + rng.integers(-4, 5, smooth.shape, dtype=np.int16)
    picture: np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]
    picture = np.clip(noisy, 0, 255).astype(np.uint8)
    return picture
