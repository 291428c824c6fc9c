"""Renders maintenance: health, verification, backups, exports, erasure, keys, the service and the daemon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec
from rich.console import Console
from rich.text import Text

from recollect.cli.render.layout import ago, plain_table, print_notes, stamp
from recollect.cli.render.sync import SHOWN
from recollect.cli.terminal import put, safe, safe_line
from recollect.model.payloads import Payload
from recollect.model.text import flatten, one_line, searchable
from recollect.units import count, duration, plural, size

if TYPE_CHECKING:
    from recollect.memory import (
        AuditEntry,
        BackupReport,
        DeepPart,
        DoctorReport,
        ExcludedView,
        Exported,
        FileVerifyReport,
        Fix,
        ForgetReport,
        ForgottenList,
        KeyChange,
        KeyStatus,
        LearningNow,
        LedgerDefect,
        LiveStatus,
        NoteToForget,
        RepairReport,
        RestoreReport,
        RevealedEvent,
        ServiceReport,
        SessionToForget,
        VerifyReport,
    )
    from recollect.serve.daemon_control import DaemonAnswer


_MARKS = {"ok": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}


def print_fix(out: Console, step: Fix) -> None:
    """Print what is about to be done, or would be."""
    put(out, safe_line(f"to do: {step.does}"))


def print_repair(out: Console, report: RepairReport) -> None:
    """Print what was repaired, and what is still damaged."""
    for step in report.steps:
        if step.state != "would":
            _print_done(out, step)
    if not report.steps:
        out.print(Text("nothing is damaged", style="bold"))
    elif report.ok:
        out.print(Text("everything is repaired", style="bold"))
    for source in report.left.sources:
        line = f"missing: {source.bytes:,} bytes of {source.path} ({', '.join(source.sessions) or 'no session'})"
        put(out, (safe_line(line), "red"))


def _print_done(out: Console, step: Fix) -> None:
    line = f"{step.state}: {step.does}{': ' if step.detail else ''}{step.detail}"
    put(out, (safe_line(line), "green" if step.state == "done" else "red"))


def print_doctor(out: Console, report: DoctorReport) -> None:
    """Print a line per check, with what to do where it isn't ok."""
    for step in report.fixes:
        if step.state != "would":
            _print_done(out, step)
    for check in report.checks:
        mark, style = _MARKS[check.state]
        put(out, (mark, style), f"  {safe_line(check.name)}: {safe_line(check.detail)}")
        if check.hint and check.state != "ok":
            put(out, (f"      hint: {safe_line(check.hint)}", "dim"))
    failed = sum(c.state == "fail" for c in report.checks)
    out.print(Text("healthy" if report.ok else f"{plural(failed, 'check')} failed", style="bold"))


LOST_SHOWN = 10
_KEYS = {
    "included": "it contains the key: whoever has the backup can open it",
    "left_out": "it does not contain the wrapping key",
    "elsewhere": "it does not contain the wrapping key: that is in the system's keyring",
}


def print_backup(out: Console, report: BackupReport) -> None:
    """Print what was copied, that it was read again, and whether it has the key."""
    put(
        out,
        safe_line(
            f"{report.target}: {plural(report.sessions, 'session')}, {plural(report.events, 'event')}, "
            f"{size(report.bytes)} in {plural(report.files, 'file')}; {size(report.copied_bytes)} copied"
        ),
    )
    put(out, f"read back: {plural(report.chunks, 'chunk')} opened, every hash matches")
    out.print(_KEYS[report.key], soft_wrap=True)
    print_notes(out, report.notes)
    out.print(Text(f"the memory as of {stamp(report.made_at)}, in {duration(report.seconds)}", style="dim"))


def print_restored(out: Console, report: RestoreReport) -> None:
    """Print what is there now, and what was there before and is not."""
    sums = f"{plural(report.sessions, 'session')}, {plural(report.events, 'event')}"
    put(out, safe_line(f"{report.home}: {sums}, as of {stamp(report.made_at)}"))
    put(out, f"{plural(report.chunks, 'chunk')} opened before anything changed")
    if report.forgotten:
        put(out, f"{plural(report.forgotten, 'session')} forgotten again")
    if report.lost_sessions:
        lacking = f"{plural(report.lost_sessions, 'session')} ({plural(report.lost_events, 'event')})"
        put(out, (f"missing from the backup, or incomplete in it: {lacking}", "yellow"))
        for uid in report.lost[:LOST_SHOWN]:
            put(out, (f"  {safe_line(uid)}", "dim"))
        if report.lost_sessions > LOST_SHOWN:
            out.print(Text(f"  {report.lost_sessions - LOST_SHOWN:,} more; --json has the first hundred", style="dim"))
    if report.aside:
        put(out, safe_line(f"the old memory is in {report.aside}"))
    print_notes(out, report.notes)


_TEXT_CHARS = 100
LISTED = 50
"""Sessions listed one by one; the rest is counted. `--json` has all."""
_KINDS = {
    "session": "sessions", "event": "events, by the id that their agent gave them", "record": "records",
    "excluded": "sessions of excluded repositories", "written": "learned, noted, documented or decided",
}  # fmt: skip


def print_forgotten(out: Console, report: ForgetReport) -> None:
    """Print the sessions that would go, or what went, and what one should know of it."""
    if report.state == "nothing":
        out.print("nothing in the memory matches")
    elif report.state == "busy":
        out.print(Text("another process is ingesting into this memory; nothing was forgotten", style="yellow"))
    if report.sessions:
        for session in report.sessions[:LISTED]:
            put(out, _line(session))
        if len(report.sessions) > LISTED:
            out.print(Text(f"{len(report.sessions) - LISTED:,} more; --json lists them", style="dim"))
    if report.kept_copies:
        kept = ", ".join(report.kept_copies[:LISTED])
        line = f"not forgotten: {kept} {'goes' if len(report.kept_copies) == 1 else 'go'} on from one that goes"
        put(out, (safe_line(f"{line}, and may repeat it"), "yellow"))
    _print_some(out, "learnings, decisions and notes that go with it:", [_note_line(one) for one in report.learned])
    retired = [_note_line(one) for one in report.taken_back]
    _print_some(
        out, "replaced by a decision that goes; it is retired, so that it does not become valid again:", retired
    )
    again = [_note_line(one) for one in report.holds_again]
    _print_some(out, "replaced by a decision that goes; it is valid again:", again)
    _print_some(out, "files of yours and your agents' still contain it; they are not touched:", report.files)
    print_notes(out, report.notes)
    if report.state in ("planned", "done"):
        put(out, (_sum_line(report), "dim"))


def _print_some(out: Console, heading: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    out.print(heading)
    for line in lines[:LISTED]:
        put(out, f"  {safe_line(line)}")
    if len(lines) > LISTED:
        out.print(Text(f"  {len(lines) - LISTED:,} more; --json lists them", style="dim"))


def _note_line(one: NoteToForget) -> str:
    return f"{one.name} · {one_line(one.text, _TEXT_CHARS)}" if one.text else one.name


def print_tombstones(out: Console, found: ForgottenList) -> None:
    """Print how much was ever forgotten, and when."""
    if not found.groups:
        out.print("nothing has been forgotten")
        return
    rows = [(stamp(g.forgotten_at), count(g.count), _KINDS[g.kind]) for g in found.groups]
    out.print(plain_table(("when", "tombstones", "of"), rows))


def _line(s: SessionToForget) -> str:
    goes = "whole" if s.is_whole else "in part"
    if s.because_of:
        goes = f"with {s.because_of}"
    facts = (s.session_uid, s.repo, stamp(s.started_at), goes, plural(s.events, "event"))
    return safe_line(" · ".join(fact for fact in facts if fact))


def _sum_line(report: ForgetReport) -> str:
    from_sessions = [plural(report.whole_sessions, "whole session")] if report.whole_sessions else []
    if report.partial_sessions:
        from_sessions.append(f"parts of {plural(report.partial_sessions, 'session')}")
    what = [f"{plural(report.events, 'event')} ({' and '.join(from_sessions)})"] if from_sessions else []
    if report.learned:
        what.append(plural(len(report.learned), "learning, decision or note", "learnings, decisions and notes"))
    done = {"planned": "would go", "done": "forgotten"}[report.state]
    line = f"{done}: {', '.join(what) or 'notes of the memory itself'}; {size(report.bytes)} of transcripts"
    return line if report.state == "planned" else f"{line}, {size(max(0, report.freed_bytes))} of disk freed"


_PLACES = {"file": "in a file of the memory's home (keys/wrapping.key)", "keyring": "in the system's keyring"}


def print_key_status(out: Console, status: KeyStatus) -> None:
    """Print which key is in force, where it is, and whether it opens."""
    put(out, f"wrapping key {safe_line(status.key_id)}, kept {_PLACES[status.kept]}")
    if status.opens:
        out.print(Text("the archive can be opened", style="green"))
    else:
        put(out, (safe_line(f"the archive CANNOT be opened: {status.problem}"), "red"))
        if status.hint:
            put(out, (safe_line(status.hint), "dim"))
    keyring = f"keyring here: {status.keyring}" if status.keyring else "no usable keyring on this machine"
    put(out, (safe_line(keyring), "dim"))
    if status.is_unfinished:
        print_notes(out, ("a key rotation was interrupted; `recollect keys rotate` finishes it",))


def print_key_change(out: Console, change: KeyChange) -> None:
    """Print what was changed."""
    put(out, (f"new wrapping key {change.key_id}, kept {_PLACES[change.kept]}", "green"))
    out.print(Text(f"the one before ({change.key_id_before}) opens only backups made before", style="dim"))
    print_notes(out, change.notes)


def print_revealed(out: Console, shown: tuple[RevealedEvent, ...]) -> None:
    """Print events in their original words; nothing in them can control the terminal."""
    for event in shown:
        head = f"{event.session_uid}#{event.seq}  {stamp(event.ts)}  {event.kind}"
        put(out, (safe_line(head), "cyan"))
        payload = msgspec.convert(event.payload, Payload)
        text = searchable(payload)[1].strip() or flatten(event.payload)
        put(out, safe(text))
        if event.left:
            note = f"{plural(len(event.left), 'secret')} of it cannot be told from its record; --raw has its bytes"
            print_notes(out, (note,))
        out.print()
    secrets = sum(event.secrets for event in shown)
    summary = f"{plural(len(shown), 'event')} with {plural(secrets, 'secret')} shown; logged"
    put(out, (summary, "dim"))


def print_log(out: Console, entries: tuple[AuditEntry, ...]) -> None:
    """Print what was revealed, one line each."""
    if not entries:
        out.print("nothing has been revealed")
        return
    rows = [
        (
            stamp(entry.at),
            safe_line(str(entry.value.get("by", ""))),
            safe_line(f"{entry.value.get('session_uid', '')}#{entry.value.get('first_seq', '')}"),
            str(entry.value.get("events", "")),
            str(entry.value.get("secrets", "")),
            str(entry.value.get("as", "")),
        )
        for entry in entries
    ]
    out.print(plain_table(("when", "by", "from", "events", "secrets", "as"), rows))


_STATES = {
    "planned": ("nothing was done", "dim"),
    "installed": ("installed", "green"),
    "unchanged": ("nothing to do: it is already installed", "green"),
    "removed": ("removed", "green"),
    "not_installed": ("no service is installed; run `recollect service install`", "dim"),
    "incomplete": ("not as installed", "yellow"),
    "failed": ("FAILED", "red"),
}
_FILES = {"write": "write", "delete": "delete", "none": "leave", "left": "LEAVE"}
_COMMANDS = {"planned": "", "ok": "green", "failed": "red", "ignored": "dim"}


def print_service(out: Console, report: ServiceReport) -> None:
    """Print what the service is, every file and command, and how it went."""
    if report.manager:
        how = f"{report.kind}, {report.every}" if report.every else report.kind
        put(out, (safe_line(f"{report.name} ({report.manager}): {how}"), "bold"))
    for step in report.files:
        line = f"  {_FILES[step.action]} {step.path}" + (f" ({step.detail})" if step.detail else "")
        put(out, (safe_line(line), "yellow" if step.action == "left" else ""))
        for line in step.text.splitlines():
            put(out, (f"      {safe(line)}", "dim"))
    for command in report.commands:
        line = f"  run {' '.join(command.argv)}" + (f" ({command.detail})" if command.detail else "")
        put(out, (safe_line(line), _COMMANDS[command.state]))
    text, style = _STATES[report.state]
    more = f": {report.detail}" if report.detail else ""
    put(out, (safe_line(text + more), style))
    if report.logs and report.state in ("installed", "unchanged", "incomplete", "failed"):
        put(out, (safe_line(f"its log: {report.logs}"), "dim"))
    print_notes(out, report.notes)


_DAEMON_STYLES = {"running": "green", "failing": "red", "not answering": "red", "not running": "yellow"}


def print_status(out: Console, answer: DaemonAnswer) -> None:
    """Print how a daemon is: one line, then what it does, then what fails."""
    line = Text(answer.state, style=_DAEMON_STYLES[answer.state])
    if answer.pid:
        line.append(f", process {answer.pid}, version {safe_line(answer.version)}", style="default")
    out.print(line.append(f", {safe_line(answer.home)}", style="default"), soft_wrap=True)
    if answer.is_other_version:
        print_notes(out, ["it was started before an upgrade: `recollect up --stop`, then start it again"])
    if answer.no_socket:
        without = "hooks and searches cannot reach it and work without it"
        print_notes(out, [f"{without}: {answer.no_socket}"])
    if answer.state == "not running":
        out.print("start it: recollect up --detach", highlight=False)
    if answer.status is not None:
        _print_work(out, answer.status, page=answer.page)


def _print_work(out: Console, status: LiveStatus, *, page: str) -> None:
    now, done = status.now, status.counters
    passes = plural(done.passes, "pass", "passes")
    rows = [
        ("page", safe_line(page) if page else f"none: {safe_line(status.http)}"),
        ("phase", f"{status.phase}, {plural(status.waiting_paths, 'changed path')} waiting"),
        ("last pass", _since(status.last_pass_at, now)),
        ("last full pass", _since(status.last_full_at, now)),
        ("ingested", f"{plural(done.events, 'event')}, {size(done.bytes)} in {passes}"),
        ("analysed", plural(done.distilled_sessions, "session")),
        ("retention", _since(status.last_sweep_at, now)),
        *([("learning", _learning(status.learning, now))] if status.learning is not None else []),
        ("hooks", f"{count(done.hook_answers)} answered"),
        ("watched", _watched(status)),
    ]
    if status.delay is not None:
        delay = status.delay
        text = f"p50 {delay.p50_ms:g} ms, p95 {delay.p95_ms:g} ms, from notice, of the latest {delay.count}"
        rows.insert(5, ("searchable in", text))
    for name, value in rows:
        put(out, f"  {name:<15}{value}")
    for failure in status.failures:
        text = f"{failure.work}: {failure.code}: {failure.message} ({failure.times} in a row, {ago(failure.at, now)})"
        put(out, (f"fails: {safe_line(text)}", "red"))
    learning = status.learning
    if learning is not None and learning.is_failing:
        put(out, (f"fails: learning is paused: {safe_line(learning.paused)}", "red"))
    print_notes(out, status.notes)


def _learning(learning: LearningNow, now: int) -> str:
    if not learning.enabled:
        return "switched off"
    text = f"{plural(learning.learnings, 'learning')}, {plural(learning.sessions_waiting, 'session')} waiting"
    text += f", last run {_since(learning.last_run_at, now)}"
    if learning.provider:
        text += f"; {learning.provider}: {plural(learning.turns_waiting, 'question')} waiting"
        text += f", ${learning.spent_today_usd:.4f} spent today"
        text += f", paused: {safe_line(learning.paused)}" if learning.paused and not learning.is_failing else ""
    others = (("given up", learning.dead), ("held back", learning.held_back))
    return text + "".join(f"; {count(number)} {name}" for name, number in others if number)


def _since(at: int | None, now: int) -> str:
    return "not yet" if at is None else ago(at, now)


def _watched(status: LiveStatus) -> str:
    polled = [place for place in status.watched if place.how == "polled"]
    text = plural(len(status.watched), "folder")
    if polled:
        reasons = ", ".join(sorted({place.reason for place in polled}))
        text += f", {len(polled)} of them polled every 2 s ({safe_line(reasons)})"
    return text


def print_excluded(out: Console, view: ExcludedView, *, notes: Sequence[str] = ()) -> None:
    """Print what is excluded, and what of it is stored."""
    for repo in view.exclude_repos:
        put(out, f"excluded: {safe_line(repo)}")
    if not view.exclude_repos:
        out.print("no repository is excluded")
    if view.stored_sessions:
        text = f"already stored: {plural(view.stored_sessions, 'session')}; to erase, run {view.erasing}"
        put(out, (safe_line(text), "yellow"))
    print_notes(out, notes)


def print_verify(out: Console, report: VerifyReport) -> None:
    """Print what was checked, every loss, and the sources whose ledger doesn't close."""
    put(
        out,
        f"checked {plural(report.sources, 'source')}, {plural(report.revisions, 'revision')}, "
        f"{plural(report.chunks, 'chunk')}, {plural(report.records, 'record')}, {size(report.bytes)} "
        f"in {duration(report.seconds)}",
    )
    put(out, f"{plural(report.events, 'event')}, {plural(report.unknown, 'record')} of unknown type (kept)")
    for what, gone in (
        ("evicted", report.evicted_bytes),
        ("forgotten", report.forgotten_bytes),
        ("evicted before it was analysed", report.lost_bytes),
    ):
        if gone:
            put(out, f"{size(gone)} {what}: deleted on purpose, not missing")
    if report.nodes_without_raw:
        put(out, f"{plural(report.nodes_without_raw, 'node')} of which evidence is gone so")
    losses = [d for d in report.defects if d.is_loss]
    _print_defects(out, "LOST", losses, "red")
    _print_bent(out, [d for d in report.defects if not d.is_loss])
    for ledger in [x for x in report.ledgers if not x.is_ok][:SHOWN]:
        what = (
            f"bytes {ledger.bytes_in:,} in, {ledger.bytes_out:,} out; "
            f"records {ledger.records_in:,} in, {ledger.records_out:,} out"
        )
        put(out, (safe_line(f"not complete: {ledger.path}: {what}"), "red"))
    if report.deep:
        print_deep(out, report.deep)
    verdict = "ok: every stored byte and record is there"
    if not all(part.ok for part in report.deep):
        verdict = "NOT ok: derived data differs from the archive"
    if losses:
        verdict = "NOT ok: stored content is missing or damaged"
    out.print(Text(verdict, style="bold green" if report.ok else "bold red"))


def print_deep(out: Console, parts: Sequence[DeepPart]) -> None:
    """Print a line per part of what was derived again, and its first differences."""
    for part in parts:
        skipped = f", {part.skipped:,} not due or evicted" if part.skipped else ""
        notes = "".join(f"; {note}" for note in part.notes)
        mark, style = ("ok  ", "green") if part.ok else ("DIFFERS", "red")
        what = f"  {part.name}: {part.checked:,} derived again and compared{skipped}{notes}"
        put(out, (mark, style), what)
        for difference in part.differences[:SHOWN]:
            put(out, (safe_line(f"      {difference.what}: {difference.detail}"), "red"))
        if part.count > SHOWN:
            out.print(Text(f"      {part.count - SHOWN:,} more (see --json)", style="red"))


def _print_defects(out: Console, label: str, defects: Sequence[LedgerDefect], style: str) -> None:
    for d in defects[:SHOWN]:
        place = ":".join(
            str(x) for x in (d.path or d.source_id, d.record_index if d.record_index >= 0 else "") if x != ""
        )
        put(out, (safe_line(f"{label}: {d.code} {place} {d.detail}"), style))
    if len(defects) > SHOWN:
        out.print(Text(f"{label}: {len(defects) - SHOWN:,} more (see --json)", style=style))


def _print_bent(out: Console, defects: Sequence[LedgerDefect]) -> None:
    """Print what agents wrote that could not be read as meant: a line for each kind in each source, with the first."""
    alike: dict[tuple[str, str], list[LedgerDefect]] = {}
    for d in defects:
        alike.setdefault((d.path or d.source_id, d.code), []).append(d)
    for (path, code), found in list(alike.items())[:SHOWN]:
        first = f", first in record {found[0].record_index}" if found[0].record_index >= 0 else ""
        detail = f": {found[0].detail}" if found[0].detail else ""
        line = f"kept as written: {count(len(found))} {code} in {path}{first}{detail}"
        put(out, (safe_line(line), "yellow"))
    if len(alike) > SHOWN:
        out.print(Text(f"kept as written: {len(alike) - SHOWN:,} more kinds and sources (see --json)", style="yellow"))


def print_exported(out: Console, files: Sequence[Exported]) -> None:
    """Print the path of every file written."""
    if not files:
        click.echo("no session matches", err=True)
    for file in files:
        holes = f", {plural(file.holes, 'hole')}" if file.holes else ""
        put(out, f"{safe_line(file.path)}  ({file.format}, {size(file.bytes)}{holes})")
        for hole in file.missing[:SHOWN]:
            line = f"  not in it: {hole.length_bytes:,} bytes at {hole.offset_bytes:,}, {hole.reason}"
            put(out, (safe_line(f"{line} {stamp(hole.removed_at)}"), "yellow"))


def print_file_verify(out: Console, report: FileVerifyReport) -> None:
    """Print what was read, a line for each check, the defects, and the sum."""
    whose = report.agent or "several agents"
    how = "recognised by its content" if report.is_told_by_content else "as you said"
    put(
        out,
        safe_line(
            f"{report.path}: {whose}, {how}; {size(report.bytes)}, {plural(report.records, 'record')}, "
            f"{plural(report.sessions, 'session')}, {plural(report.events, 'event')}, {plural(report.nodes, 'node')}"
        ),
    )
    for check in report.checks:
        line = Text("ok   " if check.ok else "FAIL ", style="green" if check.ok else "red")
        line.append(check.name, style="default")
        if check.detail:
            line.append(f": {safe_line(check.detail)}", style="default")
        out.print(line, soft_wrap=True)
    for code, number in sorted(report.defects.items()):
        put(out, f"     {plural(number, 'defect')} {code}")
    out.print("all of it is accounted for" if report.ok else "something is missing or differs", soft_wrap=True)
