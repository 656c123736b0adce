"""Every picture of the corpus has the outcome that its table expects."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from framejudge import frames
from framejudge.errors import ImageError

_SPEC = importlib.util.spec_from_file_location(
    "framejudge_corpus", Path(__file__).parents[1] / "corpus.py"
)
corpus = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(corpus)

EXPECTED = corpus.expectations()


def sha(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def exact_hashes(entry):
    """The hashes that right pixels may have; where one is marked as a trap, not that one."""
    keys = ["rgb8_shift_sha256", "rgb8_round_sha256"]
    if "trap" not in entry or not any(key in entry for key in keys):
        keys.append("rgb_sha256")
    return {entry[key] for key in keys if key in entry}


def decode(name, **options):
    entry = EXPECTED[name]
    mode = "rgba" if entry.get("alpha") else "rgb"
    return frames.decode(corpus.path_of(name), mode=mode, return_info=True, **options)


def box_means(array):
    """Means of 4 x 4 equal parts, edges by weight, as Pillow's BOX has them."""
    return frames.resize(np.ascontiguousarray(array), size=(4, 4), filter="area")


def test_the_corpus_is_there_in_ci():
    assert EXPECTED or os.environ.get("FRAMEJUDGE_CI") != "1"


@pytest.mark.parametrize("name", corpus.names("must_decode"))
def test_a_whole_picture_decodes_to_its_pixels(name):
    entry = EXPECTED[name]
    array, info = decode(name)
    assert [info.width, info.height] == entry["size"]
    assert array.shape[:2] == (info.height, info.width)
    assert not info.damaged
    rgb = array[..., :3]
    if entry["compare"] == "size_only":
        return
    if sha(rgb) in exact_hashes(entry):
        return
    if entry["compare"] != "lossy":
        # A reference value marked as a trap must not be met; nothing else is known of the pixels.
        assert "trap" in entry, "other pixels"
        return
    # A conversion or a filter that may differ by `mean_abs` on average moves no mean by more.
    tolerance = entry["tolerance"]["mean_abs"]
    assert np.abs(rgb.reshape(-1, 3).mean(axis=0) - entry["mean_rgb"]).max() <= tolerance
    if min(array.shape[:2]) >= 4:
        # Each of the 16 parts may be off by as much, and both sides are rounded to whole levels.
        means = np.abs(box_means(rgb).astype(int) - np.asarray(entry["box4x4_rgb"]))
        assert means.mean() <= tolerance + 1


@pytest.mark.parametrize("name", corpus.names("must_error"))
def test_what_is_no_picture_is_refused_quickly_and_by_name(name):
    data = corpus.path_of(name).read_bytes()
    start = time.process_time()
    with pytest.raises(ImageError, match=r"\w"):
        frames.decode(data)
    assert time.process_time() - start < 0.2


@pytest.mark.parametrize("name", corpus.names("error_or_partial"))
def test_lost_data_is_an_error_or_a_partial_picture_that_says_so(name):
    with pytest.raises(ImageError):
        frames.decode(corpus.path_of(name))
    array, info = decode(name, partial=True)
    assert [array.shape[1], array.shape[0]] == EXPECTED[name]["size"]
    assert info.damaged
    assert info.damage


def test_a_picture_that_lacks_only_its_end_has_all_its_pixels():
    name = "gen_truncated/baseline_no_eoi.jpg"
    path = corpus.path_of(name)
    array, info = frames.decode(path, partial=True, return_info=True)
    assert sha(array) == EXPECTED[name]["rgb_sha256"]
    assert info.rows_read == info.height
    assert frames.probe(path).damaged


@pytest.mark.parametrize("name", corpus.names("decode_flag_damage"))
def test_damage_is_visible(name):
    try:
        array, info = decode(name)
    except ImageError as error:
        assert str(error)  # noqa: PT017  # either outcome shows the damage
        array, info = decode(name, partial=True)
        assert info.damaged
    assert info.damaged or info.warnings
    assert [array.shape[1], array.shape[0]] == EXPECTED[name]["size"]


@pytest.mark.parametrize("name", corpus.names("either", "may_error", "optional_format"))
def test_where_decoders_disagree_the_outcome_is_a_picture_or_an_image_error(name):
    try:
        array, info = decode(name)
    except ImageError as error:
        assert str(error)  # noqa: PT017  # nothing else may come out
    else:
        assert array.shape[:2] == (info.height, info.width)


@pytest.mark.parametrize("name", list(EXPECTED))
def test_probe_agrees_with_decode(name):
    path = corpus.path_of(name)
    try:
        _, info = frames.decode(path, partial=True, return_info=True)
    except ImageError:
        return
    probed = frames.probe(path)
    assert (probed.format, probed.width, probed.height) == (info.format, info.width, info.height)
    assert probed.orientation == info.orientation
    if probed.damaged:
        assert info.damaged or info.warnings


def test_a_batch_of_the_whole_corpus_keeps_its_order():
    names = list(EXPECTED)
    if not names:
        pytest.skip("no corpus here; set FRAMEJUDGE_TEST_DATA")
    paths = [corpus.path_of(name) for name in names]
    arrays, infos = frames.decode_batch(paths, on_error="record", return_info=True)
    assert len(arrays) == len(infos) == len(names)
    for path, array, info in zip(paths, arrays, infos, strict=True):
        try:
            alone = frames.decode(path)
        except ImageError as error:
            assert type(array) is type(error)  # noqa: PT017
            assert info.error is array
        else:
            assert np.array_equal(array, alone)


def test_nothing_is_written_to_standard_error(capfd):
    for name in EXPECTED:
        try:
            frames.decode(corpus.path_of(name), partial=True)
        except ImageError:
            continue
    assert capfd.readouterr() == ("", "")
    assert "PIL" in sys.modules or not EXPECTED  # Pillow had its turn too, silently


HASHED = [name for name, entry in EXPECTED.items() if entry.get("hashes", {}).get("pdq")]


@pytest.mark.parametrize("name", HASHED)
def test_hashes_are_those_of_the_reference_libraries(name):
    expected = EXPECTED[name]["hashes"]
    picture = frames.decode(corpus.path_of(name))
    assert str(frames.dhash(picture)) == expected["imagehash_dhash"]
    assert str(frames.phash(picture)) == expected["imagehash_phash"]
    reference = np.frombuffer(bytes.fromhex(expected["pdq"]), np.uint8)
    differ = np.frombuffer(frames.pdq(picture).digest, np.uint8) ^ reference
    assert np.unpackbits(differ).sum() <= 10
