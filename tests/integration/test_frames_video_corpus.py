"""Every video of the corpus has the outcome that its table expects."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

import corpus
from framejudge.errors import VideoError
from framejudge.frames import Video

if "FRAMEJUDGE_CI" not in os.environ:
    pytest.importorskip("av", reason="needs the extra [video]")


EXPECTED = corpus.videos()
DECODED = [name for name, entry in EXPECTED.items() if entry["verdict"] == "must_decode"]
DAMAGED = [name for name, entry in EXPECTED.items() if entry["verdict"] == "decode_flag_damage"]
REFUSED = [name for name, entry in EXPECTED.items() if entry["verdict"] == "must_error"]
EITHER = [name for name, entry in EXPECTED.items() if entry["verdict"] == "either"]


def luma_sha(frame):
    return hashlib.sha256(np.ascontiguousarray(frame.planes[0]).tobytes()).hexdigest()


def check_frames(found, facts):
    assert len(found) == facts["frames"]
    for frame, pts_s in zip(found, facts["first_pts"], strict=False):
        assert frame.pts_s == (None if pts_s is None else pytest.approx(pts_s, abs=1e-5))
    sizes = sorted(list(frame.size[::-1]) for frame in (found[0], found[-1]))
    if facts["rotation_ccw"] % 180 == 0:
        assert all(size in facts["sizes"] for size in sizes)
    else:
        assert all(size[::-1] in facts["sizes"] for size in sizes)
    assert found[0].rotation == facts["rotation_ccw"] % 360
    if found[0].planes:  # not Motion JPEG, whose pixels are our own decoder's
        assert luma_sha(found[0]) == facts["first_luma_sha256"]
        assert luma_sha(found[-1]) == facts["last_luma_sha256"]


@pytest.mark.parametrize("name", DECODED)
def test_a_whole_video_gives_its_frames(name):
    with Video(corpus.path_of(name)) as video:
        found = list(video.frames())
        check_frames(found, EXPECTED[name]["pyav"])
        assert not any(frame.is_corrupt for frame in found)
        assert video.damage == ()
        assert all(frame.pixels.shape == (*frame.size, 3) for frame in (found[0], found[-1]))


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_video_gives_what_is_there_and_says_so(name):
    facts = EXPECTED[name]["pyav"]
    with Video(corpus.path_of(name)) as video:
        found = list(video.frames())
        check_frames(found, facts)
        assert video.damage
        assert sum(frame.is_corrupt for frame in found) >= facts["corrupt_flagged"]


@pytest.mark.parametrize("name", DECODED + DAMAGED)
def test_frames_by_number_are_those_of_reading_through(name):
    with Video(corpus.path_of(name)) as video:
        through = {frame.index: frame for frame in video.frames(max_side_px=64)}
        pixels = {index: frame.pixels for index, frame in through.items()}
        order = sorted(through, key=lambda index: (index * 7 % 11, index))
        for index, frame in zip(order, video.frames(indices=order, max_side_px=64), strict=True):
            assert frame.index == index
            assert frame.pts_s == through[index].pts_s
            assert frame.is_corrupt == through[index].is_corrupt
            assert np.array_equal(frame.pixels, pixels[index])


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_video_is_refused_by_name(name):
    with pytest.raises(VideoError, match=Path(name).name):
        list(Video(corpus.path_of(name)).frames())


@pytest.mark.parametrize("name", EITHER)
def test_a_multipart_stream_that_ffmpeg_does_not_know_is_read_as_jpegs(name):
    with Video(corpus.path_of(name)) as video:
        found = list(video.frames())
        assert len(found) == 8
        assert not any(frame.is_corrupt for frame in found)


@pytest.mark.skipif(not EXPECTED, reason="no corpus here; set FRAMEJUDGE_TEST_DATA")
def test_a_turned_video_shows_what_the_upright_one_shows():
    # The same scene, stored upside down with a display matrix that turns it.
    with Video(corpus.path_of("gen_video/rotate180.mp4")) as video:
        frame = next(video.frames())
    stored = frame.planes[0].astype(np.float64)
    upright = np.clip((stored[::-1, ::-1] - 16) * 255 / 219, 0, 255)
    gray = frame.to_array(mode="gray")[..., 0]
    assert np.abs(gray - upright).max() <= 0.52
