"""Packages that bring their own copies of the same codecs live in one process with ours."""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
import sys

import pytest

CODE = """
import importlib, io, sys
import numpy as np

DECODERS = {
    "framejudge": lambda data: importlib.import_module("framejudge.frames").decode(data),
    "cv2": lambda data: importlib.import_module("cv2").imdecode(
        np.frombuffer(data, np.uint8), importlib.import_module("cv2").IMREAD_COLOR_RGB
    ),
    "PIL": lambda data: np.asarray(
        importlib.import_module("PIL.Image").open(io.BytesIO(data)).convert("RGB")
    ),
    "av": lambda data: next(
        importlib.import_module("av").open(io.BytesIO(data), format="mjpeg").decode(video=0)
    ).to_ndarray(format="rgb24"),
}
data = sys.stdin.buffer.read()
for name in sys.argv[1:]:
    importlib.import_module(name)
pictures = {name: DECODERS[name](data) for name in sys.argv[1:] * 2}
for name, picture in pictures.items():
    # FFmpeg's own decoder rounds otherwise: a level or two of each channel on average.
    error = np.abs(picture.astype(int) - pictures["framejudge"]).mean()
    print(name, "same" if error <= (2 if name == "av" else 0) else error)
"""


@pytest.mark.parametrize("first", ["framejudge", "last"])
@pytest.mark.parametrize("others", [["cv2"], ["PIL"], ["av"], ["cv2", "PIL", "av"]])
def test_each_decodes_whichever_is_imported_first(first, others):
    for other in others:
        if importlib.util.find_spec(other) is None:
            if os.environ.get("FRAMEJUDGE_CI") == "1":
                pytest.fail(f"{other} is not installed")
            pytest.skip(f"{other} is not installed")
    import numpy as np

    from framejudge import frames

    y, x = np.mgrid[0:96, 0:128]
    smooth = np.stack([x + y, 2 * x, 255 - 2 * y], axis=-1).astype(np.uint8)
    names = ["framejudge", *others] if first == "framejudge" else [*others, "framejudge"]
    run = subprocess.run(
        [sys.executable, "-c", CODE, *names],
        input=frames.encode_jpeg(smooth),
        capture_output=True,
        check=True,
    )
    assert run.stdout.decode().split() == list(
        itertools.chain.from_iterable((name, "same") for name in names)
    )
    assert run.stderr == b""
