"""Renders a session with its turns, timelines, and an entry with its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.layout import clock, print_block, print_notes, stamp, when
from recollect.cli.render.session_list import title_of
from recollect.cli.terminal import put, safe, safe_line
from recollect.model.payloads import AssistantMessage, Compaction, Instructions, UserMessage
from recollect.model.text import flatten, searchable
from recollect.model.undone import UNDONE
from recollect.units import count, plural

if TYPE_CHECKING:
    from recollect.memory import EntryView, SessionView, Timeline
    from recollect.model.events import Event
    from recollect.model.sessions import Session


_LEFT_OUT = ("token_usage",)
"""Between any two events of a session there is one of these; the footer counts them, and --json has them."""
_BRIEF = ("token_usage", "unknown", "lifecycle", "session_start", "session_end")


def print_session(out: Console, view: SessionView, *, now_us: int, focus: int | None = None) -> None:
    """Print a session's facts and a page of its events by turn; with `focus`, that event in full."""
    _print_facts(out, view.session, now_us)
    turn: int | None = None
    left_out = 0
    for event in view.events:
        if event.kind in _LEFT_OUT and event.seq != focus:
            left_out += 1
            continue
        if event.turn_index != turn:
            turn = event.turn_index
            out.print()
            out.print(Text(f"── turn {turn} " if turn else "── before the first turn ", style="bold"))
        _print_event(out, event, in_full=event.seq == focus)
    print_notes(out, view.notes)
    out.print()
    if view.events:
        first, last = view.events[0].seq, view.events[-1].seq
        more = f" · continue with --from {view.next_seq}" if view.next_seq is not None and focus is None else ""
        silent = f" · {plural(left_out, 'token count')} left out, see `recollect usage`" if left_out else ""
        shown = f"#{first} to #{last} of {plural(view.session.event_count, 'event')}{silent}{more}"
        put(out, (shown, "dim"))


def _print_facts(out: Console, s: Session, now_us: int) -> None:
    put(out, (safe_line(title_of(s)), "bold"))
    put(out, (safe_line(s.session_uid), "cyan"))
    where = " ".join(x for x in (s.repo, f"({s.git_branch})" if s.git_branch else "") if x)
    facts = [s.agent, where, when(s.started_at, now_us), ", ".join(s.models)]
    facts += [plural(s.turn_count, "turn"), plural(s.event_count, "event")]
    put(out, " · ".join(safe_line(f) for f in facts if f))
    lineage = (("part of", s.parent_session), ("forked from", s.forked_from), ("resumed from", s.resumed_from))
    for relation, other in lineage:
        if other:
            put(out, f"{relation} {safe_line(other)}")


def _print_event(out: Console, event: Event, *, in_full: bool) -> None:
    """Print talk in full, the rest as its summary; everything where asked."""
    payload = event.payload
    talks = isinstance(payload, UserMessage | AssistantMessage | Compaction)
    injected = isinstance(payload, UserMessage) and payload.origin == "injected"
    who = event.role if talks else event.kind
    mark = " (injected)" if injected else " (sidechain)" if event.is_sidechain else ""
    undone = f" ({UNDONE})" if event.is_undone else ""
    head = f"#{event.seq:<5} {clock(event.ts)}  {who}{mark}{undone}"
    full = in_full or (talks and not injected)
    body = _body(event, in_full=in_full) if full else ""
    if body:
        out.print(Text(head, style="reverse bold" if in_full else "bold" if event.role == "user" else ""))
        print_block(out, Text(safe(body)))
    else:
        style = "dim" if event.kind in _BRIEF or injected or isinstance(payload, Instructions) else ""
        gist = event.summary or "(no text)"
        out.print(Text(f"{head}  {safe_line(gist)}", style=style), no_wrap=True, overflow="ellipsis")


def _body(event: Event, *, in_full: bool) -> str:
    """Return the text of an event; where it has none and all of it is asked for, its fields."""
    payload = event.payload
    if isinstance(payload, Compaction):
        return payload.summary
    text = searchable(payload)[1].strip()
    if (text and event.kind != "file_edit") or not in_full:
        return text
    import msgspec

    return flatten(msgspec.to_builtins(payload))


def print_timeline(out: Console, timeline: Timeline) -> None:
    """Print one line per event with its citation; a day's date where it begins."""
    day = ""
    for entry in timeline.entries:
        today = stamp(entry.ts)[:10]
        if today != day:
            day = today
            out.print(Text(day, style="bold"))
        cite = safe_line(f"{entry.session_uid}#{entry.seq}")
        undone = f"({UNDONE}) " if entry.is_undone else ""
        line = Text(f"{clock(entry.ts)}  {entry.kind:<17} {undone}{safe_line(entry.summary)}  ")
        out.print(line.append(cite, "cyan"), soft_wrap=True)
    if not timeline.entries:
        out.print("nothing in this range")
    print_notes(out, timeline.notes)
    shown = len(timeline.entries)
    if timeline.total:
        more = " · see more with --limit, or others with --after and --before" if shown < timeline.total else ""
        put(out, (f"{count(shown)} of {plural(timeline.total, 'event')}{more}", "dim"))


def print_entry(out: Console, view: EntryView, *, now_us: int, focus: int | None = None) -> None:
    """Print what an entry is and a page of its parts, each with its citation; with `focus`, that one marked."""
    put(out, (safe_line(view.title) or "(no title)", "bold"))
    put(out, (safe_line(view.uid), "cyan"))
    facts = (view.kind, view.state, view.status, view.agent, view.repo, view.path, when(view.ts, now_us))
    put(out, " · ".join(safe_line(fact) for fact in facts if fact))
    if view.session_uid:
        put(out, f"from session {safe_line(view.session_uid)}")
    for part in view.parts:
        out.print()
        if view.part_count > 1:
            head = f"#{part.part}  {safe_line(part.heading)}".rstrip()
            put(out, (head, "reverse bold" if part.part == focus else "bold"))
        print_block(out, Text(safe(part.text)))
    print_notes(out, view.notes)
    if view.next_part is not None:
        more = f"{plural(view.part_count, 'part')} in all · continue with --from {view.next_part}"
        out.print()
        put(out, (more, "dim"))
