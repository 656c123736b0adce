"""Controls for a person to read: the frames beside what the judge said of them."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from framejudge._files import write_atomically
from framejudge.report.rollouts import score_bar
from framejudge.report.text import verdict_word
from framejudge.schemas import FrameEvidence
from framejudge.schemas.controls import ControlResult, ControlsReport
from framejudge.schemas.numbers import format_score
from framejudge.schemas.text import printable

__all__ = ["PAGE_FILE", "controls_page", "print_controls", "write_page"]

PAGE_FILE = "vlm_controls.html"

_EXPECTED = {True: "should pass", False: "must score 0.0, success false"}

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Controls of {model}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
  color: #1d2328; background: #fff; }}
section {{ border-top: 1px solid #ccd3d9; padding: 1rem 0; }}
.frames {{ display: flex; flex-wrap: wrap; gap: .5rem; }}
figure {{ margin: 0; }} figcaption {{ font-size: .8rem; color: #5a6670; }}
img {{ height: 9rem; max-width: 100%; border: 1px solid #ccd3d9; }}
.held {{ color: #17692c; }} .broken {{ color: #a1261d; font-weight: 600; }}
</style>
<h1>Controls of {model}</h1>
<p>Task: {task}</p><p>{n_held} of {n} controls held.</p>
{sections}
<section><h2>What this does not show</h2><ul>{limitations}</ul></section>
</html>
"""
_SECTION = """<section><h2>{kind}: <span class="{mark}">{score}, success {success}</span></h2>
<p>{expected}; {held}.</p><div class="frames">{figures}</div><p>{rationale}</p></section>"""
_FIGURE = (
    '<figure><img src="data:{media};base64,{data}" alt="{label}">'
    "<figcaption>Frame {number}: {label}</figcaption></figure>"
)


def print_controls(report: ControlsReport, console: Console) -> None:
    """Print every control with its frames and the rationale, and whether all held.

    Args:
        report: what `controls` returned.
        console: where to print.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("control", "score", "", "held"):
        table.add_column(name, no_wrap=True)
    for control in report.controls:
        table.add_row(
            control.kind,
            format_score(control.score, below=[report.success_threshold]),
            score_bar(control.score, report.success_threshold),
            Text("yes", style="green") if control.held else Text("NO", style="bold red"),
        )
    console.print(table)
    for control in report.controls:
        labels = ", ".join(frame.label for frame in control.evidence.request.frames)
        console.print(Text(printable(f"{control.kind}: {labels}"), style="bold"), soft_wrap=True)
        console.print(Text(printable(f"  {control.rationale}")), soft_wrap=True)
    line = verdict_word(report.verdict)
    n_held = sum(control.held for control in report.controls)
    line.append(f"  {n_held} of {len(report.controls)} controls held", style="not bold default")
    console.print(line)
    for text in report.limitations:
        console.print(Text(f"  - {text}", style="dim"), soft_wrap=True)


def write_page(report: ControlsReport, folder: Path) -> Path:
    """Write a page with every frame beside what the judge said, and return where it is.

    Args:
        report: what `controls` returned.
        folder: its `output_path`, where the frames are.
    """
    pictures: dict[str, list[bytes]] = {
        control.kind: [
            (folder / "frames" / control.kind / f"{number:03d}.{_suffix(frame)}").read_bytes()
            for number, frame in enumerate(control.evidence.request.frames, start=1)
        ]
        for control in report.controls
    }
    page = folder / PAGE_FILE
    write_atomically(page, controls_page(report, pictures).encode())
    return page


def _suffix(frame: FrameEvidence) -> str:
    return frame.media_type.partition("/")[2]


def controls_page(report: ControlsReport, pictures: Mapping[str, Sequence[bytes]]) -> str:
    """Return a page of HTML that needs nothing beside it.

    Args:
        report: what `controls` returned.
        pictures: the submitted bytes of each control, by its kind.
    """
    return _PAGE.format(
        model=html.escape(report.model),
        task=html.escape(report.task),
        n_held=sum(control.held for control in report.controls),
        n=len(report.controls),
        sections="\n".join(
            _section(control, pictures[control.kind]) for control in report.controls
        ),
        limitations="".join(f"<li>{html.escape(text)}</li>" for text in report.limitations),
    )


def _section(control: ControlResult, pictures: Sequence[bytes]) -> str:
    figures = [
        _FIGURE.format(
            media=html.escape(frame.media_type),
            data=base64.b64encode(data).decode("ascii"),
            label=html.escape(frame.label),
            number=number,
        )
        for number, (frame, data) in enumerate(
            zip(control.evidence.request.frames, pictures, strict=True), start=1
        )
    ]
    return _SECTION.format(
        kind=control.kind,
        mark="held" if control.held else "broken",
        score=f"{control.score:g}",
        success=str(control.provider_success).lower(),
        expected=_EXPECTED[control.kind == "complete"],
        held="held" if control.held else "did not hold",
        figures="".join(figures),
        rationale=html.escape(control.rationale),
    )
