"""All sessions, newest first, loaded as you scroll."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import DataTable, Input, Static

from recollect.cli.render.layout import stamp
from recollect.cli.terminal import safe_line
from recollect.cli.tui.lists import QueryInput, RowTable, SessionChosen, cell
from recollect.errors import RecollectError
from recollect.units import count, plural

if TYPE_CHECKING:
    from recollect.memory import Memory

PAGE = 100
AHEAD = 30
"""Rows before the end at which more are fetched."""


class SessionsView(Vertical):
    """A table of sessions, and a line for filters of the query language."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(id="sessions")
        self._memory = memory
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

    def focus_query(self) -> None:
        """Give the keys to the line for filters."""
        self.query_one(QueryInput).focus()

    def focus_rows(self) -> None:
        """Give the keys to the table."""
        self.query_one(RowTable).focus()

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
