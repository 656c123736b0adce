"""Resize, normalise, and JPEG straight to a tensor, each against the peers; one thread, CPU time.

Needs `pip install pillow opencv-python-headless simplejpeg`. Beside each time: how far the picture
is from the exact one, which is a float64 filter over the fully decoded JPEG.
"""

from __future__ import annotations

import ctypes
import io
from collections.abc import Callable

import cv2
import numpy as np
import simplejpeg
from PIL import Image

from benchmarks.frames_common import cpu_times, photo, psnr, show
from framejudge import _core, frames

MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
STD = np.array([0.229, 0.224, 0.225], dtype=np.float32)


def triangle_weights(size: int, count: int) -> np.ndarray:
    """The antialiased bilinear filter as a matrix of float64."""
    scale = size / count
    stretch = max(scale, 1.0)
    centers = (np.arange(count)[:, None] + 0.5) * scale
    weights = np.clip(1 - np.abs(np.arange(size)[None, :] + 0.5 - centers) / stretch, 0, None)
    return weights / weights.sum(axis=1, keepdims=True)


def exact(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    rows = triangle_weights(picture.shape[0], height)
    columns = triangle_weights(picture.shape[1], width)
    return np.einsum("yh,hwc,xw->yxc", rows, picture.astype(np.float64), columns, optimize=True)


def resize_alone(picture: np.ndarray, side: int) -> None:
    image = Image.fromarray(picture)
    methods: dict[str, Callable[[], object]] = {
        "framejudge area": lambda: frames.resize(picture, size=(side, side)),
        "framejudge bilinear": lambda: frames.resize(picture, size=(side, side), filter="bilinear"),
        "cv2 INTER_AREA": lambda: cv2.resize(picture, (side, side), interpolation=cv2.INTER_AREA),
        "Pillow BOX": lambda: image.resize((side, side), Image.Resampling.BOX),
        "Pillow BILINEAR": lambda: image.resize((side, side), Image.Resampling.BILINEAR),
        "cv2 INTER_LINEAR (aliased)": lambda: cv2.resize(picture, (side, side)),
    }
    reference = exact(picture, side, side)
    notes = {
        name: f"{psnr(np.asarray(method()), reference):5.1f} dB to exact bilinear"
        for name, method in methods.items()
    }
    for filter_name, peer in (("area", "BOX"), ("bilinear", "BILINEAR")):
        same = np.array_equal(
            methods[f"framejudge {filter_name}"](), np.asarray(methods[f"Pillow {peer}"]())
        )
        notes[f"framejudge {filter_name}"] += f"; equal to Pillow {peer}: {same}"
    title = f"resize {picture.shape[1]}x{picture.shape[0]} -> {side}x{side}"
    show(title, cpu_times(methods), "framejudge area", notes)


def normalise_alone(picture: np.ndarray) -> None:
    out = np.zeros((1, 3, *picture.shape[:2]), dtype=np.float32)
    half = np.zeros(out.shape, dtype=np.float16)
    memset = ctypes.CDLL(None).memset
    memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    methods: dict[str, Callable[[], object]] = {
        "memset of the output": lambda: memset(out.ctypes.data, 0, out.nbytes),
        "framejudge float32": lambda: frames.to_tensor(picture, mean=MEAN, std=STD, out=out),
        "framejudge float16": lambda: frames.to_tensor(
            picture, mean=MEAN, std=STD, dtype="float16", out=half
        ),
        "numpy": lambda: with_numpy(picture),
        "cv2.dnn.blobFromImage (no std)": lambda: cv2.dnn.blobFromImage(
            picture, 1 / 255, mean=tuple(255 * MEAN.astype(float))
        ),
    }
    show(f"normalise {picture.shape[1]}x{picture.shape[0]}", cpu_times(methods),
         "framejudge float32", {})  # fmt: skip


def with_numpy(picture: np.ndarray) -> np.ndarray:
    scaled = (picture.astype(np.float32) / np.float32(255) - MEAN) / STD
    return np.ascontiguousarray(scaled.transpose(2, 0, 1))


def to_tensor_from_jpeg(picture: np.ndarray, height: int, width: int) -> None:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=85)
    jpeg = buffer.getvalue()
    encoded = np.frombuffer(jpeg, dtype=np.uint8)
    out = np.zeros((1, 3, height, width), dtype=np.float32)
    factor = 4 if min(picture.shape[0] / height, picture.shape[1] / width) >= 4 else 2
    flag = {2: cv2.IMREAD_REDUCED_COLOR_2, 4: cv2.IMREAD_REDUCED_COLOR_4}[factor]
    scaled = (picture.shape[0] // factor, picture.shape[1] // factor)

    def cv2_reduced() -> np.ndarray:
        small = cv2.cvtColor(cv2.imdecode(encoded, flag), cv2.COLOR_BGR2RGB)
        return with_numpy(cv2.resize(small, (width, height), interpolation=cv2.INTER_AREA))

    def simplejpeg_scaled() -> np.ndarray:
        small = simplejpeg.decode_jpeg(jpeg, min_height=height, min_width=width)
        return with_numpy(cv2.resize(small, (width, height), interpolation=cv2.INTER_AREA))

    def pillow_draft() -> np.ndarray:
        image = Image.open(io.BytesIO(jpeg))
        image.draft("RGB", (width, height))
        return with_numpy(np.asarray(image.resize((width, height), Image.Resampling.BILINEAR)))

    def pillow_full() -> np.ndarray:
        image = Image.open(io.BytesIO(jpeg)).convert("RGB")
        return with_numpy(np.asarray(image.resize((width, height), Image.Resampling.BILINEAR)))

    methods = {
        "framejudge decode_to_tensor": lambda: frames.decode_to_tensor(
            [jpeg], size=(height, width), mean=MEAN, std=STD, out=out
        )[0],
        f"cv2 REDUCED_{factor} + AREA + numpy": cv2_reduced,
        "simplejpeg scaled + cv2 AREA + numpy": simplejpeg_scaled,
        "Pillow draft + BILINEAR + numpy": pillow_draft,
        "Pillow BILINEAR + numpy": pillow_full,
        # What no pipeline can do without: the entropy coding, and the transform at this scale.
        "framejudge, decoding to an eighth": lambda: frames.decode(jpeg, size=(1, 1)),
        f"framejudge, decoding to 1/{factor}": lambda: frames.decode(jpeg, size=scaled),
    }
    full = np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))
    reference = exact(full, height, width)
    notes = {}
    for name, method in methods.items():
        tensor = np.asarray(method())
        if tensor.shape == (3, height, width):
            levels = (tensor.transpose(1, 2, 0) * STD + MEAN) * 255
            notes[name] = f"{psnr(levels, reference):5.1f} dB to exact"
    title = f"JPEG {picture.shape[1]}x{picture.shape[0]} -> float32 (1, 3, {height}, {width})"
    show(title, cpu_times(methods), "framejudge decode_to_tensor", notes)


def main() -> None:
    cv2.setNumThreads(1)
    _core.set_threads(1)
    full_hd, ultra_hd = photo(1080, 1920), photo(2160, 3840)
    resize_alone(full_hd, 384)
    normalise_alone(full_hd)
    to_tensor_from_jpeg(full_hd, 384, 384)
    to_tensor_from_jpeg(full_hd, 432, 768)
    to_tensor_from_jpeg(ultra_hd, 384, 384)
    to_tensor_from_jpeg(ultra_hd, 432, 768)


if __name__ == "__main__":
    main()
