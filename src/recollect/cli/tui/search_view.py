"""The start view: search while you type, hits by session; without a query, the newest sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from recollect.cli.render.layout import when
from recollect.cli.terminal import safe_line
from recollect.cli.tui.lists import MemoryView, QueryInput, RowList, SessionChosen
from recollect.clock import now_us
from recollect.errors import RecollectError
from recollect.memory import Hit, Memory, SearchAnswer, matched_words
from recollect.model.sessions import Session
from recollect.units import plural

LIMIT = 50
PAUSE_S = 0.15
"""After a key, until it is searched: nobody reads what every letter finds."""


class SearchView(MemoryView):
    """A query, and what it finds."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, "search")

    def compose(self) -> ComposeResult:
        """See `textual.widget.Widget.compose`."""
        yield QueryInput(placeholder='search: words, "a phrase", repo:shop, after:1w', id="query")
        yield Static("", id="found", markup=False)
        yield RowList(id="hits", markup=False)

    def on_mount(self) -> None:
        """Begin with what happened lately."""
        self.search("")

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self.search(event.value)

    @on(Input.Submitted, "#query")
    def _submitted(self) -> None:
        self.focus_rows()

    @on(OptionList.OptionSelected, "#hits")
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        if event.option_id:
            uid, _, seq = event.option_id.rpartition("#")
            self.post_message(SessionChosen(uid, int(seq)))

    @work(exclusive=True)
    async def search(self, text: str) -> None:
        """Show what a query finds, without one the newest sessions. A newer one takes its place."""
        query = text.strip()
        found, rows = self.query_one("#found", Static), self.query_one(RowList)
        try:
            options, told = await (self._found(query) if query else self._newest())
        except RecollectError as error:
            found.update(safe_line(str(error)))
            return
        rows.clear_options().add_options(options)
        found.update(told)
        if options:
            rows.action_first()

    async def _newest(self) -> tuple[list[Option], str]:
        page = await asyncio.to_thread(self._memory.sessions, limit=LIMIT)
        return list(_recent(page.sessions)), f"the newest of {plural(page.total, 'session')}"

    async def _found(self, query: str) -> tuple[list[Option], str]:
        await asyncio.sleep(PAUSE_S)
        answer = await asyncio.to_thread(self._memory.search, query, limit=LIMIT)
        uids = tuple({hit.session_uid for hit in answer.hits})
        sessions = await asyncio.to_thread(self._memory.recall.sessions, uids)
        return list(_hits(answer, sessions)), _summary(answer)


def _summary(answer: SearchAnswer) -> str:
    how = f"{answer.match_level} · " if answer.hits else "nothing found · "
    notes = "".join(f"\nnote: {safe_line(note)}" for note in answer.notes)
    return f"{len(answer.hits):,} of {plural(answer.total, 'event')} · {how}{answer.took_ms:,.0f} ms{notes}"


def _recent(sessions: tuple[Session, ...]) -> Iterator[Option]:
    now = now_us()
    for session in sessions:
        text = Text(safe_line(session.title) or "(no title)", style="bold", no_wrap=True, overflow="ellipsis")
        facts = (session.agent, when(session.started_at, now), session.repo, plural(session.turn_count, "turn"))
        text.append("\n" + " · ".join(safe_line(fact) for fact in facts if fact), "dim not bold")
        yield Option(text, id=f"{session.session_uid}#0")


def _hits(answer: SearchAnswer, sessions: dict[str, Session]) -> Iterator[Option]:
    """Yield an option for each hit, below the title of its session; what was learned or noted has none."""
    words, now = matched_words(answer.query), now_us()
    by_session: dict[str, list[Hit]] = {}
    for hit in answer.hits:
        by_session.setdefault(hit.session_uid, []).append(hit)
    for uid, hits in by_session.items():
        session = sessions.get(uid)
        title = safe_line(session.title) if session is not None else safe_line(uid)
        facts = (hits[0].agent, hits[0].repo, when(hits[0].ts, now))
        head = Text(title or "(no title)", style="bold", no_wrap=True, overflow="ellipsis")
        head.append("  " + " · ".join(safe_line(fact) for fact in facts if fact), "dim not bold")
        yield Option(head, disabled=True)
        for hit in hits:
            text = Text(f"#{hit.seq} {hit.kind.replace('_', ' ')}  ", style="dim")
            passage = Text(safe_line(hit.snippet or hit.summary), style="not dim")
            if words is not None:
                passage.highlight_regex(words, "reverse")
            yield Option(text.append_text(passage), id=f"{uid}#{hit.seq}" if session is not None else None)
