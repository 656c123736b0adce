"""Odd, hostile and broken pictures as the frames of a rollout."""

from __future__ import annotations

import io
import shutil

import numpy as np
import pytest
from PIL import Image

import corpus
import framejudge as fj
import judge_server
from framejudge.errors import ImageError, IncompleteLoopError
from framejudge.frames.rollout import collect_frames

READ = {".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".webp"}


def suffix_of(name):
    return "." + name.rsplit(".", 1)[-1].lower()


BROKEN = [name for name in corpus.names("must_error") if suffix_of(name) in READ]


@pytest.mark.parametrize("name", BROKEN)
def test_a_picture_that_can_not_be_decoded_is_one_error_that_names_it(tmp_path, name):
    file = tmp_path / f"frame_0{suffix_of(name)}"
    shutil.copyfile(corpus.path_of(name), file)
    with pytest.raises(ImageError) as caught:
        collect_frames(tmp_path)
    assert str(file) in str(caught.value)


def test_a_loop_names_each_with_its_rollout_and_judges_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "cache"))
    for number, name in enumerate(BROKEN):
        folder = tmp_path / "in" / f"broken_{number}"
        folder.mkdir(parents=True)
        shutil.copyfile(corpus.path_of(name), folder / f"frame_0{suffix_of(name)}")
    (tmp_path / "in" / "whole").mkdir(parents=True)
    (tmp_path / "in" / "whole" / "a.png").write_bytes(saved(Image.new("RGB", (4, 4))))
    with judge_server.JudgeServer() as server, pytest.raises(IncompleteLoopError) as caught:
        fj.loop(
            str(tmp_path / "in"),
            str(tmp_path / "out"),
            endpoint_url=server.url,
            model="judge",
            task="t",
            concurrency=4,
        )
    assert caught.value.n_scored == 1
    assert len(server.requests) == 1
    unscored = caught.value.unscored
    assert list(unscored) == [f"broken_{number}" for number in range(len(BROKEN))]
    for number, name in enumerate(BROKEN):
        file = tmp_path / "in" / f"broken_{number}" / f"frame_0{suffix_of(name)}"
        assert unscored[f"broken_{number}"].startswith(str(file))


def saved(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


ODD = {
    "1x1.png": (saved(Image.new("RGB", (1, 1), (9, 8, 7))), (1, 1), (9, 8, 7)),
    "palette.png": (saved(Image.new("P", (4, 4), 0)), (4, 4), (0, 0, 0)),
    "gray.png": (saved(Image.new("L", (4, 4), 77)), (4, 4), (77, 77, 77)),
    "cmyk.jpg": (
        saved(Image.new("CMYK", (16, 16), (0, 0, 0, 0)), "JPEG", quality=100),
        (16, 16),
        (255, 255, 255),
    ),
    "half.png": (saved(Image.new("RGBA", (4, 4), (200, 0, 0, 128))), (4, 4), (227, 127, 127)),
    "panorama.png": (saved(Image.new("RGB", (20_000, 10), (5, 5, 5))), (768, 1), (5, 5, 5)),
    "moving.webp": (
        saved(
            Image.new("RGB", (8, 8), (250, 0, 0)),
            "WEBP",
            lossless=True,
            save_all=True,
            append_images=[Image.new("RGB", (8, 8), (0, 250, 0))],
        ),
        (8, 8),
        (250, 0, 0),
    ),
    "png_inside.jpg": (saved(Image.new("RGB", (4, 4), (1, 2, 3))), (4, 4), (1, 2, 3)),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_picture_is_sent_as_it_looks(tmp_path, name):
    content, size, colour = ODD[name]
    (tmp_path / name).write_bytes(content)
    (frame,) = collect_frames(tmp_path).frames
    sent = Image.open(io.BytesIO(frame.data))
    assert sent.mode == "RGB"
    assert sent.size == size
    assert np.abs(np.asarray(sent).astype(int) - colour).max() <= 1
    assert "icc_profile" not in sent.info
    assert "exif" not in sent.info


def test_a_loop_of_links_ends(tmp_path):
    (tmp_path / "a.png").write_bytes(saved(Image.new("RGB", (4, 4))))
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    assert len(collect_frames(tmp_path).frames) == 1
