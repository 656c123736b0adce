"""The `framejudge` command and its parts."""

from __future__ import annotations

from typing import Annotated

import typer

from framejudge.cli import (
    audits,
    bench,
    benchmark,
    cache,
    controls,
    demo,
    evidence,
    info,
    models,
    rollouts,
    score,
    visual_review,
)
from framejudge.cli.status import with_exit_status

__all__ = ["app"]

app = typer.Typer(
    name="framejudge",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Is what a vision-language model says about camera frames true? Measure it, gate on it.",
    epilog="Exit status: 0 pass, 1 gate failed, 2 usage or configuration, 3 incomplete "
    "(something was not scored), 4 internal error, 130 interrupted.",
)


@app.callback(invoke_without_command=True)
def framejudge(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="With --version: build, ISA tier, threads.")
    ] = False,
) -> None:
    """Print the version, where that is all that is asked for."""
    if version:
        with_exit_status(_print_version)(verbose=verbose)


def _print_version(*, verbose: bool) -> None:
    from framejudge import __version__, build_info  # noqa: PLC0415 - keeps --help quick

    print(f"framejudge {__version__}")
    if verbose:
        for key, value in build_info().items():
            print(f"  {key}: {value}")


app.command("demo")(with_exit_status(demo.demo))
app.command("score")(with_exit_status(score.score))
app.command("run")(with_exit_status(rollouts.run))
app.command("loop")(with_exit_status(rollouts.loop))
app.command("benchmark")(with_exit_status(benchmark.benchmark))
app.command("controls")(with_exit_status(controls.controls))
app.command("compare-judges")(with_exit_status(audits.compare_judges))
app.command("compare-preference")(with_exit_status(audits.compare_preference))
app.command("review-visual")(with_exit_status(visual_review.review_visual))
app.command("gate")(with_exit_status(evidence.gate))
app.command("verify")(with_exit_status(evidence.verify))
app.command("status")(with_exit_status(info.status))
app.command("list")(with_exit_status(info.list_backends))
app.command("workflow")(with_exit_status(info.workflow))
app.command("toolrefs")(with_exit_status(info.toolrefs))
app.command("schema")(with_exit_status(info.schema))
app.command("bench")(with_exit_status(bench.bench))
for _name, _group in (("cache", cache.app), ("models", models.app)):
    for _command in _group.registered_commands:
        if _command.callback is not None:
            _command.callback = with_exit_status(_command.callback)
    app.add_typer(_group, name=_name)
