"""Episodes in .npy and .npz files: mapped, typed by their shape, refused by name."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from framejudge.errors import DataError, InputError
from framejudge.frames import open_episode
from framejudge.frames.episode import Episode

FRAMES = np.random.default_rng(0).integers(0, 256, (6, 8, 10, 3), dtype=np.uint8)
TIMES = np.array([0.0, 0.1, 0.25, 0.3, 0.6, 0.61])


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "episode.npz"
    np.savez(path, state=np.zeros((6, 7)), rgb=FRAMES, t=TIMES)
    return path


def mapped(array):
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def test_an_npy_file_is_mapped_not_read(tmp_path):
    np.save(tmp_path / "a.npy", FRAMES)
    with open_episode(tmp_path / "a.npy") as episode:
        assert len(episode) == 6
        assert np.array_equal(episode[-1], FRAMES[5])
        assert mapped(episode[0])


def test_an_array_stored_in_an_archive_is_mapped_where_it_lies(archive):
    with open_episode(archive) as episode:
        assert mapped(episode[2])
        assert all(np.array_equal(f.pixels, FRAMES[f.index]) for f in episode.frames())


def test_a_compressed_array_is_unpacked(tmp_path):
    np.savez_compressed(tmp_path / "c.npz", rgb=FRAMES)
    with open_episode(tmp_path / "c.npz") as episode:
        assert np.array_equal(episode[3], FRAMES[3])


def test_a_compressed_array_beyond_the_limit_is_refused_before_unpacking(tmp_path):
    np.savez_compressed(tmp_path / "c.npz", rgb=np.zeros((100, 64, 64, 3), np.uint8))
    with pytest.raises(DataError, match=r"unpacks to 1228928 bytes, more than the limit of 1000"):
        open_episode(tmp_path / "c.npz", max_bytes=1000)


def test_planes_before_rows_and_single_channels_are_told_by_shape(tmp_path):
    np.save(tmp_path / "chw.npy", FRAMES.transpose(0, 3, 1, 2))
    np.save(tmp_path / "gray.npy", FRAMES[..., 0])
    assert np.array_equal(open_episode(tmp_path / "chw.npy")[1], FRAMES[1])
    assert np.array_equal(open_episode(tmp_path / "gray.npy")[1], FRAMES[1, ..., :1])


def test_frames_are_picked_by_time(archive):
    with open_episode(archive, times_key="t") as episode:
        assert [f.index for f in episode.frames(times_s=[0.26, 0.0, 9.0])] == [2, 0, 5]
        # 0, then the first at or after 0.2, 0.4: 0.25 and 0.6; 0.61 is before 0.8.
        assert [f.index for f in episode.frames(every_s=0.2)] == [0, 2, 4]
        assert [f.pts_s for f in episode.frames(indices=[4, 1])] == [0.6, 0.1]


def test_frames_come_at_the_size_asked_for(archive):
    with open_episode(archive) as episode:
        frame = next(episode.frames(size=(4, 5)))
    assert frame.pixels.shape == (4, 5, 3)
    # 2 x 2 means of the first frame, rounded once per axis.
    means = FRAMES[0].reshape(4, 2, 5, 2, 3).mean(axis=(1, 3))
    assert np.abs(frame.pixels - means).max() <= 1.0


def test_the_arrays_of_an_archive_are_listed_where_the_choice_is_open(tmp_path):
    np.savez(tmp_path / "two.npz", left=FRAMES, right=FRAMES)
    with pytest.raises(DataError, match=r"2 of its arrays can be frames \(\['left', 'right'\]"):
        open_episode(tmp_path / "two.npz")
    assert len(open_episode(tmp_path / "two.npz", key="right")) == 6
    with pytest.raises(DataError, match=r"has arrays \['left', 'right'\], not 'up'"):
        open_episode(tmp_path / "two.npz", key="up")


def test_pickled_objects_are_never_loaded(tmp_path):
    np.savez(tmp_path / "o.npz", rgb=np.array([{"a": 1}], dtype=object))
    np.save(tmp_path / "o.npy", np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError, match="pickled objects"):
        open_episode(tmp_path / "o.npz", key="rgb")
    with pytest.raises(DataError, match="can't be read as an array"):
        open_episode(tmp_path / "o.npy")


def test_a_file_that_is_cut_off_is_an_error(tmp_path, archive):
    np.save(tmp_path / "a.npy", FRAMES)
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(whole[:-100])
    with pytest.raises(DataError, match="can't be read as an array"):
        open_episode(tmp_path / "a.npy")
    archive.write_bytes(archive.read_bytes()[:-100])
    with pytest.raises(DataError, match="can't be read as an array"):
        open_episode(archive)


def test_an_array_that_claims_the_bytes_of_the_next_is_an_error(tmp_path):
    header = io.BytesIO()
    claim = {"descr": "|u1", "fortran_order": False, "shape": (9, 64, 64, 3)}
    np.lib.format.write_array_header_1_0(header, claim)
    with zipfile.ZipFile(tmp_path / "lie.npz", "w") as file:
        file.writestr("rgb.npy", header.getvalue() + bytes(100))
        file.writestr("more", bytes(200_000))
    with pytest.raises(DataError, match=r"claims \(9, 64, 64, 3\), more than it holds"):
        open_episode(tmp_path / "lie.npz")


@pytest.mark.parametrize("array", [np.zeros((2, 4, 4, 3), np.float32), np.zeros((4, 4), np.uint8)])
def test_other_dtypes_and_shapes_are_refused(array):
    with pytest.raises(DataError, match=r"frames are \(T, H, W\)"):
        Episode(array, name="x")


def test_times_that_run_backwards_are_refused():
    with pytest.raises(DataError, match="never run backwards"):
        Episode(FRAMES, times_s=TIMES[::-1], name="x")


def test_an_episode_without_times_says_so(archive):
    with open_episode(archive) as episode, pytest.raises(InputError, match="has no times"):
        episode.frames(times_s=[0.1])


def test_a_number_beyond_the_last_frame_is_refused(archive):
    with open_episode(archive) as episode, pytest.raises(InputError, match="has frames 0 to 5"):
        episode.frames(indices=[6])
