"""What doctor found and did, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.terminal import safe_line
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.memory import DoctorReport, Fix, RepairReport

_MARKS = {"ok": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}


def print_fix(out: Console, step: Fix) -> None:
    """Print what is about to be done, or would be."""
    out.print(Text(safe_line(f"to do: {step.does}")), soft_wrap=True)


def print_repair(out: Console, report: RepairReport) -> None:
    """Print what was repaired, and what is still damaged."""
    for step in report.steps:
        if step.state != "would":
            _print_done(out, step)
    if not report.steps:
        out.print(Text("nothing is damaged", style="bold"))
    elif report.ok:
        out.print(Text("everything is repaired", style="bold"))
    for source in report.left.sources:
        line = f"missing: {source.bytes:,} bytes of {source.path} ({', '.join(source.sessions) or 'no session'})"
        out.print(Text(safe_line(line), style="red"), soft_wrap=True)


def _print_done(out: Console, step: Fix) -> None:
    line = f"{step.state}: {step.does}{': ' if step.detail else ''}{step.detail}"
    out.print(Text(safe_line(line), style="green" if step.state == "done" else "red"), soft_wrap=True)


def print_doctor(out: Console, report: DoctorReport) -> None:
    """Print a line per check, with what to do where it isn't ok."""
    for step in report.fixes:
        if step.state != "would":
            _print_done(out, step)
    for check in report.checks:
        mark, style = _MARKS[check.state]
        out.print(Text.assemble((mark, style), f"  {safe_line(check.name)}: {safe_line(check.detail)}"), soft_wrap=True)
        if check.hint and check.state != "ok":
            out.print(Text(f"      hint: {safe_line(check.hint)}", style="dim"), soft_wrap=True)
    failed = sum(c.state == "fail" for c in report.checks)
    out.print(Text("healthy" if report.ok else f"{plural(failed, 'check')} failed", style="bold"))
