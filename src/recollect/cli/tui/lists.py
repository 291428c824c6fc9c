"""Lists and tables with the keys `j`, `k` and Enter. Their content is never markup."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import DataTable, Input, OptionList

from recollect.cli.terminal import safe_line
from recollect.memory import Memory


class SessionChosen(Message):
    """Somebody wants to read a session, from one of its events on."""

    def __init__(self, uid: str, seq: int) -> None:
        super().__init__()
        self.uid = uid
        self.seq = seq


class RowList(OptionList):
    """A list with one thing for each row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        Binding("g", "first", "First", show=False),
        Binding("G", "last", "Last", show=False),
    ]


class RowTable(DataTable[Text]):
    """A table whose rows are chosen as wholes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        Binding("g", "scroll_top", "First", show=False),
        Binding("G", "scroll_bottom", "Last", show=False),
    ]


class MemoryView(Vertical):
    """A view of the memory: rows, perhaps below a line for a query."""

    def __init__(self, memory: Memory, name: str) -> None:
        super().__init__(id=name)
        self._memory = memory

    def focus_query(self) -> None:
        """Give the keys to the line for the query, if there is one."""
        for line in self.query(QueryInput):
            line.focus()

    def focus_rows(self) -> None:
        """Give the keys to what was found."""
        self.query("RowList, RowTable").first().focus()


class QueryInput(Input):
    """A line for a query. Escape and the down key go back to what was found."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", show=False),
        Binding("down", "leave", "Results", show=False),
    ]

    def action_leave(self) -> None:
        """Give the keys to what was found."""
        self.screen.focus_next()


def cell(text: str, style: str = "") -> Text:
    """Return a text on one line in which nothing takes control of the terminal."""
    return Text(safe_line(text), style=style, no_wrap=True, overflow="ellipsis")
