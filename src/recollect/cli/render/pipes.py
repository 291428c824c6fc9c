"""What `verify FILE` found, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import plural, size
from recollect.cli.terminal import safe_line

if TYPE_CHECKING:
    from recollect.memory import FileVerifyReport


def print_file_verify(out: Console, report: FileVerifyReport) -> None:
    """Print what was read, a line for each check, the defects, and the sum."""
    whose = report.agent or "several agents"
    how = "told by its content" if report.is_told_by_content else "as you said"
    out.print(
        safe_line(
            f"{report.path}: {whose}, {how}; {size(report.bytes)}, {plural(report.records, 'record')}, "
            f"{plural(report.sessions, 'session')}, {plural(report.events, 'event')}, {plural(report.nodes, 'node')}"
        ),
        soft_wrap=True,
    )
    for check in report.checks:
        line = Text("ok   " if check.ok else "FAIL ", style="green" if check.ok else "red")
        line.append(check.name, style="default")
        if check.detail:
            line.append(f": {safe_line(check.detail)}", style="default")
        out.print(line, soft_wrap=True)
    for code, number in sorted(report.defects.items()):
        out.print(f"     {plural(number, 'defect')} {code}", soft_wrap=True)
    out.print("all of it is accounted for" if report.ok else "something is missing or differs", soft_wrap=True)
