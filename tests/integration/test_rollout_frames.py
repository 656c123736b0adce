"""How a rollout's frames are found, chosen and made ready."""

from __future__ import annotations

import hashlib
import io
import os

import numpy as np
import pytest
from PIL import Image

from framejudge import frames
from framejudge.errors import (
    DataError,
    ImageError,
)
from framejudge.frames.rollout import collect_frames
from rollout_files import make_rollout, picture


def test_pictures_come_in_natural_order_without_what_is_hidden(tmp_path):
    for name in ("frame_10.png", "frame_2.png", ".hidden.png", "wrist/frame_1.png", "ü/a\nb.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(picture(9))
    (tmp_path / ".thumbs").mkdir()
    (tmp_path / ".thumbs" / "x.png").write_bytes(picture(9))
    found = collect_frames(tmp_path, frame_selection="sequence", max_frames=9)
    labels = [frame.evidence.label for frame in found.frames]
    assert labels == ["frame_2.png", "frame_10.png", "wrist/frame_1.png", "ü/a\nb.png"]
    assert "loop" in " ".join(found.warnings)


def test_a_mixed_folder_names_what_it_leaves_out(tmp_path):
    make_rollout(tmp_path, 2)
    np.save(tmp_path / "episode.npy", np.zeros((3, 4, 4, 3), np.uint8))
    (tmp_path / "clip.mp4").write_bytes(b"")
    found = collect_frames(tmp_path)
    assert [frame.evidence.source_kind for frame in found.frames] == 2 * ["image-sequence"]
    told = " ".join(found.warnings)
    assert "episode.npy" in told
    assert "clip.mp4" in told


def saved(image, **more):
    buffer = io.BytesIO()
    image.save(buffer, more.pop("format", "PNG"), **more)
    return buffer.getvalue()


def exif(orientation):
    found = Image.Exif()
    found[0x112] = orientation
    return found


def one(tmp_path, content, **more):
    (tmp_path / "a.png").write_bytes(content)
    (frame,) = collect_frames(tmp_path, **more).frames
    return frame, np.asarray(Image.open(io.BytesIO(frame.data)))


def test_a_frame_is_upright_over_white_and_small_and_its_hashes_are_of_what_is_sent(tmp_path):
    turned = Image.fromarray(np.zeros((20, 30, 3), np.uint8))
    assert one(tmp_path, saved(turned, exif=exif(6)))[1].shape == (30, 20, 3)
    clear = Image.new("RGBA", (8, 8), (255, 0, 0, 0))
    assert (one(tmp_path, saved(clear))[1] == 255).all()
    deep = Image.fromarray(np.full((8, 8), 40_000, np.uint16))
    assert (one(tmp_path, saved(deep))[1] == 40_000 >> 8).all()
    large = Image.new("RGB", (2000, 1000), (1, 2, 3))
    frame, seen = one(tmp_path, saved(large))
    assert seen.shape == (384, 768, 3)
    assert (frame.evidence.width, frame.evidence.height) == (768, 384)
    assert frame.evidence.sha256 == hashlib.sha256(frame.data).hexdigest()
    assert frame.evidence.decoded_rgb_sha256 == hashlib.sha256(seen.tobytes()).hexdigest()
    assert frame.evidence.byte_count == len(frame.data)
    jpeg, _ = one(tmp_path, saved(large), frame_format="jpeg")
    assert jpeg.evidence.media_type == "image/jpeg"
    pixels = frames.decode(jpeg.data)
    assert jpeg.evidence.decoded_rgb_sha256 == hashlib.sha256(pixels.tobytes()).hexdigest()


def test_an_episode_is_scaled_as_a_whole(tmp_path):
    bright = np.zeros((3, 8, 8, 3), np.float32)
    bright[0], bright[2] = 200, 1
    np.save(tmp_path / "episode.npy", bright)
    found = collect_frames(tmp_path, frame_selection="sequence").frames
    levels = [np.asarray(Image.open(io.BytesIO(frame.data))).max() for frame in found]
    assert levels == [200, 0, 1]  # the dark frame stays dark
    assert [frame.evidence.label for frame in found] == [f"episode.npy:{k}" for k in range(3)]
    np.save(tmp_path / "episode.npy", bright / 200)
    found = collect_frames(tmp_path, frame_selection="sequence").frames
    levels = [np.asarray(Image.open(io.BytesIO(frame.data))).max() for frame in found]
    assert levels == [255, 0, 1]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((0, 8, 8, 3), np.uint8), r"got \(0, 8, 8, 3\)"),
        (np.zeros((5, 3, 8, 8), np.uint8), r"\(N, H, W, 3\)"),
        (np.zeros((8, 8, 3), np.uint8), r"\(N, H, W, 3\)"),
        (np.full((2, 8, 8, 3), np.nan, np.float32), "NaN"),
        (np.full((2, 8, 8, 3), 300, np.int32), "levels from 300"),
        (np.array([{"a": 1}], dtype=object), "can't be read"),
    ],
)
def test_an_array_that_is_no_frames_is_named(tmp_path, array, message):
    np.save(tmp_path / "episode.npy", array, allow_pickle=True)
    with pytest.raises(DataError, match=message) as caught:
        collect_frames(tmp_path)
    assert "episode.npy" in str(caught.value)


def test_an_archive_gives_its_workspace_view(tmp_path):
    views = {
        "wrist": np.full((2, 4, 4, 3), 1, np.uint8),
        "workspace_rgb": np.full((2, 4, 4, 3), 2, np.uint8),
        "actions": np.zeros((2, 7), np.float32),
    }
    np.savez(tmp_path / "episode.npz", **views)
    found = collect_frames(tmp_path).frames
    assert found[0].evidence.label == "episode.npz:workspace_rgb:0"


def test_a_video_gives_exact_frames_with_times(tmp_path):
    av = pytest.importorskip("av")
    with av.open(str(tmp_path / "clip.mp4"), "w") as output:
        stream = output.add_stream("libx264", rate=10)
        stream.width = stream.height = 64
        for number in range(20):
            shade = np.full((64, 64, 3), 10 * number, np.uint8)
            output.mux(stream.encode(av.VideoFrame.from_ndarray(shade, format="rgb24")))
        output.mux(stream.encode(None))
    found = collect_frames(tmp_path, frame_selection="keyframes", max_frames=4).frames
    evidence = [frame.evidence for frame in found]
    assert [one.source_index for one in evidence] == [0, 8, 18, 19]
    assert [one.source_timestamp_s for one in evidence] == pytest.approx([0, 0.8, 1.8, 1.9])
    assert {one.source_count for one in evidence} == {20}
    for frame in found:
        level = np.asarray(Image.open(io.BytesIO(frame.data))).mean()
        assert abs(level - 10 * frame.evidence.source_index) < 4


@pytest.mark.parametrize("content", [b"", b"not a picture", picture(5)[:-30]])
def test_a_picture_that_can_not_be_read_is_named(tmp_path, content):
    (tmp_path / "frame_0.png").write_bytes(content)
    with pytest.raises(ImageError, match=r"frame_0\.png"):
        collect_frames(tmp_path)


def test_an_empty_folder_says_what_is_looked_for(tmp_path):
    with pytest.raises(DataError, match=r"holds no frames; expected pictures .*\.png"):
        collect_frames(tmp_path)


def test_a_pipe_is_no_picture_and_actions_are_no_frames(tmp_path):
    os.mkfifo(tmp_path / "p.png")
    np.save(tmp_path / "actions.npy", np.zeros((5, 7), np.float32))
    np.save(tmp_path / "observation.npy", np.zeros((5, 8, 8, 3), np.uint8))
    found = collect_frames(tmp_path, frame_selection="final").frames
    assert [frame.evidence.label for frame in found] == ["observation.npy:4"]
