"""What holds for any picture: of its hashes and of turning it."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from framejudge import frames

# A tenth of the 64 bits; PDQ's own document counts pictures as the same up to 31 of 256. Pictures
# that have nothing to do with each other are half of the bits apart.
SAME = {"dhash": 6, "phash": 6, "pdq": 31}


@st.composite
def photos(draw):
    """A 1/f spectrum, as photos have, in any proportion; PDQ means little below 200 pixels."""
    height, width = draw(st.integers(400, 700)), draw(st.integers(400, 700))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :])
    frequency[0, 0] = 1.0
    phases = np.exp(2j * np.pi * rng.random((3, *frequency.shape)))
    planes = np.fft.irfft2(phases / frequency**1.5, (height, width))
    planes /= planes.std(axis=(1, 2), keepdims=True)
    return np.clip(128 + 40 * planes.transpose(1, 2, 0), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("name", SAME)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(picture=photos(), scale=st.floats(0.5, 2), light=st.integers(-10, 10))
def test_a_hash_survives_re_encoding_scaling_and_light(name, picture, scale, light):
    make = getattr(frames, name)
    height, width = (max(round(side * scale), 64) for side in picture.shape[:2])
    versions = [
        frames.encode_jpeg(picture, quality=50),
        frames.encode_png(picture),
        frames.resize(picture, size=(height, width), filter="bicubic"),
        np.clip(picture.astype(int) + light, 0, 255).astype(np.uint8),
    ]
    first = make(picture)
    assert [first - make(version) <= SAME[name] for version in versions] == 4 * [True]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 60),
    st.integers(1, 8),
    st.sampled_from(["rgb", "gray", "rgba"]),
    st.integers(0, 2**32 - 1),
)
def test_any_orientation_is_pillows_transpose(height, width, orientation, mode, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    exif = Image.Exif()
    exif[0x112] = orientation
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", exif=exif)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(buffer.getvalue()))).convert("RGB")
    got, info = frames.decode(buffer.getvalue(), mode=mode, return_info=True)
    assert info.orientation == orientation
    expected = np.asarray(upright.convert("RGBA" if mode == "rgba" else "RGB"))
    if mode == "gray":
        assert np.array_equal(got[..., 0], np.asarray(upright.convert("L")))
    else:
        assert np.array_equal(got, expected)
    plain = frames.decode(buffer.getvalue(), orient=False)
    assert np.array_equal(plain, pixels)
