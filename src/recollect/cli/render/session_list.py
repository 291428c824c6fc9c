"""Renders lists of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.render.layout import print_notes, stamp
from recollect.cli.terminal import Plain, console, pipe_width, put, safe_line
from recollect.units import count, plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from recollect.memory import SessionPage, TeamSessionPage
    from recollect.model.sessions import Session


TABLE_WIDTH = 130
"""Narrower terminals get two lines per session: a session's uid is never cut, it is there to be copied."""
_SET_IN = "  "


def print_sessions(out: Console | Plain, page: SessionPage | TeamSessionPage, *, offset: int) -> None:
    """Print a list of sessions, newest first, and how to see more."""
    if isinstance(out, Plain) and not _is_plain(page):
        out = console()
    if not isinstance(out, Plain) and out.width >= TABLE_WIDTH and page.sessions:
        out.print(_table(page.sessions))
    else:
        for session in page.sessions:
            _print_two_lines(out, session)
    if not page.sessions:
        out.print("no sessions")
    print_notes(out, page.notes)
    last = offset + len(page.sessions)
    more = f" · continue with --offset {last}" if page.sessions and last < page.total else ""
    first = offset + 1 if page.sessions else 0
    if page.total:
        shown = f"{count(first)}-{count(last)} of {plural(page.total, 'session')}{more}"
        put(out, (shown, "dim"))


def _is_plain(page: SessionPage) -> bool:
    """Return whether rich, which takes long to load, would print nothing else: other letters may be wider than long."""
    titles = (safe_line(title_of(s)) for s in page.sessions)
    return pipe_width() < TABLE_WIDTH and all(title.isascii() and title == title.rstrip() for title in titles)


def _table(sessions: tuple[Session, ...]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    table.add_column("started", no_wrap=True)
    table.add_column("repo", no_wrap=True, max_width=20, overflow="ellipsis")
    table.add_column("turns", justify="right")
    table.add_column("events", justify="right")
    table.add_column("title", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("session", no_wrap=True, style="cyan", overflow="fold")
    for s in sessions:
        row = (stamp(s.started_at), s.repo, count(s.turn_count), count(s.event_count), title_of(s), cited(s))
        table.add_row(*(Text(safe_line(cell)) for cell in row))
    return table


def _print_two_lines(out: Console | Plain, s: Session) -> None:
    facts = (stamp(s.started_at), s.agent, s.repo, plural(s.turn_count, "turn"), plural(s.event_count, "event"))
    put(out, " · ".join(safe_line(f) for f in facts if f))
    title = safe_line(title_of(s))
    if isinstance(out, Plain):
        line, width = _SET_IN + title, pipe_width()
        out.print(line if len(line) <= width else f"{line[: width - 1]}…")
    else:
        from rich.text import Text

        out.print(Text.assemble(_SET_IN, (title, "bold")), no_wrap=True, overflow="ellipsis")
    put(out, _SET_IN, (safe_line(cited(s)), "cyan"))


def cited(s: Session) -> str:
    """Return what `recollect show` opens a session by: of a team's, who shared it belongs to that."""
    return getattr(s, "citation", "") or s.session_uid


def title_of(s: Session) -> str:
    """Return a session's title, or what it has instead."""
    part = f" [{s.agent_name or 'subagent'}]" if s.parent_session else ""
    return (s.title or ("(no title)" if s.turn_count else "(no prompt)")) + part
