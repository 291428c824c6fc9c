"""Two views as tables: all sessions, loaded as you scroll; and tokens and cost of a period by what used them."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Literal

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Input, Static

from recollect.cli.render.layout import stamp
from recollect.cli.terminal import safe_line
from recollect.cli.tui.lists import MemoryView, QueryInput, RowTable, SessionChosen, cell
from recollect.clock import now_us
from recollect.errors import RecollectError
from recollect.local_time import LOCAL
from recollect.memory import Memory
from recollect.units import count, plural, usd

PAGE = 100
AHEAD = 30
"""Rows before the end at which more are fetched."""


class SessionsView(MemoryView):
    """A table of sessions, and a line for filters of the query language."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, "sessions")
        self._filters = ""
        self._total = 0

    def compose(self) -> ComposeResult:
        """See `textual.widget.Widget.compose`."""
        yield QueryInput(placeholder="filters: repo:shop branch:main after:1w", id="filters")
        yield Static("", id="counted", markup=False)
        yield RowTable(cursor_type="row", id="rows", zebra_stripes=True)

    def on_mount(self) -> None:
        """Begin with the first page."""
        self.query_one(RowTable).add_columns("started", "agent", "repo", "turns", "events", "outcome", "title")
        self.fetch("", 0)

    @on(Input.Submitted, "#filters")
    def _submitted(self, event: Input.Submitted) -> None:
        self.fetch(event.value, 0)
        self.focus_rows()

    @on(DataTable.RowHighlighted, "#rows")
    def _moved(self, event: DataTable.RowHighlighted) -> None:
        shown = event.data_table.row_count
        if event.cursor_row >= shown - AHEAD and shown < self._total:
            self.fetch(self._filters, shown)

    @on(DataTable.RowSelected, "#rows")
    def _chosen(self, event: DataTable.RowSelected) -> None:
        if event.row_key.value:
            self.post_message(SessionChosen(event.row_key.value, 0))

    @work(exclusive=True)
    async def fetch(self, filters: str, offset: int) -> None:
        """Show the sessions that filters allow, from one on; from 0 on again."""
        told, rows = self.query_one("#counted", Static), self.query_one(RowTable)
        try:
            asked = await asyncio.to_thread(self._memory.recall.filtered, filters)
            page = await asyncio.to_thread(
                self._memory.sessions, where=asked.where, after=asked.after_us, before=asked.before_us, limit=PAGE,
                offset=offset, sync=not offset,
            )  # fmt: skip
        except RecollectError as error:
            told.update(safe_line(str(error)))
            return
        if not offset:
            rows.clear()
        self._filters, self._total = filters, page.total
        for session in page.sessions:
            if session.session_uid in rows.rows:
                continue  # a session that came meanwhile moved the others down
            is_part = "↳ " if session.parent_session else ""
            cells = (
                stamp(session.started_at), session.agent, session.repo, count(session.turn_count),
                count(session.event_count), session.outcome, is_part + (session.title or "(no title)"),
            )  # fmt: skip
            rows.add_row(*map(cell, cells), key=session.session_uid)
        told.update(f"{rows.row_count:,} of {plural(self._total, 'session')}")


DAY_US = 86_400_000_000
PERIODS = {"the last week": 7, "the last 30 days": 30, "the last 90 days": 90, "the last year": 365}
GROUPINGS: tuple[Literal["agent", "model", "repo", "day"], ...] = ("agent", "model", "repo", "day")
BAR = 24


class UsageView(MemoryView):
    """A table with a bar for each row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "period", "Period"),
        Binding("b", "grouping", "Group by"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, "usage")
        self._period, self._by = 1, 0

    def compose(self) -> ComposeResult:
        """See `textual.widget.Widget.compose`."""
        yield Static("", id="spent", markup=False)
        yield RowTable(cursor_type="row", id="usage-rows")

    def on_mount(self) -> None:
        """Begin with the last month."""
        self.fetch()

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
