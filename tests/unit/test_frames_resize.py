"""resize is Pillow 13's, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from framejudge import _core, frames
from framejudge.errors import InputError

FILTERS = {
    "area": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
side = st.integers(1, 90)


@pytest.fixture(params=_core.isa_tiers())
def tier(request):
    before = _core.build_info()["isa"]
    _core._set_isa(request.param)
    yield request.param
    _core._set_isa(before)


def picture(height, width, channels, seed, *, hard=False):
    samples = np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)
    return (samples > 127).astype(np.uint8) * 255 if hard else samples


def with_pillow(array, height, width, filter_name):
    image = Image.fromarray(array[..., 0] if array.shape[2] == 1 else array)
    return np.asarray(image.resize((width, height), FILTERS[filter_name])).reshape(
        height, width, array.shape[2]
    )


@pytest.mark.parametrize("filter_name", FILTERS)
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.usefixtures("tier")
def test_samples_are_within_a_level_of_pillows(channels, filter_name):
    # Equal, in fact, with Pillow 13; older releases filter tall pictures in the other order.
    sizes = [(54, 96, 19, 19), (96, 54, 19, 19), (9, 7, 40, 31), (60, 60, 60, 7), (1, 1, 3, 2)]
    for seed, (height, width, to_height, to_width) in enumerate(sizes):
        array = picture(height, width, channels, seed, hard=seed % 2 == 1)
        got = frames.resize(array, size=(to_height, to_width), filter=filter_name)
        assert np.array_equal(got, with_pillow(array, to_height, to_width, filter_name))


@given(side, side, side, side, st.sampled_from(sorted(FILTERS)), st.integers(0, 255))
def test_a_constant_picture_stays_constant(height, width, to_height, to_width, filter_name, level):
    got = frames.resize(
        np.full((height, width), level, np.uint8), size=(to_height, to_width), filter=filter_name
    )
    assert got.shape == (to_height, to_width)
    assert (got == level).all()


@given(side, side, st.sampled_from(sorted(FILTERS)))
def test_the_same_size_is_the_same_picture(height, width, filter_name):
    array = picture(height, width, 3, height)
    assert np.array_equal(frames.resize(array, size=(height, width), filter=filter_name), array)


def test_the_longer_side_is_limited_and_the_proportion_kept():
    array = picture(30, 60, 3, 0)
    assert frames.resize(array, max_side_px=20).shape == (10, 20, 3)
    assert frames.resize(array.transpose(1, 0, 2), max_side_px=20).shape == (20, 10, 3)
    assert np.array_equal(frames.resize(array, max_side_px=60), array)


def test_strided_arrays_are_read_as_they_look():
    array = picture(40, 50, 3, 1)
    for view in (array[::2], array[:, ::2], array[::-1], array[:, 5:30], array.transpose(1, 0, 2)):
        expected = frames.resize(np.ascontiguousarray(view), size=(9, 11))
        assert np.array_equal(frames.resize(view, size=(9, 11)), expected)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((4, 4, 2), np.uint8),
        np.zeros((4, 4), np.float32),
        np.zeros((4, 4), np.int8),
        np.zeros(4, np.uint8),
        [[1]],
    ],
)
def test_anything_but_a_picture_is_refused(array):
    with pytest.raises(InputError, match="must be a uint8 array of shape"):
        frames.resize(array, size=(2, 2))


def test_sizes_and_filters_that_are_none_are_refused():
    array = np.zeros((4, 4), np.uint8)
    with pytest.raises(InputError, match="either size"):
        frames.resize(array)
    with pytest.raises(InputError, match="either size"):
        frames.resize(array, size=(2, 2), max_side_px=2)
    with pytest.raises(InputError, match="width must be at least 1, got 0"):
        frames.resize(array, size=(2, 0))
    with pytest.raises(InputError, match="got 'nearest'"):
        frames.resize(array, size=(2, 2), filter="nearest")
    with pytest.raises(InputError, match="a picture of 0 x 4 pixels"):
        frames.resize(array[:, :0], size=(2, 2))
