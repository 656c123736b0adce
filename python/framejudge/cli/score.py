"""`framejudge score`: descriptions and ground truth in, tables, files and a verdict out."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from framejudge.cli.progress import prepare_model, progress

__all__ = ["score"]


class Reference(StrEnum):
    """A frame's score where it has several references."""

    BEST = "best"
    MEAN = "mean"


class Engine(StrEnum):
    """What runs the text encoder."""

    AUTO = "auto"
    ONNXRUNTIME = "onnxruntime"
    OPENVINO = "openvino"


class Precision(StrEnum):
    """What the text encoder computes in."""

    AUTO = "auto"
    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"
    INT8 = "int8"


class Frames(StrEnum):
    """Which frames are printed."""

    ALL = "all"
    FLAGGED = "flagged"
    NONE = "none"


_STDOUT = Path("-")


def score(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A .jsonl, .csv or .parquet file with one frame a row (session_id, assistant_id, "
            "qa_id, assistant, ground_truth_assistant; other columns are kept), or a .json file "
            "with sessions.",
        ),
    ],
    threshold: Annotated[
        float,
        typer.Option(
            help="A frame whose similarity is below it is flagged.", envvar="FRAMEJUDGE_THRESHOLD"
        ),
    ] = 0.75,
    max_hallucination_rate: Annotated[
        float,
        typer.Option(
            help="Pass if no (session, assistant) has a larger share of flagged frames.",
            envvar="FRAMEJUDGE_MAX_HALLUCINATION_RATE",
        ),
    ] = 0.0,
    reference: Annotated[
        Reference,
        typer.Option(
            help="A frame's score where it has several references.", envvar="FRAMEJUDGE_REFERENCE"
        ),
    ] = Reference.BEST,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            help="all-mpnet-base-v2, or a folder with a sentence-transformers model of the MPNet "
            "or BERT family.",
            envvar="FRAMEJUDGE_MODEL",
        ),
    ] = "all-mpnet-base-v2",
    engine: Annotated[
        Engine,
        typer.Option(
            help="What runs the model; openvino is an extra. auto: what has the precision.",
            envvar="FRAMEJUDGE_ENGINE",
        ),
    ] = Engine.AUTO,
    precision: Annotated[
        Precision,
        typer.Option(
            help="fp32 gives every machine the same scores. auto: the fastest that is documented "
            "to move a cosine by at most 0.01.",
            envvar="FRAMEJUDGE_PRECISION",
        ),
    ] = Precision.FP32,
    device: Annotated[
        str,
        typer.Option(
            help="cpu, cuda:N, or auto: a CUDA device where there is one.",
            envvar="FRAMEJUDGE_DEVICE",
        ),
    ] = "cpu",
    embedding_cache: Annotated[
        Path | None,
        typer.Option(
            help="Keep embeddings between runs in this SQLite file; it holds no text.",
            envvar="FRAMEJUDGE_EMBEDDING_CACHE",
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the run: .json (all of it), .jsonl, .csv or .parquet (a row a frame), "
            "- for JSON on stdout. Repeatable.",
        ),
    ] = None,
    frames: Annotated[
        Frames, typer.Option(help="Which frames to print.", envvar="FRAMEJUDGE_FRAMES")
    ] = Frames.FLAGGED,
    exit_zero: Annotated[
        bool,
        typer.Option("--exit-zero", help="Exit with 0 instead of 1 when the gate fails."),
    ] = False,
) -> int:
    """Score descriptions against ground truth, per camera session and model.

    Exit status: 0 pass, 1 some rate above --max-hallucination-rate, 2 usage or unreadable data,
    3 something was not scored.
    """
    from framejudge.data.readers import check_file  # noqa: PLC0415 - keeps --help quick
    from framejudge.encoder import Encoder  # noqa: PLC0415
    from framejudge.encoder.cache_file import EmbeddingFile  # noqa: PLC0415
    from framejudge.metrics import score as score_data  # noqa: PLC0415
    from framejudge.report import check_outputs, print_run, write_run  # noqa: PLC0415
    from framejudge.report.files import run_as_json  # noqa: PLC0415
    from framejudge.scorers import CosineSimilarity  # noqa: PLC0415

    outputs = output or []
    files = [path for path in outputs if path != _STDOUT]
    check_file(data)
    check_outputs(files, data=data)
    encoder = Encoder(
        model,
        engine=engine.value,
        precision=precision.value,
        device=device,
        cache=EmbeddingFile(embedding_cache) if embedding_cache is not None else ...,
    )
    prepare_model(model)
    with progress("scoring frames") as done:
        run = score_data(
            data,
            threshold=threshold,
            scorer=CosineSimilarity(encoder),
            max_hallucination_rate=max_hallucination_rate,
            reference=reference.value,
            progress=done,
        )
    for path in files:
        write_run(run, path)
    to_stdout = _STDOUT in outputs
    if to_stdout:
        sys.stdout.write(run_as_json(run))
    print_run(run, Console(stderr=to_stdout), frames=frames.value)
    return int(run.verdict.exit_code(exit_zero=exit_zero))
