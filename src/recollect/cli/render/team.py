"""Renders the results of team commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.render.layout import clock, speed, when
from recollect.cli.render.session_list import title_of
from recollect.cli.terminal import Plain, put, safe, safe_line
from recollect.clock import now_us
from recollect.model.time import day_of
from recollect.model.undone import UNDONE
from recollect.units import count, plural, size

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.memory import FolderReport, PushReport, TeamSessionView, TeamStatus
    from recollect.model.team_citation import TeamCitation
    from recollect.model.team_messages import AuditPage, MemberView, SharedEvent
    from recollect.team.reports import BulkReport, DatabaseView, Invitation, TeamMade


def print_made(out: Console | Plain, made: TeamMade) -> None:
    """Print a new team."""
    put(out, f"the team {safe_line(made.team)} is made")
    put(out, "serve it with     ", f"RECOLLECT_TEAM_DATABASE='{made.server_url}' recollect team serve")
    put(out, f"invitation for {safe_line(made.person)}  ", made.code)


def print_invitation(out: Console | Plain, invitation: Invitation) -> None:
    """Print an invitation."""
    put(out, f"{safe_line(invitation.person)} can join as {invitation.role} within {plural(invitation.days, 'day')}:")
    put(out, invitation.code)


def print_members(out: Console | Plain, members: tuple[MemberView, ...]) -> None:
    """Print members, one a line."""
    for one in members:
        state = " · revoked" if one.is_revoked else ""
        machines = ", ".join(one.machines) or "no machine"
        group = f" · {one.group}" if one.group else ""
        put(out, safe_line(f"{one.person} · {one.role}{group}{state} · {machines}"))
        for machine, shares in one.shares.items():
            named = ", ".join(f"{repo} ({level})" for repo, level in shares.items())
            put(out, safe_line(f"    {machine} shares {named}"))


def print_database(out: Console | Plain, view: DatabaseView) -> None:
    """Print what a database holds."""
    put(out, safe_line(f"{view.team}: {plural(view.members, 'member')} on {plural(view.machines, 'machine')}"))
    put(out, f"{plural(view.sessions, 'session')}, {plural(view.events, 'event')}, schema {view.schema_version}")


def print_bulk(out: Console | Plain, report: BulkReport, *, is_dry_run: bool, total: int) -> None:
    """Print what a bulk import came to."""
    if is_dry_run:
        put(out, safe_line(f"would read {size(total)} in {plural(report.parts, 'part')} as {report.machine}"))
    else:
        what = f"{plural(report.sessions, 'session')} with {plural(report.events, 'event')}"
        put(out, safe_line(f"{what} of {report.machine} at the level {report.level}, {speed(total, report.seconds)}"))
    if report.unnamed:
        put(out, f"{plural(report.unnamed, 'session')} of no repository left out")
    if report.left_out:
        put(out, f"{plural(report.left_out, 'file')} left out that only repeat others, such as histories of prompts")
    for line in (*report.skipped, *report.failed):
        put(out, safe_line(line))


def print_push(out: Console | Plain, report: PushReport) -> None:
    """Print what was sent."""
    did = "would send" if report.is_dry_run else "sent"
    sent = "" if report.is_dry_run else f", {size(report.sent_bytes)}"
    what = f"{plural(report.sessions, 'session')} with {plural(report.events, 'event')}"
    put(out, safe_line(f"{did} {what} to {report.team} in {plural(report.batches, 'batch', 'batches')}{sent}"))
    if report.learnings or report.retired:
        put(out, f"{plural(report.learnings, 'learning')} new, {count(len(report.retired))} withdrawn")
    if report.withdrawn:
        put(out, f"{plural(len(report.withdrawn), 'session')} {'would be ' if report.is_dry_run else ''}withdrawn")


def print_audit(out: Console | Plain, page: AuditPage) -> None:
    """Print who asked what, newest first."""
    now = now_us()
    for line in page.lines:
        what = line.session_uid or "list of sessions"
        whose = f"saw {line.subject}'s {what}" if line.subject else "asked"
        put(out, safe_line(f"{when(line.at, now)} · {line.person} {whose} · {line.action} {line.detail}".rstrip()))
    if not page.lines:
        put(out, "nobody asked anything yet")


def print_status(out: Console | Plain, status: TeamStatus) -> None:
    """Print how this machine stands with its team."""
    server = status.server
    who = f"{status.person} on {status.machine}, {server.role if server is not None else 'member'} of {status.team}"
    until = f"; the token holds until {day_of(server.expires_at)}" if server is not None else ""
    put(out, safe_line(f"{who}{until}"))
    said = ", ".join(f"{repo} ({level})" for repo, level in status.shares.items()) or "nothing"
    there = ""
    if server is not None:
        there = f"; {count(len(server.held))} of {plural(len(server.known), 'session')} there are whole"
    put(out, safe_line(f"shared: {said}{there}"))
    last = when(status.pushed_at, now_us()) if status.pushed_at is not None else "never"
    put(out, f"last push: {last}; {plural(status.waiting, 'session')} waiting")
    for problem in dict.fromkeys(one for one in (status.failure, status.problem) if one):
        put(out, safe_line(problem))


def print_folder(out: Console | Plain, report: FolderReport) -> None:
    """Print what was exchanged through a folder."""
    did = ("would receive", "would send") if report.is_dry_run else ("received", "sent")
    others = ", ".join(report.machines) or "other machines"
    received = f"{plural(report.received_sessions, 'session')} ({size(report.received_bytes)})"
    put(out, safe_line(f"{did[0]} {received} from {others}"))
    sent = f"{plural(report.sent_sessions, 'session')} ({size(report.sent_bytes)})"
    put(out, safe_line(f"{did[1]} {sent} from {report.machine} in {plural(report.sent_batches, 'batch', 'batches')}"))
    if report.forgotten_sessions:
        put(out, f"{plural(report.forgotten_sessions, 'session')} forgotten, as on another machine")
    if report.removed_batches:
        replaced = plural(report.removed_batches, "batch", "batches")
        put(out, f"{replaced} with what was forgotten {'would be ' if report.is_dry_run else ''}removed")
    if report.waiting:
        put(out, f"{plural(report.waiting, 'batch waits', 'batches wait')} for others that are not here yet")
    if report.held_back:
        put(out, f"{plural(report.held_back, 'source stays', 'sources stay')} here: of excluded repositories")
    for one in report.refused:
        put(out, safe_line(f"skipped {one.path}: {one.reason}"))
    for note in report.notes:
        put(out, safe_line(note))


def print_team_session(out: Console, view: TeamSessionView, *, now_us: int, focus: TeamCitation) -> None:
    """Print what is known of a session and a page of its events by turn; the cited one in full."""
    from rich.text import Text

    from recollect.cli.render.layout import print_block, print_notes

    session = view.session
    put(out, (safe_line(title_of(session)), "bold"))
    put(out, (safe_line(session.citation), "cyan"))
    whose = f"{session.person} on {session.machine}"
    where = " ".join(part for part in (session.repo, f"({session.git_branch})" if session.git_branch else "") if part)
    counts = (plural(session.turn_count, "turn"), plural(session.event_count, "event"))
    facts = (whose, session.agent, where, when(session.started_at, now_us), session.outcome, *counts)
    put(out, " · ".join(safe_line(fact) for fact in facts if fact))
    turn = None
    for event in view.events:
        if event.turn_index != turn:
            turn = event.turn_index
            out.print()
            out.print(Text(f"── turn {turn} " if turn else "── before the first turn ", style="bold"))
        is_cited = (event.event_id, event.part) == (focus.event_id, focus.part)
        head, said = _head_and_text(event, in_full=is_cited)
        style = "reverse bold" if is_cited else "bold" if event.role == "user" else ""
        if said:
            out.print(Text(head, style=style))
            print_block(out, Text(safe(said)))
        else:
            out.print(Text(f"{head}  {safe_line(event.summary)}"), no_wrap=True, overflow="ellipsis")
    print_notes(out, view.notes)
    if view.next_seq is not None and not focus.event_id:
        out.print(Text(f"continue with --from {view.next_seq}", style="dim"))


_TALK = ("user_message", "assistant_message", "compaction")


def _head_and_text(event: SharedEvent, *, in_full: bool) -> tuple[str, str]:
    """Return what stands above an event, and what it says where that is shown in full."""
    undone = f" ({UNDONE})" if event.is_undone else ""
    who = event.role if event.kind in _TALK else " ".join(filter(None, (event.kind, event.tool)))
    return f"#{event.seq:<5} {clock(event.ts)}  {safe_line(who)}{undone}", (
        event.text.strip() if in_full or event.kind in _TALK else ""
    )
