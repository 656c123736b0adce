"""The main job on 400 camera frames: frames a second against fair-forge and sentence-transformers.

All use the same weights in float32 on the CPU with as many threads as the machine has CPUs, and
ours in bfloat16 too (the extra openvino).
fair-forge runs its own metric class with its own cosine scorer; sentence-transformers encodes all
texts in one batched call, and numpy does the cosines. `--repeated` takes every text twice.
"""

from __future__ import annotations

import argparse
import functools
import os
from pathlib import Path

import numpy as np

from benchmarks.camera_texts import camera_texts
from benchmarks.timing import OURS, machine, versions, write_json
from benchmarks.workers import interleave_workers, serve

FRAMES = 400
CPUS = len(os.sched_getaffinity(0))
CONTENDERS = [OURS, f"{OURS} bf16", "sentence-transformers", "fair-forge"]


def pairs(*, repeated: bool) -> list[tuple[str, str]]:
    """Return (description, ground truth) of each frame."""
    count = FRAMES if repeated else 2 * FRAMES
    texts = camera_texts(count) * (2 if repeated else 1)
    return list(zip(texts[:FRAMES], texts[FRAMES:][::-1], strict=True))


def prepare_ours(data, precision="fp32"):
    import framejudge as fj
    from framejudge.data import Batch, Dataset

    frames = [
        Batch(qa_id=str(i), assistant=a, ground_truth_assistant=b) for i, (a, b) in enumerate(data)
    ]
    camera = [Dataset(session_id="cam", assistant_id="vlm", conversation=frames)]
    # Without a cache, no round profits from the one before.
    scorer = fj.scorers.CosineSimilarity(fj.Encoder(cache=None, precision=precision))
    scorer.embedder.warm_up()
    return lambda: [frame.similarity_score for frame in fj.score(camera, scorer=scorer).frames]


def prepare_sentence_transformers(data):
    model = sentence_transformer()
    texts = [text for pair in data for text in pair]

    def call():
        vectors = model.encode(texts, batch_size=32, show_progress_bar=False)
        left, right = vectors[::2], vectors[1::2]
        norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        return [round(float(score), 4) for score in (left * right).sum(axis=1) / norms]

    return call


def prepare_fair_forge(data):
    from fair_forge.core.embedder import Embedder
    from fair_forge.core.retriever import Retriever
    from fair_forge.metrics.vision import VisionSimilarity
    from fair_forge.schemas.common import Batch, Dataset
    from fair_forge.scorers import CosineSimilarity

    model = sentence_transformer()

    class Loaded(Embedder):
        """Its own embedder in all but loading: same call, on a model that is loaded already."""

        def encode(self, sentences):
            return model.encode(
                sentences, batch_size=64, normalize_embeddings=True, show_progress_bar=False
            )

    class Frames(Retriever):
        def load_dataset(self):
            frames = [
                Batch(qa_id=str(i), query="", assistant=a, ground_truth_assistant=b)
                for i, (a, b) in enumerate(data)
            ]
            return [Dataset(session_id="cam", assistant_id="vlm", context="", conversation=frames)]

    scorer = CosineSimilarity(Loaded())

    def call():
        result = VisionSimilarity.run(Frames, scorer=scorer)[0]
        return [frame.similarity_score for frame in result.interactions]

    return call


def sentence_transformer():
    import torch
    from sentence_transformers import SentenceTransformer

    from framejudge.encoder.weights import find_model

    torch.set_num_threads(CPUS)
    return SentenceTransformer(str(find_model("all-mpnet-base-v2").folder), device="cpu")


PREPARE = {
    OURS: prepare_ours,
    f"{OURS} bf16": functools.partial(prepare_ours, precision="bf16"),
    "sentence-transformers": prepare_sentence_transformers,
    "fair-forge": prepare_fair_forge,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--repeated", action="store_true", help="every text occurs twice")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the record of the run as JSON")
    options = parser.parse_args()
    if options.worker:
        data = pairs(repeated=options.repeated)
        serve(lambda: PREPARE[options.worker](data))
        return
    before = machine()
    flags = ["--repeated"] if options.repeated else []
    results = interleave_workers(__spec__.name, CONTENDERS, flags, rounds=options.rounds)
    ours = results[OURS]
    rows = []
    for name, result in results.items():
        # Ours are clamped to the documented range; so are the others, to be compared.
        answers = [result.answer, results["sentence-transformers"].answer]
        difference = np.abs(np.diff(np.clip(answers, 0, 1), axis=0))
        rows.append(
            {
                "name": name,
                "median_s": result.median,
                "frames_per_s": FRAMES / result.median,
                "ours_is_faster_by": result.median / ours.median,
                "peak_rss_mb": result.peak_rss_mb,
                "max_score_difference": float(difference.max()),
                "samples": len(result.seconds),
            }
        )
    print(f"{'':24}{'frames/s':>9}{'ours x':>8}{'peak MB':>9}{'max diff':>10}")
    for row in rows:
        print(
            f"{row['name']:24}{row['frames_per_s']:9.1f}{row['ours_is_faster_by']:8.2f}"
            f"{row['peak_rss_mb']:9.0f}{row['max_score_difference']:10.4f}"
        )
    if options.output:
        names = ["torch", "sentence-transformers", "alquimia-fair-forge"]
        record = {"machine": before, "versions": versions(names), "rows": rows}
        write_json(options.output, {**record, "repeated": options.repeated})


if __name__ == "__main__":
    main()
