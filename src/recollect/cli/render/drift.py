"""What agents wrote that no parser knows, as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.terminal import safe_line
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.memory import DriftRow

SHOWN_ROWS = 20
"""Rows shown of one version; `--json` has all."""


def print_drift(out: Console, found: Sequence[DriftRow]) -> None:
    """Print a line for each, by agent and version, the most frequent first; the places are files as they were named."""
    if not found:
        out.print("nothing: every record type, field and value is known")
        return
    for (agent, version), group in groupby(found, key=lambda row: (row.agent, row.version)):
        rows = list(group)
        title = f"{agent} {version}" if version else agent
        out.print(Text(f"{safe_line(title)}: {plural(len(rows), 'thing')} not known", style="bold"))
        for row in rows[:SHOWN_ROWS]:
            where = Text(f"    first in {safe_line(row.path)}, record {row.record_index}", style="dim")
            out.print(Text(f"  {row.kind} {safe_line(row.name)}, {plural(row.count, 'time')}"), soft_wrap=True)
            out.print(where, soft_wrap=True)
        if len(rows) > SHOWN_ROWS:
            out.print(f"and {len(rows) - SHOWN_ROWS} more, see --json")
        out.print()
