"""The application: three views, a session's transcript above them, and the help."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import ContentSwitcher, Footer, Static
from textual.worker import WorkerFailed

from recollect.cli.render.layout import when
from recollect.cli.terminal import safe, safe_line
from recollect.cli.tui.lists import MemoryView, SessionChosen
from recollect.cli.tui.search_view import SearchView
from recollect.cli.tui.sessions_view import SessionsView, UsageView
from recollect.cli.tui.transcript_view import TranscriptView, lines_of
from recollect.clock import now_us
from recollect.errors import RecollectError, UnknownName
from recollect.memory import Memory
from recollect.model.events import Event
from recollect.model.sessions import Session
from recollect.units import plural

VIEWS = ("search", "sessions", "usage")
KEYS = """\
/        write a query, or filters
j  k     next, previous
Enter    open
Escape   back
1 2 3    search, sessions, usage
g  G     first, last
space b  a page down, up (transcript)
r        the command that goes on with this session (transcript)
p  b     period, grouping (usage)
?        this help
q        quit"""


class RecollectApp(App[None]):
    """The memory in a terminal."""

    TITLE = "Recollect"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #query, #filters { height: 3; }
    #found, #counted, #spent, #head { height: auto; color: $text-muted; padding: 0 1; }
    RowList, RowTable { height: 1fr; border: none; scrollbar-size-vertical: 1; }
    RowList > .option-list--option-disabled { color: $text-primary; }
    HelpScreen { align: center middle; }
    HelpScreen Static { width: auto; height: auto; padding: 1 3; border: round $primary; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "query", "Search", key_display="/"),
        Binding("1", "view('search')", "Search", show=False),
        Binding("2", "view('sessions')", "Sessions", key_display="2"),
        Binding("3", "view('usage')", "Usage", key_display="3"),
        Binding("escape", "leave", "Back", show=False),
        Binding("question_mark", "help", "Keys", key_display="?"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory
        self.failure: Exception | None = None
        """What ended the program."""

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print the values of variables, which quote transcripts. Whoever runs this tells the failure.
        cause = error.error if isinstance(error, WorkerFailed) else error
        self.failure = self.failure or (cause if isinstance(cause, Exception) else error)
        self.exit()

    def compose(self) -> ComposeResult:
        """See `textual.app.App.compose`."""
        with ContentSwitcher(initial="search"):
            yield SearchView(self._memory)
            yield SessionsView(self._memory)
            yield UsageView(self._memory)
        yield Footer()

    def on_mount(self) -> None:
        """Begin with a query."""
        self.query_one(SearchView).focus_query()

    async def on_session_chosen(self, event: SessionChosen) -> None:
        """Show a session, with one event marked."""
        try:
            session = await asyncio.to_thread(self._memory.session, event.uid)
            order = await asyncio.to_thread(self._memory.reader().order, session.session_uid)
        except RecollectError as error:
            self.notify(safe_line(str(error)), severity="error", markup=False)
            return
        await self.push_screen(SessionScreen(self._memory, session, order, event.seq))

    def action_query(self) -> None:
        """Give the keys to the line for the query of the view."""
        if len(self.screen_stack) > 1:
            self.action_view("search")
        self._view().focus_query()

    def action_view(self, name: str) -> None:
        """Show another view."""
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self.screen_stack[0].query_one(ContentSwitcher).current = name
        self._view().focus_rows()

    def action_leave(self) -> None:
        """Leave what is on top, else go to the start."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.action_view("search")

    def action_help(self) -> None:
        """Show the keys."""
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())

    def _view(self) -> MemoryView:
        root = self.screen_stack[0]
        return root.query_one(f"#{root.query_one(ContentSwitcher).current}", MemoryView)


class SessionScreen(Screen[None]):
    """The transcript of one session, and what it was."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "resume", "Resume command")]

    def __init__(self, memory: Memory, session: Session, order: Sequence[int], seq: int) -> None:
        super().__init__()
        self._memory = memory
        self._session = session
        self._order = order
        self._seq = seq
        self._resume = ""

    def compose(self) -> ComposeResult:
        """See `textual.widget.Widget.compose`."""
        yield Static("", id="head", markup=False)
        yield TranscriptView(self._load, self._order, at=self._seq)
        yield Footer()

    def on_mount(self) -> None:
        """Give the keys to the transcript."""
        self.query_one(TranscriptView).focus()
        self._tell(self._seq)

    def _load(self, seq: int, limit: int) -> Iterable[Event]:
        return self._memory.browse.transcript(self._session, first=seq, limit=limit)

    def _tell(self, seq: int) -> None:
        session = self._session
        facts = (session.agent, session.repo, when(session.started_at, now_us()), session.outcome)
        told = " · ".join(safe_line(fact) for fact in facts if fact)
        title = safe_line(session.title) or "(no title)"
        place = f"{safe_line(session.session_uid)}#{seq} of {plural(session.event_count, 'event')}"
        self.query_one("#head", Static).update("\n".join(filter(None, (title, told, place, safe(self._resume)))))

    def on_transcript_view_moved(self, event: TranscriptView.Moved) -> None:
        """Say where the reader is."""
        self._tell(event.seq)

    def on_transcript_view_opened(self, event: TranscriptView.Opened) -> None:
        """Show the whole event."""
        with suppress(UnknownName):  # it was forgotten meanwhile
            self.app.push_screen(EventScreen(self._memory.browse.event(self._session, event.seq)[0]))

    def action_resume(self) -> None:
        """Show how the session's agent continues with it."""
        from recollect.memory import command_line

        try:
            command = self._memory.handoff.resume(self._session.session_uid)
            self._resume = command_line(command.command, command.folder)
        except RecollectError as error:
            self._resume = str(error)
        self._tell(self.query_one(TranscriptView).mark)


class EventScreen(Screen[None]):
    """One event, whole."""

    def __init__(self, event: Event) -> None:
        super().__init__()
        self._event = event

    def compose(self) -> ComposeResult:
        """See `textual.widget.Widget.compose`."""
        with VerticalScroll():
            yield Static("", id="whole", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Wrap the event to the screen."""
        from rich.text import Text

        whole = Text("\n").join(lines_of(self._event, max(20, self.size.width - 2), is_whole=True))
        self.query_one("#whole", Static).update(whole)
        self.query_one(VerticalScroll).focus()


class HelpScreen(ModalScreen[None]):
    """The keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,enter", "dismiss", "Back")]

    def compose(self) -> ComposeResult:
        """See `textual.widget.Widget.compose`."""
        yield Static(KEYS, markup=False)
