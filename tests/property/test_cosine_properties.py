"""What holds for every input: range, symmetry, scale, agreement of the three functions."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from framejudge import cosine

# See tests/unit/test_cosine.py for where this comes from.
UNIT = 2.0**-24

any_float32 = st.floats(width=32, allow_nan=True, allow_infinity=True)


@st.composite
def two_matrices(draw, elements=any_float32):
    width = draw(st.integers(1, 70))
    n, m = draw(st.integers(0, 20)), draw(st.integers(0, 40))
    matrix = lambda rows: hnp.arrays(np.float32, (rows, width), elements=elements)  # noqa: E731
    return draw(matrix(n)), draw(matrix(m))


def has_direction(rows: np.ndarray) -> np.ndarray:
    return np.isfinite(rows).all(axis=1) & (rows != 0).any(axis=1)


@given(two_matrices())
def test_a_cosine_is_in_range_or_nan_and_nan_only_without_direction(pair):
    a, b = pair
    matrix = cosine.matrix(a, b)
    expected = has_direction(a)[:, None] & has_direction(b)[None, :]
    assert (np.isfinite(matrix) == expected).all()
    assert (np.abs(matrix[expected]) <= 1).all()


@given(two_matrices())
def test_the_three_functions_agree(pair):
    a, b = pair
    matrix = cosine.matrix(a, b)
    allowed = 2 * (2 * a.shape[1] + 8) * UNIT
    count = min(len(a), len(b))
    paired = cosine.paired(a[:count], b[:count])
    diagonal = np.diag(matrix[:count, :count])
    assert np.allclose(paired, diagonal, rtol=0, atol=allowed, equal_nan=True)
    k = max(1, len(b))
    scores, indices = cosine.top_k(a, b, k)
    for row, ranked, chosen in zip(matrix, scores, indices, strict=True):
        valid = chosen >= 0
        assert valid.sum() == np.isfinite(row).sum()
        assert sorted(chosen[valid].tolist()) == np.flatnonzero(np.isfinite(row)).tolist()
        assert np.allclose(ranked[valid], row[chosen[valid]], rtol=0, atol=allowed)
        assert (np.diff(ranked[valid]) <= 0).all()


@given(two_matrices(), st.sampled_from(["float32", "float64"]))
def test_order_of_arguments_does_not_matter(pair, accumulate):
    a, b = pair
    one = cosine.matrix(a, b, accumulate=accumulate)
    other = cosine.matrix(b, a, accumulate=accumulate).T
    allowed = 2 * (2 * a.shape[1] + 8) * UNIT
    assert np.allclose(one, other, rtol=0, atol=allowed, equal_nan=True)


moderate = st.floats(-8, 8, width=32).map(lambda x: float(np.float32(np.round(x, 2))))


@given(two_matrices(moderate), st.integers(-30, 30))
def test_a_power_of_two_as_scale_changes_nothing(pair, exponent):
    a, b = pair
    scaled = (a * np.float32(2.0**exponent)).astype(np.float32)
    assert np.array_equal(cosine.matrix(a, b), cosine.matrix(scaled, b), equal_nan=True)


@settings(max_examples=50)
@given(hnp.arrays(np.uint16, st.tuples(st.integers(1, 6), st.integers(1, 40))))
def test_any_16_bits_are_read_as_numpy_reads_them(bits):
    half = bits.view(np.float16)
    as_float32 = half.astype(np.float32)
    allowed = 1.01 * UNIT * 2
    one = cosine.matrix(half, half, accumulate="float64")
    other = cosine.matrix(as_float32, as_float32, accumulate="float64")
    assert np.allclose(one, other, rtol=0, atol=allowed, equal_nan=True)
    brain = (bits.astype(np.uint32) << 16).view(np.float32)
    one = cosine.matrix(bits, bits, accumulate="float64")
    other = cosine.matrix(brain, brain, accumulate="float64")
    assert np.allclose(one, other, rtol=0, atol=allowed, equal_nan=True)
