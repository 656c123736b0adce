"""The `framejudge` command: its parts, and how errors become exit codes."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import click
import typer

from framejudge.cli import bench, demo, models, score
from framejudge.errors import (
    ConfigurationError,
    FramejudgeError,
    InputError,
    MissingExtraError,
    ModelError,
)
from framejudge.schemas import ExitCode

__all__ = ["app", "main"]

app = typer.Typer(
    name="framejudge",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Is what a vision-language model says about camera frames true? Measure it, gate on it.",
    epilog="Exit status: 0 pass, 1 gate failed, 2 usage or configuration, 3 incomplete "
    "(something was not scored), 4 internal error, 130 interrupted.",
)
app.command("demo")(demo.demo)
app.command("score")(score.score)
app.command("bench")(bench.bench)
app.add_typer(models.app, name="models")

_VERBOSE = typer.Option("-v", "--verbose", help="With --version: how it was built, ISA, threads.")


def _version(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    verbose: Annotated[bool, _VERBOSE] = False,
) -> None:
    if not version:
        if context.invoked_subcommand is None:
            raise click.UsageError("expected a command", ctx=context)
        return
    from framejudge import __version__, build_info  # noqa: PLC0415

    print(f"framejudge {__version__}")
    if verbose:
        for key, value in build_info().items():
            print(f"  {key}: {value}")
    raise typer.Exit


# Errors that the user can mend, by another argument or another set-up.
_USERS_OWN = (ConfigurationError, InputError, MissingExtraError, ModelError)

app.callback(invoke_without_command=True)(_version)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit with its status."""
    sys.exit(int(run(arguments)))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; see `ExitCode`."""
    try:
        status = app(args=arguments, standalone_mode=False)
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        status = ExitCode.INTERRUPTED
    except FramejudgeError as error:
        print(f"Error: {error}", file=sys.stderr)
        status = ExitCode.USAGE if isinstance(error, _USERS_OWN) else ExitCode.INTERNAL
    except Exception:  # noqa: BLE001 - the last line of defence: an exit code, not a bare 1
        traceback.print_exc()
        print("Error: this is a bug in framejudge; please report the lines above", file=sys.stderr)
        status = ExitCode.INTERNAL
    return int(status or ExitCode.PASS)
