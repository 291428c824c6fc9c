"""A session's transcript of any length, through a window of events that follows the reader.

Only the lines of some hundred events are kept; the next ones are fetched before the reader is there, and those far
behind go. Everything that an agent wrote is shown by `safe`: nothing in it reaches the terminal as a command.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from recollect.cli.render.layout import clock
from recollect.cli.terminal import safe, safe_line
from recollect.model.events import Event
from recollect.model.payloads import (
    TURN_ORIGINS,
    AssistantMessage,
    Compaction,
    FileEdit,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.text import searchable
from recollect.model.undone import UNDONE
from recollect.units import size

Load = Callable[[int, int], Iterable["Event"]]
"""(number of the first, how many) → a session's events in the order in which they are read; some may be gone."""
PIECE = 120
"""Events that are fetched at once."""
MOST = 6 * PIECE
"""Events whose lines are kept."""
MARGIN = 60
"""Lines before an end at which more is fetched."""
SHOWN_LINES, SHOWN_CHARS = 40, 4_000
"""Of an event; Enter shows all of it."""
WHOLE_CHARS = 1_000_000
"""Of an event that is shown alone; `recollect export` has the rest."""
MAX_DIFFED = 400_000
"""Characters of both versions of a file that are compared; of larger ones the new version is shown."""
INDENT = 2
_SILENT = ("token_usage", "session_start", "session_end")
_BRIEF = ("thinking", "lifecycle", "unknown", "instructions")


class ShownEvent(NamedTuple):
    """The lines of one event, wrapped to the width. place: in the session's order."""

    place: int
    seq: int
    lines: tuple[Text, ...]


class TranscriptView(ScrollView, can_focus=True):
    """The events of a session. One of them is marked; `j` and `k` move the mark."""

    DEFAULT_CSS = "TranscriptView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "move(1)", "Next"),
        Binding("k", "move(-1)", "Previous"),
        Binding("enter", "open", "Whole event"),
        Binding("space,pagedown", "page(1)", "Page", show=False),
        Binding("b,pageup", "page(-1)", "Page up", show=False),
        Binding("down", "line(1)", show=False),
        Binding("up", "line(-1)", show=False),
        Binding("g,home", "jump(0)", "First", show=False),
        Binding("G,end", "jump(-1)", "Last", show=False),
    ]

    class Moved(Message):
        """Another event is marked."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    class Opened(Message):
        """The marked event is to be shown whole."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    def __init__(self, load: Load, order: Sequence[int], *, at: int = 0) -> None:
        """order: the numbers of the session's events in the order in which they are read. at: of the event that is
        marked first."""
        super().__init__(id="transcript")
        self._load = load
        self._order = order
        self._last = len(order) - 1
        self._mark = next((place for place, seq in enumerate(order) if seq >= at), self._last)
        """The place of the marked event in the order, and so are all places here."""
        self._shown: list[ShownEvent] = []
        self._lines: list[tuple[int, Text]] = []
        """Each line, and the index of its event among the shown ones."""
        self._first = self._next = 0
        """The window: places from one on and before another."""
        self._width = 0

    @property
    def mark(self) -> int:
        """The number of the marked event."""
        return self._order[self._mark] if self._order else 0

    # What is shown

    def on_resize(self, event: events.Resize) -> None:
        """Wrap what is shown to the new width; the first time, fetch it."""
        width = self.scrollable_content_region.width or event.size.width
        if width != self._width and width > INDENT:
            self._width = width
            self._begin_at(self._mark)

    def _begin_at(self, place: int) -> None:
        """Show the window around an event, with that one marked and in sight."""
        self._first = self._next = max(0, min(place, self._last) - PIECE // 2)
        self._shown.clear()
        while self._next <= self._last and (not self._shown or self._shown[-1].place < place or self._is_short()):
            self._append()
        while self._first and self._is_short():
            self._prepend()
        self._lay_out()
        if self._shown:
            # What is silent is not shown: the first one after it is marked, else the last.
            self._set_mark(next((shown for shown in self._shown if shown.place >= place), self._shown[-1]))
        self._show_mark()

    def _is_short(self) -> bool:
        return sum(len(shown.lines) for shown in self._shown) < self.size.height + MARGIN

    def _append(self) -> None:
        until = min(self._next + PIECE, self._last + 1)
        self._shown += self._read(self._next, until)
        self._next = until

    def _prepend(self) -> int:
        """Fetch what stands before the window; return how many lines it has."""
        first = max(0, self._first - PIECE)
        shown = self._read(first, self._first)
        self._first = first
        self._shown[:0] = shown
        return sum(len(one.lines) for one in shown)

    def _read(self, first: int, until: int) -> list[ShownEvent]:
        places = {seq: place for place, seq in enumerate(self._order[first:until], first)}
        if not places:
            return []
        return [
            ShownEvent(places[event.seq], event.seq, tuple(lines_of(event, self._width)))
            for event in self._load(self._order[first], until - first)
            if event.seq in places and event.kind not in _SILENT
        ]

    def _lay_out(self) -> None:
        self._lines = [(index, line) for index, shown in enumerate(self._shown) for line in shown.lines]
        self.virtual_size = Size(self._width, len(self._lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """See `textual.widget.Widget.render_line`."""
        at = y + self.scroll_offset.y
        if at >= len(self._lines):
            return Strip.blank(self.size.width, self.rich_style)
        index, line = self._lines[at]
        is_marked = self._shown[index].place == self._mark
        gutter = Segment("▌ " if is_marked else "  ", Style(color="cyan" if is_marked else None))
        console = self.app.console
        text = Segment.apply_style(line.render(console, end=""), console.get_style(line.style))
        strip = Strip([gutter, *text])
        return strip.adjust_cell_length(self.size.width).apply_style(self.rich_style)

    # Moving

    def action_move(self, by: int) -> None:
        """Mark the next event, or the one before."""
        index = self._index() + by
        if index >= len(self._shown) or index < 0:
            self._follow()
            index = min(max(self._index() + by, 0), len(self._shown) - 1)
        if self._shown:
            self._set_mark(self._shown[index])
            self._show_mark()

    def action_page(self, by: int) -> None:
        """Move by what fits on the screen."""
        self._scroll_by(by * max(1, self.size.height - 2))

    def action_line(self, by: int) -> None:
        """Move by a line."""
        self._scroll_by(by)

    def action_jump(self, to: int) -> None:
        """Go to the first event (0) or the last (-1)."""
        self._begin_at(self._last if to else 0)

    def action_open(self) -> None:
        """Have the marked event shown whole."""
        self.post_message(self.Opened(self.mark))

    def _scroll_by(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False, force=True, immediate=True)

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Fetch what comes next, and keep the mark in sight."""
        super().watch_scroll_y(old, new)
        self._follow()
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.size.height
        lines = self._lines_of(self._index())
        if lines.stop <= top or lines.start >= bottom:
            near = min(max(top if lines.stop <= top else bottom - 1, 0), len(self._lines) - 1)
            if near >= 0:
                self._set_mark(self._shown[self._lines[near][0]])
        self.refresh()

    def _follow(self) -> None:
        """Fetch what is near to what is seen, and let go of what is far from it."""
        top = self.scroll_offset.y
        if self._next <= self._last and top + self.size.height > len(self._lines) - MARGIN:
            self._append()
            gone = self._trim_front()
            self._lay_out()
            self._shift(-gone)
        elif self._first and top < MARGIN:
            added = self._prepend()
            self._trim_back()
            self._lay_out()
            self._shift(added)

    def _trim_front(self) -> int:
        """Let the first events go; return how many lines they had."""
        gone = self._shown[: max(0, len(self._shown) - MOST)]
        if gone:
            del self._shown[: len(gone)]
            self._first = self._shown[0].place
        return sum(len(shown.lines) for shown in gone)

    def _trim_back(self) -> None:
        if len(self._shown) > MOST:
            self._next = self._shown[MOST].place
            del self._shown[MOST:]

    def _shift(self, by: int) -> None:
        """Keep the same lines in sight after lines came or went above them."""
        if by:
            self.scroll_to(y=max(0, self.scroll_offset.y + by), animate=False, force=True, immediate=True)

    def _index(self) -> int:
        """Return the index of the marked event among the shown ones, or of the last before it."""
        last = len(self._shown) - 1
        return max(0, next((i - 1 for i, shown in enumerate(self._shown) if shown.place > self._mark), last))

    def _lines_of(self, index: int) -> range:
        start = sum(len(shown.lines) for shown in self._shown[:index])
        return range(start, start + (len(self._shown[index].lines) if self._shown else 0))

    def _set_mark(self, shown: ShownEvent) -> None:
        self._mark = shown.place
        self.post_message(self.Moved(shown.seq))
        self.refresh()

    def _show_mark(self) -> None:
        """Scroll so far that the marked event is in sight, its beginning where it is higher than the screen."""
        lines, height = self._lines_of(self._index()), self.size.height
        top = self.scroll_offset.y
        if lines.start < top or len(lines) >= height:
            self.scroll_to(y=lines.start, animate=False, force=True, immediate=True)
        elif lines.stop > top + height:
            self.scroll_to(y=lines.stop - height, animate=False, force=True, immediate=True)


def lines_of(event: Event, width: int, *, is_whole: bool = False) -> Iterator[Text]:
    """Yield the lines of an event, wrapped to a width. is_whole: with all of its text."""
    payload = event.payload
    who, style = _who(event)
    undone = f" ({UNDONE})" if event.is_undone else ""
    part = " (sidechain)" if event.is_sidechain else ""
    head = Text(f"#{event.seq} {clock(event.ts)}  {who}{part}{undone}", style=style, no_wrap=True, overflow="ellipsis")
    text = body_of(event)
    is_brief = not is_whole and (event.kind in _BRIEF or not text)
    if is_brief:
        head.append(f"  {safe_line(event.summary)}", "dim")
    head.truncate(max(1, width - INDENT), overflow="ellipsis")
    yield head
    if not is_brief:
        shown, left = _beginning(text, is_whole=is_whole)
        colour = "red" if isinstance(payload, ToolResult) and _has_failed(payload) else ""
        for line in shown.split("\n"):
            yield from _wrapped_line(line, colour, max(1, width - 2 * INDENT), is_diff=isinstance(payload, FileEdit))
        if left:
            yield Text(f"{' ' * INDENT}… {left} more{'' if is_whole else '; Enter shows it'}", style="dim")
    yield Text("")


def _wrapped_line(line: str, colour: str, width: int, *, is_diff: bool) -> Iterator[Text]:
    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], colour) if is_diff else colour
    expanded = line.expandtabs(4)
    cuts = _cuts(expanded, width)
    for start, end in pairwise(cuts):
        yield Text(" " * INDENT + expanded[start:end], style=style)


def _cuts(line: str, width: int) -> list[int]:
    """Return where a line is broken: at the last space that fits, else in a word. Wide characters take two cells."""
    from rich.cells import cell_len, get_character_cell_size

    if cell_len(line) <= width:
        return [0, len(line)]
    cuts, used, space = [0], 0, 0
    for at, char in enumerate(line):
        used += get_character_cell_size(char)
        if used > width:
            cut = space if space > cuts[-1] else at
            cuts.append(cut)
            used = cell_len(line[cut : at + 1])
        if char == " ":
            space = at + 1
    return [*cuts, len(line)]


def _who(event: Event) -> tuple[str, str]:
    payload = event.payload
    match payload:
        case UserMessage():
            return ("you", "bold green") if payload.origin in TURN_ORIGINS else ("added by the agent's harness", "dim")
        case AssistantMessage():
            return "agent", "bold cyan"
        case Thinking():
            return "thinking", "dim italic"
        case ToolCall():
            return f"→ {safe_line(payload.name)}", "bold"
        case ToolResult():
            return ("← failed", "bold red") if _has_failed(payload) else ("←", "bold")
        case FileEdit():
            return f"edit {safe_line(payload.path)}", "bold yellow"
        case Compaction():
            return "the agent shortened its context here", "reverse"
    return event.kind.replace("_", " "), "dim"


def _has_failed(result: ToolResult) -> bool:
    return result.ok is False or bool(result.exit_code)


def body_of(event: Event) -> str:
    """Return the text of an event, harmless; "" where it has none."""
    payload = event.payload
    if isinstance(payload, Compaction):
        return safe(payload.summary)
    if isinstance(payload, FileEdit):
        return safe(payload.diff or _difference(payload.before or "", payload.after or ""))
    text = searchable(payload)[1]
    if isinstance(payload, ToolCall):
        text = text.removeprefix(f"{payload.name}\n")  # the head has it
    return safe(text.strip("\n"))


def _difference(before: str, after: str) -> str:
    if len(before) + len(after) > MAX_DIFFED:
        return after
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
    return "\n".join(line for line in lines if not line.startswith(("+++ ", "--- ")))


def _beginning(text: str, *, is_whole: bool) -> tuple[str, str]:
    """Return a text or its beginning, and how much is left."""
    if is_whole:
        shown = text[:WHOLE_CHARS]
    else:
        shown = "\n".join(text[: SHOWN_CHARS + 1].split("\n", SHOWN_LINES)[:SHOWN_LINES])[:SHOWN_CHARS]
    return shown, size(len(text) - len(shown)) if len(shown) < len(text) else ""
