"""Hashes of pictures that survive re-encoding, distances between them, and hashes of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from framejudge import _core
from framejudge.errors import InputError, UnsupportedImageError
from framejudge.frames._inputs import Encoded, encoded_bytes
from framejudge.frames._pillow import decode_with_pillow
from framejudge.frames.records import Limits

__all__ = [
    "PictureHash",
    "dhash",
    "find_duplicates",
    "hamming",
    "pdq",
    "phash",
    "sha256",
    "xxh3_128",
]

Algorithm: TypeAlias = Literal["dhash", "phash", "pdq"]
Picture: TypeAlias = Encoded | NDArray[np.uint8]
Hashes: TypeAlias = "PictureHash | Sequence[PictureHash] | NDArray[np.uint8]"

_DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class PictureHash:
    """A picture's hash, and what made it.

    Attributes:
        digest: 8 bytes (dhash, phash) or 32 (pdq), most significant bit first.
        algorithm: ``"dhash"``, ``"phash"`` or ``"pdq"``.
        version: Of the algorithm. One picture's hashes of two versions may differ.
        quality: 0 to 100, how much there is to see; only PDQ's is ever below 100. Its authors
            don't compare hashes of less than 50.
    """

    digest: bytes
    algorithm: str
    version: int
    quality: int = 100

    def __str__(self) -> str:
        return self.digest.hex()

    def __sub__(self, other: PictureHash) -> int:
        """Bits that differ."""
        return int(hamming(self, other))

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        """The digest as uint8, so that a list of hashes becomes an array of rows."""
        digest = np.frombuffer(self.digest, dtype=np.uint8)
        return digest.astype(dtype or np.uint8, copy=bool(copy))


def dhash(picture: Picture, *, limits: Limits = _DEFAULT_LIMITS) -> PictureHash:
    """64 bits: whether each of 8 x 9 samples is darker than its right neighbour.

    Of an array, equal to imagehash 4's ``dhash`` on Pillow 13. Of encoded bytes, the picture is
    upright, and a JPEG is decoded at the smallest scale that leaves 128 pixels a side, which may
    change a bit or two.

    Args:
        picture: Encoded bytes or a path, or (H, W), (H, W, 1), (H, W, 3) or (H, W, 4) uint8;
            transparency lies over white in encoded bytes and is ignored in arrays.
        limits: What decoding may cost.

    Returns:
        The hash; two of them can be subtracted.

    Raises:
        ImageError: If bytes can't be decoded.
        InputError: If `picture` is something else.

    >>> import numpy as np
    >>> from framejudge import frames
    >>> str(frames.dhash(np.tile(np.arange(90, dtype=np.uint8), (80, 1))))
    'ffffffffffffffff'
    """
    return _hash(picture, "dhash", limits)


def phash(picture: Picture, *, limits: Limits = _DEFAULT_LIMITS) -> PictureHash:
    """64 bits: whether each of the 8 x 8 lowest frequencies is above their median.

    Of an array, equal to imagehash 4's ``phash`` on Pillow 13, but for flat pictures, whose bits
    are rounding errors there. Of encoded bytes as in `dhash`.

    Args:
        picture: As in `dhash`.
        limits: What decoding may cost.

    Returns:
        The hash.

    Raises:
        ImageError: If bytes can't be decoded.
        InputError: If `picture` is something else.

    >>> import numpy as np
    >>> from framejudge import frames
    >>> str(frames.phash(np.full((64, 64), 7, dtype=np.uint8)))
    '8000000000000000'
    """
    return _hash(picture, "phash", limits)


def pdq(picture: Picture, *, limits: Limits = _DEFAULT_LIMITS) -> PictureHash:
    """Meta's PDQ: 256 bits, and a quality that says whether there is enough to see.

    Of an array of up to 1024 pixels a side, equal to pdqhash 0.2; a larger one is shrunk to that
    first. Of encoded bytes, the luma is decoded at the smallest scale that leaves 256 pixels a
    side. Pictures count as the same from 31 bits down.

    Args:
        picture: As in `dhash`.
        limits: What decoding may cost.

    Returns:
        The hash; with a side below 5 pixels it is zero, and so is the quality.

    Raises:
        ImageError: If bytes can't be decoded.
        InputError: If `picture` is something else.

    >>> import numpy as np
    >>> from framejudge import frames
    >>> frames.pdq(np.zeros((64, 64, 3), dtype=np.uint8)).quality
    0
    """
    return _hash(picture, "pdq", limits)


def _hash(picture: Picture, algorithm: Algorithm, limits: Limits) -> PictureHash:
    core_limits = _core.DecodeLimits(
        limits.max_pixels, limits.max_bytes, limits.max_scans, limits.time_budget_s
    )
    is_array = isinstance(picture, np.ndarray) and picture.ndim != 1
    content = picture if is_array else encoded_bytes(picture, max_bytes=limits.max_bytes)
    try:
        digest, quality = _core.picture_hash(content, algorithm, core_limits)
    except UnsupportedImageError as refusal:
        pixels, _ = decode_with_pillow(content, limits, refusal, orient=True)
        digest, quality = _core.picture_hash(pixels, algorithm, core_limits)
    return PictureHash(digest, algorithm, _core.hash_version, quality)


def hamming(a: Hashes, b: Hashes) -> int | NDArray[np.uint32]:
    """Bits that differ.

    Args:
        a: One hash, a sequence of them, or (bytes,) or (n, bytes) uint8.
        b: The same; one against many is compared with each.

    Returns:
        An int for two single hashes, else (n,) uint32.

    Raises:
        InputError: If hashes of other algorithms, versions, lengths or numbers meet.

    >>> import numpy as np
    >>> from framejudge import frames
    >>> one, many = np.array([0, 255], np.uint8), np.array([[0, 254], [1, 0]], np.uint8)
    >>> frames.hamming(one, many).tolist()
    [1, 9]
    """
    kinds = _kinds(a) | _kinds(b)
    if len(kinds) > 1:
        raise InputError(f"hashes must come from one algorithm and version, got {sorted(kinds)}")
    rows_a, single_a = _rows(a)
    rows_b, single_b = _rows(b)
    if rows_a.shape[1] != rows_b.shape[1]:
        raise InputError(
            f"hashes must be of one length, got {rows_a.shape[1]} and {rows_b.shape[1]} bytes"
        )
    if len(rows_b) == 1 and len(rows_a) != 1:
        rows_a, rows_b = rows_b, rows_a
    distances: NDArray[np.uint32] = _core.hamming(rows_a, rows_b)
    return int(distances[0]) if single_a and single_b else distances


def find_duplicates(hashes: Hashes, max_distance: int) -> NDArray[np.int64]:
    """Every pair of hashes that differ by at most so many bits.

    All n (n - 1) / 2 pairs are compared, on the core's threads; memory is that of the result.

    Args:
        hashes: A sequence of hashes, or (n, bytes) uint8.
        max_distance: In bits, 0 or more.

    Returns:
        (pairs, 2) int64: indices i < j, in order.

    Raises:
        InputError: If the hashes are of several algorithms, versions or lengths.

    >>> import numpy as np
    >>> from framejudge import frames
    >>> frames.find_duplicates(np.array([[0], [7], [1]], np.uint8), 1).tolist()
    [[0, 2]]
    """
    if max_distance < 0:
        raise InputError(f"max_distance must be at least 0, got {max_distance}")
    kinds = _kinds(hashes)
    if len(kinds) > 1:
        raise InputError(f"hashes must come from one algorithm and version, got {sorted(kinds)}")
    rows, _ = _rows(hashes)
    pairs: NDArray[np.int64] = _core.find_duplicates(rows, min(max_distance, 8 * rows.shape[1]))
    return pairs


def xxh3_128(data: Encoded) -> bytes:
    """XXH3 of 128 bits, seed 0: names contents, resists no attacker.

    Args:
        data: Bytes, bytearray, memoryview, or a path.

    Returns:
        16 bytes, in the order that the xxHash tools print.

    >>> from framejudge import frames
    >>> frames.xxh3_128(b"").hex()
    '99aa06d3014798d86001c324468d497f'
    """
    digest: bytes = _core.xxh3_128(encoded_bytes(data, max_bytes=_ANY_SIZE))
    return digest


def sha256(data: Encoded) -> bytes:
    """SHA-256.

    Args:
        data: Bytes, bytearray, memoryview, or a path.

    Returns:
        32 bytes.

    >>> from framejudge import frames
    >>> frames.sha256(b"abc").hex()[:8]
    'ba7816bf'
    """
    digest: bytes = _core.sha256(encoded_bytes(data, max_bytes=_ANY_SIZE))
    return digest


_ANY_SIZE = 1 << 62


def _kinds(hashes: Hashes) -> set[tuple[str, int]]:
    """Algorithms and versions, as far as they are known."""
    if isinstance(hashes, PictureHash):
        return {(hashes.algorithm, hashes.version)}
    if isinstance(hashes, np.ndarray):
        return set()
    return {(h.algorithm, h.version) for h in hashes if isinstance(h, PictureHash)}


def _rows(hashes: Hashes) -> tuple[NDArray[np.uint8], bool]:
    """(n, bytes), and whether it was one hash."""
    if isinstance(hashes, Sequence) and len(hashes) == 0:
        return np.zeros((0, 8), dtype=np.uint8), False
    try:
        rows = np.asarray(hashes)
    except ValueError as error:
        raise InputError(f"hashes must be of one length: {error}") from error
    if rows.dtype != np.uint8 or rows.ndim not in {1, 2} or rows.shape[-1] == 0:
        raise InputError(
            "hashes must be PictureHash objects or uint8 of shape (bytes,) or (n, bytes), got "
            f"shape {rows.shape} of {rows.dtype}"
        )
    return np.atleast_2d(rows), rows.ndim == 1
