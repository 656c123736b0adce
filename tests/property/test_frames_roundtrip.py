"""What is encoded as PNG is decoded to the same pixels, whatever they are."""

from __future__ import annotations

import io

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from framejudge import errors, frames

CHANNELS = {"gray": 1, "rgb": 3, "rgba": 4}


@st.composite
def pictures(draw):
    """Pixels of any size and mode, random, flat or smooth, and rows that may lie apart."""
    mode = draw(st.sampled_from(sorted(CHANNELS)))
    height = draw(st.integers(1, 40))
    width = draw(st.integers(1, 140))
    shape = (height, width, CHANNELS[mode])
    kind = draw(st.sampled_from(["random", "few", "smooth"]))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    if kind == "random":
        pixels = rng.integers(0, 256, shape, np.uint8)
    elif kind == "few":
        pixels = draw(arrays.arrays(np.uint8, shape, elements=st.sampled_from([0, 1, 255])))
    else:
        pixels = np.cumsum(rng.integers(-2, 3, shape), axis=draw(st.integers(0, 1)))
        pixels = pixels.astype(np.uint8)
    return mode, (pixels[:, ::-1] if draw(st.booleans()) else pixels)


@settings(max_examples=150, deadline=None)
@given(pictures(), st.integers(0, 9))
def test_decoding_an_encoded_png_gives_the_pixels_back(picture, level):
    mode, pixels = picture
    file = frames.encode_png(pixels, level=level)
    assert np.array_equal(frames.decode(file, mode=mode), pixels)
    theirs = np.asarray(Image.open(io.BytesIO(file))).reshape(pixels.shape)
    assert np.array_equal(theirs, pixels)


@settings(max_examples=150, deadline=None)
@given(pictures(), st.data())
def test_a_damaged_png_is_refused_or_flagged(picture, data):
    mode, pixels = picture
    file = bytearray(frames.encode_png(pixels))
    at = data.draw(st.integers(8, len(file) - 1))
    file[at] ^= data.draw(st.integers(1, 255))
    try:
        got, info = frames.decode(bytes(file), mode=mode, partial=True, return_info=True)
    except errors.ImageError:
        return
    # Whatever is not flagged is whole: the CRC of each chunk covers its name and its contents.
    assert info.damaged or info.warnings or np.array_equal(got, pixels)
