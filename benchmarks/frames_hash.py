"""Hashes of one 1080p frame and of bytes, and a search among hashes; one thread, CPU time.

Needs `pip install imagehash pdqhash pillow xxhash`; PyTurboJPEG 1.8.3 over the system's
libturbojpeg0 takes part where it is installed. Beside each time: bits that differ from the
reference library's hash of the whole picture.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from functools import partial

import imagehash
import numpy as np
import pdqhash
import xxhash
from PIL import Image

from benchmarks.frames_common import cpu_times, photo, show
from framejudge import _core, frames


def bits(a: bytes, b: bytes) -> str:
    differ = np.frombuffer(a, np.uint8) ^ np.frombuffer(b, np.uint8)
    return f"{np.unpackbits(differ).sum()} of {8 * len(a)} bits differ"


def turbojpeg_decoder() -> Callable[[bytes], np.ndarray] | None:
    """PyTurboJPEG's decoder to RGB, where it and libturbojpeg are installed."""
    try:
        from turbojpeg import TJPF_RGB, TurboJPEG

        return partial(TurboJPEG().decode, pixel_format=TJPF_RGB)
    except (ImportError, RuntimeError) as error:
        print(f"PyTurboJPEG: not measured ({error})")
        return None


def perceptual(picture: np.ndarray) -> None:
    image = Image.fromarray(picture)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    jpeg = buffer.getvalue()

    def decoded() -> Image.Image:
        return Image.open(io.BytesIO(jpeg)).convert("RGB")

    def decoded_then(reference: Callable[[Image.Image], object]) -> object:
        return reference(decoded())

    turbo = turbojpeg_decoder()

    def turbo_then_phash() -> object:
        return imagehash.phash(Image.fromarray(turbo(jpeg)))

    for name, reference in (("dhash", imagehash.dhash), ("phash", imagehash.phash)):
        ours = getattr(frames, name)
        whole = bytes.fromhex(str(reference(image)))
        times = cpu_times(
            {
                f"framejudge {name} of the array": partial(ours, picture),
                f"imagehash.{name} of the array": partial(reference, image),
                f"framejudge {name} of the JPEG": partial(ours, jpeg),
                f"Pillow + imagehash.{name} of the JPEG": partial(decoded_then, reference),
                **(
                    {"PyTurboJPEG + imagehash.phash of the JPEG": turbo_then_phash}
                    if turbo and name == "phash"
                    else {}
                ),
            }
        )
        notes = {
            f"framejudge {name} of the array": bits(ours(picture).digest, whole),
            f"framejudge {name} of the JPEG": bits(ours(jpeg).digest, whole),
        }
        show(f"{name}, 1080p", times, f"framejudge {name} of the JPEG", notes)

    whole = np.packbits(pdqhash.compute(picture)[0]).tobytes()
    times = cpu_times(
        {
            "framejudge pdq of the array": lambda: frames.pdq(picture),
            "framejudge pdq of the JPEG": lambda: frames.pdq(jpeg),
            "pdqhash of the array": lambda: pdqhash.compute(picture),
            "Pillow + pdqhash of the JPEG": lambda: pdqhash.compute(np.asarray(decoded())),
        }
    )
    notes = {
        "framejudge pdq of the array": bits(frames.pdq(picture).digest, whole),
        "framejudge pdq of the JPEG": bits(frames.pdq(jpeg).digest, whole),
    }
    show("pdq, 1080p", times, "framejudge pdq of the JPEG", notes)


def content(size: int) -> None:
    data = np.random.default_rng(0).bytes(size)
    methods = {
        "framejudge xxh3_128": lambda: frames.xxh3_128(data),
        "xxhash xxh3_128": lambda: xxhash.xxh3_128_digest(data),
        "framejudge sha256": lambda: frames.sha256(data),
        "hashlib sha256": lambda: hashlib.sha256(data).digest(),
    }
    same = {name: f"right: {methods[name]() == methods[peer]()}" for name, peer in (
        ("framejudge xxh3_128", "xxhash xxh3_128"), ("framejudge sha256", "hashlib sha256"),
    )}  # fmt: skip
    show(f"{size} bytes", cpu_times(methods, repeat=5), "framejudge xxh3_128", same)


def search(count: int) -> None:
    hashes = np.random.default_rng(0).integers(0, 256, (count, 8), np.uint8)
    words = hashes.view(np.uint64).ravel()

    def with_numpy() -> int:
        return sum(
            int(np.count_nonzero(np.bitwise_count(words[i + 1 :] ^ words[i]) <= 10))
            for i in range(count)
        )

    methods = {
        "framejudge find_duplicates": lambda: len(frames.find_duplicates(hashes, 10)),
        "numpy bitwise_count, row by row": with_numpy,
    }
    found = {name: f"{method()} pairs" for name, method in methods.items()}
    show(f"pairs among {count} hashes of 64 bits", cpu_times(methods, rounds=7),
         "framejudge find_duplicates", found)  # fmt: skip


def main() -> None:
    _core.set_threads(1)
    perceptual(photo(1080, 1920))
    content(400_000)
    search(10_000)


if __name__ == "__main__":
    main()
