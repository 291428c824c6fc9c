"""What was, or would be, done with the service, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.notes import print_notes
from recollect.cli.terminal import safe, safe_line

if TYPE_CHECKING:
    from recollect.memory import FileStep, ServiceReport

_STATES = {
    "planned": ("nothing was done", "dim"),
    "installed": ("installed", "green"),
    "unchanged": ("nothing to do: it is installed as it should be", "green"),
    "removed": ("removed", "green"),
    "not_installed": ("no service is installed; `recollect service install` does that", "dim"),
    "incomplete": ("not as it should be", "yellow"),
    "failed": ("FAILED", "red"),
}
_FILES = {"write": "write", "delete": "delete", "none": "leave", "left": "LEAVE"}
_COMMANDS = {"planned": "", "ok": "green", "failed": "red", "ignored": "dim"}


def print_service(out: Console, report: ServiceReport) -> None:
    """Print what the service is, every file and command, and how it went."""
    if report.manager:
        how = f"{report.kind}, {report.every}" if report.every else report.kind
        out.print(Text(safe_line(f"{report.name} ({report.manager}): {how}"), style="bold"), soft_wrap=True)
    for step in report.files:
        _print_file(out, step)
    for command in report.commands:
        line = f"  run {' '.join(command.argv)}" + (f" ({command.detail})" if command.detail else "")
        out.print(Text(safe_line(line), style=_COMMANDS[command.state]), soft_wrap=True)
    text, style = _STATES[report.state]
    more = f": {report.detail}" if report.detail else ""
    out.print(Text(safe_line(text + more), style=style), soft_wrap=True)
    if report.logs and report.state in ("installed", "unchanged", "incomplete", "failed"):
        out.print(Text(safe_line(f"what it does is told by: {report.logs}"), style="dim"), soft_wrap=True)
    print_notes(out, report.notes)


def _print_file(out: Console, step: FileStep) -> None:
    line = f"  {_FILES[step.action]} {step.path}" + (f" ({step.detail})" if step.detail else "")
    out.print(Text(safe_line(line), style="yellow" if step.action == "left" else ""), soft_wrap=True)
    for line in step.text.splitlines():
        out.print(Text(f"      {safe(line)}", style="dim"), soft_wrap=True)
