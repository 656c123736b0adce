"""Hashes are those of imagehash, pdqhash, xxhash and hashlib; they survive what frames suffer."""

from __future__ import annotations

import hashlib
import io
import itertools

import imagehash
import numpy as np
import pdqhash
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from framejudge import frames
from framejudge.errors import InputError


def photo(height, width, seed):
    """A 1/f spectrum, as photos have."""
    rng = np.random.default_rng(seed)
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :])
    frequency[0, 0] = 1.0
    phases = np.exp(2j * np.pi * rng.random((3, *frequency.shape)))
    planes = np.fft.irfft2(phases / frequency**1.5, (height, width))
    planes /= planes.std(axis=(1, 2), keepdims=True)
    return np.clip(128 + 40 * planes.transpose(1, 2, 0), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("seed", range(8))
def test_hashes_of_arrays_are_those_of_the_reference_libraries(seed):
    height, width = np.random.default_rng(seed).integers(20, 513, 2)
    array = photo(height, width, seed)
    image = Image.fromarray(array)
    assert str(frames.dhash(array)) == str(imagehash.dhash(image))
    assert str(frames.phash(array)) == str(imagehash.phash(image))
    bits, quality = pdqhash.compute(array)
    got = frames.pdq(array)
    assert got.digest == np.packbits(bits).tobytes()
    assert got.quality == quality


def test_a_large_pictures_pdq_is_within_ten_bits_of_the_reference():
    array = photo(1080, 1920, 3)
    bits, _ = pdqhash.compute(array)
    distance = np.unpackbits(np.frombuffer(frames.pdq(array).digest, np.uint8)) ^ bits
    assert distance.sum() <= 10


# Bits of 64 (256 for pdq): a dHash or pHash may lose two to re-encoding; PDQ counts pictures as the
# same up to 31.
ALLOWED = {"dhash": 2, "phash": 2, "pdq": 31}


@pytest.mark.parametrize("name", ALLOWED)
def test_re_encoding_scaling_and_light_change_few_bits_and_another_picture_many(name):
    make = getattr(frames, name)
    array = photo(540, 960, 5)
    image = Image.fromarray(array)
    first = make(array)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=50)
    versions = {
        "q50": buffer.getvalue(),
        "smaller": np.asarray(image.resize((640, 360), Image.Resampling.BICUBIC)),
        "brighter": np.clip(array.astype(int) + 10, 0, 255).astype(np.uint8),
        "darker": np.clip(array.astype(int) - 10, 0, 255).astype(np.uint8),
    }
    for what, version in versions.items():
        assert make(version) - first <= ALLOWED[name], what
    assert make(photo(540, 960, 6)) - first > 4 * len(first.digest) / 2  # a quarter of the bits


def test_an_encoded_picture_is_hashed_upright():
    exif = Image.Exif()
    exif[0x112] = 6
    buffer = io.BytesIO()
    upright = photo(320, 240, 2)
    Image.fromarray(np.rot90(upright)).save(buffer, "JPEG", quality=95, exif=exif)
    assert frames.dhash(buffer.getvalue()) - frames.dhash(upright) <= 2


def test_a_hash_says_what_made_it_and_meets_only_its_kind():
    array = photo(64, 64, 1)
    d, p = frames.dhash(array), frames.phash(array)
    assert (d.algorithm, d.version, len(d.digest)) == ("dhash", 1, 8)
    with pytest.raises(InputError, match="one algorithm and version"):
        frames.hamming(d, p)
    with pytest.raises(InputError, match="one algorithm and version"):
        frames.find_duplicates([d, p], 3)


@given(st.integers(1, 40), st.integers(1, 33), st.integers(0, 2**32))
def test_distances_and_pairs_are_those_counted_bit_by_bit(count, size, seed):
    rows = np.random.default_rng(seed).integers(0, 256, (count, size), np.uint8)
    rows[count // 2] = rows[0]
    bits = np.unpackbits(rows, axis=1).astype(int)
    expected = np.abs(bits[:, None] - bits[None]).sum(axis=2)
    assert np.array_equal(frames.hamming(rows[0], rows).ravel(), expected[0])
    assert np.array_equal(frames.hamming(rows, rows[::-1]), np.diag(expected[:, ::-1]))
    limit = int(np.median(expected))
    pairs = [[i, j] for i, j in itertools.combinations(range(count), 2) if expected[i, j] <= limit]
    assert frames.find_duplicates(rows, limit).tolist() == pairs


def test_hashes_that_do_not_match_are_refused():
    with pytest.raises(InputError, match="one length"):
        frames.hamming(np.zeros(8, np.uint8), np.zeros(32, np.uint8))
    with pytest.raises(InputError, match="must be PictureHash"):
        frames.hamming(np.zeros(8), np.zeros(8))
    with pytest.raises(InputError, match="max_distance must be at least 0"):
        frames.find_duplicates(np.zeros((2, 8), np.uint8), -1)
    assert frames.find_duplicates([], 3).shape == (0, 2)


@given(st.binary(max_size=3000))
def test_hashes_of_bytes_are_those_of_the_reference_libraries(data):
    assert frames.xxh3_128(data) == xxhash.xxh3_128_digest(data)
    assert frames.sha256(memoryview(data)) == hashlib.sha256(data).digest()
