"""What the conformance suite found, one line a fixture, problems below it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from recollect.cli.render.figures import plural
from recollect.cli.terminal import safe_line
from recollect.testing.runner import Result


def print_conformance(console: Console, results: Sequence[Result]) -> None:
    """Print every fixture with what is wrong with it, and a last line of totals."""
    for result in results:
        mark = "[green]ok[/]" if not result.problems else "[red]broken[/]"
        console.print(f"{mark:<16} {safe_line(result.fixture)}", highlight=False)
        for problem in result.problems:
            console.print(f"         {safe_line(problem)}", highlight=False, soft_wrap=True)
    broken = sum(bool(result.problems) for result in results)
    console.print(f"{plural(len(results), 'fixture')}, {broken} broken", highlight=False)
