"""Errors are one tree, and travel between processes."""

from __future__ import annotations

import pickle

import pytest

from framejudge import errors


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_a_framejudge_error_and_says_so_in_the_tree(name):
    assert issubclass(getattr(errors, name), errors.FramejudgeError)
    assert name in errors.__doc__


def test_a_missing_extra_survives_pickling():
    error = pickle.loads(pickle.dumps(errors.MissingExtraError("reading Parquet", extra="parquet")))
    assert "framejudge[parquet]" in str(error)
    assert error.extra == "parquet"
