"""Tokens and cost of a period by agent, model, repository or day."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from recollect.cli.terminal import safe_line
from recollect.cli.tui.lists import RowTable, cell
from recollect.clock import now_us
from recollect.errors import RecollectError
from recollect.local_time import LOCAL
from recollect.units import count, usd

if TYPE_CHECKING:
    from recollect.memory import Memory

DAY_US = 86_400_000_000
PERIODS = {"the last week": 7, "the last 30 days": 30, "the last 90 days": 90, "the last year": 365}
GROUPINGS: tuple[Literal["agent", "model", "repo", "day"], ...] = ("agent", "model", "repo", "day")
BAR = 24


class UsageView(Vertical):
    """A table with a bar for each row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "period", "Period"),
        Binding("b", "grouping", "Group by"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(id="usage")
        self._memory = memory
        self._period, self._by = 1, 0

    def compose(self) -> ComposeResult:
        """See `textual.widget.Widget.compose`."""
        yield Static("", id="spent", markup=False)
        yield RowTable(cursor_type="row", id="usage-rows")

    def on_mount(self) -> None:
        """Begin with the last month."""
        self.fetch()

    def focus_query(self) -> None:
        """There is no query here."""

    def focus_rows(self) -> None:
        """Give the keys to the table."""
        self.query_one(RowTable).focus()

    def action_period(self) -> None:
        """Show the next longer period, after the longest the shortest."""
        self._period = (self._period + 1) % len(PERIODS)
        self.fetch()

    def action_grouping(self) -> None:
        """Group by the next thing."""
        self._by = (self._by + 1) % len(GROUPINGS)
        self.fetch()

    @work(exclusive=True)
    async def fetch(self) -> None:
        """Show the period and grouping that were chosen."""
        by, (period, days), now = GROUPINGS[self._by], list(PERIODS.items())[self._period], now_us()
        told, rows = self.query_one("#spent", Static), self.query_one(RowTable)
        try:
            await asyncio.to_thread(self._memory.refresh)
            report = await asyncio.to_thread(
                self._memory.usage.report, by=by, after=now - days * DAY_US, before=now + DAY_US, zone=LOCAL
            )
        except RecollectError as error:
            told.update(safe_line(str(error)))
            return
        rows.clear(columns=True)
        rows.add_columns(by, "tokens", "cost", "responses", "")
        most = max((row.totals.tokens for row in report.rows), default=0)
        for row in report.rows:
            tokens = row.totals.tokens
            bar = Text("█" * -(-BAR * tokens // most) if most else "")
            figures = (count(tokens), usd(row.totals.cost_usd), count(row.totals.responses))
            rows.add_row(cell(row.key or "(none)"), *(Text(figure, justify="right") for figure in figures), bar)
        total = f"{count(report.total.tokens)} tokens, {usd(report.total.cost_usd)}"
        told.update(f"{period} by {by}: {total} · p: another period · b: group by something else")
