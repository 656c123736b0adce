"""One script for each claim of the README, each against its peers in one run.

A script is a module with a docstring, whose first line is shown in the list, and a `main()`.
"""

from __future__ import annotations

SCRIPTS = {
    "blind-spots": "benchmarks.blind_spots",
    "frames-decode": "benchmarks.frames_decode",
    "frames-hash": "benchmarks.frames_hash",
    "frames-png": "benchmarks.frames_png",
    "frames-resize": "benchmarks.frames_resize",
    "frames-video": "benchmarks.frames_video",
    "gpu": "benchmarks.gpu",
    "judge": "benchmarks.judge",
    "score": "benchmarks.score_frames",
    "cosine": "benchmarks.cosine_peers",
    "encoder": "benchmarks.encoder_throughput",
    "encoder-accuracy": "benchmarks.encoder_accuracy",
    "encoder-start": "benchmarks.encoder_cold_start",
}
