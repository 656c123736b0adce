"""`framejudge status`, `list`, `workflow`, `toolrefs` and `schema`: what a pipeline asks first."""

from __future__ import annotations

import json
import shlex
from typing import Annotated, Any

import typer

from framejudge.cli.rollouts import Output

__all__ = ["list_backends", "schema", "status", "toolrefs", "workflow"]

OutputFormat = Annotated[Output, typer.Option("--output", help="How it is printed.")]


def status(output: OutputFormat = Output.TEXT) -> None:
    """Say what is set up: defaults, packaged workflows and datasets. No server is asked."""
    from framejudge.rollout.workflows import status as found  # noqa: PLC0415 - keeps --help quick

    _print(found().model_dump(mode="json"), output)


def list_backends(output: OutputFormat = Output.TEXT) -> None:
    """List backends and frame selections."""
    from framejudge.rollout.workflows import list_backends as found  # noqa: PLC0415

    listed = found()
    if output is Output.JSON:
        _print(listed.model_dump(mode="json"), output)
        return
    for entry in listed.backends:
        what = "asks a model" if entry.real_backend else "no model, for testing pipelines only"
        print(f"  {entry.name}: {what}{', the default' if entry.default else ''}")
    print(f"  frame selections: {', '.join(listed.frame_selections)}")


def workflow(
    image: Annotated[
        str, typer.Option(help="Of a self-hosted stage; default: NPA_VLM_IMAGE.")
    ] = "",
    output: OutputFormat = Output.TEXT,
) -> None:
    """Print the paths of the packaged workflow specs."""
    from framejudge.rollout.workflows import workflow as found  # noqa: PLC0415

    _print(found(image).model_dump(mode="json"), output)


def toolrefs(output: OutputFormat = Output.TEXT) -> None:
    """Print the command of each stage that a workflow may name."""
    from framejudge.rollout.workflows import TOOL_REFS  # noqa: PLC0415

    if output is Output.JSON:
        _print({name: list(argv) for name, argv in TOOL_REFS.items()}, output)
        return
    for name, argv in TOOL_REFS.items():
        shown = " ".join(part if part.startswith("{") else shlex.quote(part) for part in argv)
        print(f"{name}\n  {shown}")


def schema(
    name: Annotated[str, typer.Argument(help="An artifact; without one, all names.")] = "",
) -> None:
    """Print the JSON Schema of an artifact."""
    from framejudge.report.json_schema import SCHEMAS, json_schema  # noqa: PLC0415

    if name:
        print(json.dumps(json_schema(name), indent=2))
    else:
        print("\n".join(SCHEMAS))


def _print(record: dict[str, Any], output: Output) -> None:
    if output is Output.JSON:
        print(json.dumps(record, indent=2, sort_keys=True))
        return
    for key, value in record.items():
        print(f"  {key}: {value}")
