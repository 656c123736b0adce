"""The frame path's microbenchmarks run and cover each step of it."""

from __future__ import annotations

from framejudge import bench


def test_the_frames_suite_measures_every_step():
    rows = bench.run("frames")
    steps = {row.name.split(",")[0] for row in rows}
    assert steps == {
        "decode", "decode_to_tensor", "resize", "to_tensor", "phash", "dhash", "encode_png",
        "xxh3_128", "sha256",
    }  # fmt: skip
    assert all(row.ns_per_call > 0 and row.rate > 0 for row in rows)
