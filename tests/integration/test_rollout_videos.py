"""Videos as rollouts: exact frames of whole ones, and no score on those that are cut."""

from __future__ import annotations

import io
import itertools
import os
import shutil

import numpy as np
import pytest
from PIL import Image

import corpus
from framejudge.errors import VideoError
from framejudge.frames import Video
from framejudge.frames.rollout import collect_frames

if "FRAMEJUDGE_CI" not in os.environ:
    pytest.importorskip("av", reason="needs the extra [video]")
import av
from av.stream import Disposition

READ = {"avi", "mov", "mp4", "mpeg", "mpg", "webm"}


def videos(verdict):
    return [
        name
        for name, entry in corpus.videos().items()
        if entry["verdict"] == verdict and name.rsplit(".", 1)[-1].lower() in READ
    ]


@pytest.mark.parametrize("name", videos("must_decode"))
def test_a_whole_video_gives_its_first_and_last_frame(tmp_path, name):
    file = tmp_path / name.replace("/", "_")
    shutil.copyfile(corpus.path_of(name), file)
    found = collect_frames(file, frame_selection="sequence", max_frames=2)
    with Video(file) as video:
        whole = list(video.frames(max_side_px=768))
    picked = [whole[0], whole[-1]] if len(whole) > 1 else whole
    assert [frame.evidence.source_index for frame in found.frames] == [f.index for f in picked]
    assert {frame.evidence.source_count for frame in found.frames} == {len(whole)}
    for frame, expected in zip(found.frames, picked, strict=True):
        assert frame.evidence.source_timestamp_s == expected.pts_s
        seen = np.asarray(Image.open(io.BytesIO(frame.data)))
        assert np.array_equal(seen, expected.pixels)


@pytest.mark.parametrize("name", videos("must_error"))
def test_what_is_no_video_is_one_error_that_names_it(tmp_path, name):
    file = tmp_path / name.replace("/", "_")
    shutil.copyfile(corpus.path_of(name), file)
    with pytest.raises(VideoError) as caught:
        collect_frames(file)
    assert str(file) in str(caught.value)


def written(path, codec, n_frames=60, *, first_pts=0, step=None):
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=20)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        rng = np.random.default_rng(1)
        pts = first_pts
        for number in range(n_frames):
            picture = rng.integers(0, 256, (48, 64, 3), np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts = pts
            pts += 1 if step is None else step(number)
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return path


@pytest.mark.parametrize(("codec", "suffix"), [("libvpx", "webm"), ("libx264", "mp4")])
def test_a_video_that_is_cut_is_not_judged_as_if_it_ended_there(tmp_path, codec, suffix):
    whole = written(tmp_path / f"whole.{suffix}", codec)
    assert collect_frames(whole).frames[-1].evidence.source_index == 59
    data = whole.read_bytes()
    cut = tmp_path / f"cut.{suffix}"
    cut.write_bytes(data[: int(len(data) * 0.6)])
    with pytest.raises(VideoError, match=rf"cut\.{suffix}"):
        collect_frames(cut)


def test_times_that_vary_and_begin_below_zero_are_kept(tmp_path):
    file = written(
        tmp_path / "vfr.mp4", "libx264", 20, first_pts=-3, step=lambda number: 1 + number % 3
    )
    frames = collect_frames(file, frame_selection="sequence", max_frames=20).frames
    times = [frame.evidence.source_timestamp_s for frame in frames]
    assert times == sorted(set(times))
    assert len({round(b - a, 3) for a, b in itertools.pairwise(times)}) > 1


def test_a_long_video_is_sampled_to_its_end_without_decoding_it_all(tmp_path):
    file = written(tmp_path / "long.mp4", "libx264", 2000)
    frames = collect_frames(file, frame_selection="sequence", max_frames=3).frames
    assert [frame.evidence.source_index for frame in frames] == [0, 1000, 1999]


@pytest.mark.parametrize("cover", [False, True])
def test_a_file_with_sound_alone_or_a_cover_picture_is_named(tmp_path, cover):
    file = tmp_path / "sound.mp4"
    with av.open(str(file), "w") as container:
        stream = container.add_stream("aac", rate=44100)
        if cover:
            picture = container.add_stream("mjpeg", rate=1)
            picture.width, picture.height, picture.pix_fmt = 64, 48, "yuvj420p"
            picture.disposition = Disposition.attached_pic
            gray = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 90, np.uint8), format="rgb24")
            for packet in picture.encode(gray.reformat(format="yuvj420p")) + picture.encode():
                container.mux(packet)
        for _ in range(10):
            sound = av.AudioFrame.from_ndarray(
                np.zeros((1, 1024), np.float32), format="fltp", layout="mono"
            )
            sound.sample_rate = 44100
            for packet in stream.encode(sound):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    for selection in ("keyframes", "final"):
        with pytest.raises(VideoError, match=r"sound\.mp4: holds no video") as caught:
            collect_frames(file, frame_selection=selection)
        assert ("cover picture" in str(caught.value)) is cover
