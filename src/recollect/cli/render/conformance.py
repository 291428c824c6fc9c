"""What the conformance suite found, one line a fixture, problems below it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from recollect.cli.terminal import safe_line
from recollect.testing.suite import ALL, Result
from recollect.units import plural


def print_conformance(console: Console, results: Sequence[Result]) -> None:
    """Print every fixture with what is wrong with it, and a last line of totals."""
    for result in results:
        mark = ("broken", "red") if result.problems else ("ok", "green")
        console.print(Text.assemble((f"{mark[0]:<9}", mark[1]), safe_line(result.fixture)), soft_wrap=True)
        for problem in result.problems:
            console.print(Text(f"         {safe_line(problem)}"), soft_wrap=True)
    fixtures = sum(result.fixture != ALL for result in results)
    broken = sum(bool(result.problems) for result in results)
    verdict = f"{broken} broken" if broken else "every rule is kept"
    console.print(Text(f"{plural(fixtures, 'fixture')}, {verdict}"))
