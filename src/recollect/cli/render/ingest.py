"""Renders what was ingested, exported, embedded and verified."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from rich.console import Console
from rich.text import Text

from recollect.cli.render.layout import plain_table, print_notes, speed, stamp
from recollect.cli.render.search import print_answer
from recollect.cli.render.sync import SHOWN, STATES, print_sync, print_untaken, sync_line
from recollect.cli.terminal import put, safe_line
from recollect.clock import now_us
from recollect.memory import SearchAnswer, Stats, SyncReport
from recollect.units import count, duration, plural, size

if TYPE_CHECKING:
    from recollect.memory import (
        DeepPart,
        EmbedReport,
        Exported,
        FileVerifyReport,
        LedgerDefect,
        SyncReport,
        VerifyReport,
    )


_REBUILT = {"index": "the index", "all": "the database and the index"}


def print_import(out: Console, report: SyncReport, *, paths: Sequence[Path]) -> None:
    """Print what was ingested, and what was not and why; of nothing at all, in one line."""
    is_found = any(line.found or line.skipped for line in report.agents.values())
    if not paths or is_found or report.state != "done":
        print_sync(out, report)
        _print_imported(out, report)
        return
    named = ", ".join(map(str, paths))
    put(out, safe_line(f"nothing in {named} belongs to a known agent or export"))
    print_untaken(out, report)


def print_import_plan(out: Console, report: SyncReport) -> None:
    """Print which sessions would be ingested, which not and why, and the sum."""
    _print_imported(out, report, all_of_them=True)
    counts = {state: sum(one.state == state for one in report.imported) for state in ("new", "changed", "skipped")}
    unchanged = sum(line.unchanged for line in report.agents.values())
    told = ", ".join(f"{count:,} {state}" for state, count in counts.items())
    sums = f"{told}; {plural(unchanged, 'source')} unchanged; {size(report.bytes)} to ingest. Nothing was written."
    out.print(sums, soft_wrap=True)


def _print_imported(out: Console, report: SyncReport, *, all_of_them: bool = False) -> None:
    shown = report.imported if all_of_them else report.imported[:SHOWN]
    for one in shown:
        line = f"{one.state} {one.session_uid} ({plural(one.messages, 'message')})"
        line += f": {one.reason}" if one.reason else ""
        put(out, (safe_line(line), "dim" if one.state == "skipped" else ""))
    if len(report.imported) > len(shown):
        out.print(Text(f"skipped {len(report.imported) - len(shown):,} more sessions; --json lists them", style="dim"))


def print_rebuilt(out: Console, report: SyncReport, *, what: str) -> None:
    """Print that it was done, and what was ingested after it."""
    out.print(f"rebuilt {_REBUILT[what]}")
    if report.state in STATES:
        put(out, (STATES[report.state], "yellow"))
    print_notes(out, report.notes)
    if report.bytes:
        put(out, (f"then ingested: {sync_line(report)}", "dim"))


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


def print_embedded(out: Console, report: EmbedReport, *, is_log: bool = False) -> None:
    """Print what was made, with which model, and how much is covered; in a log first the time."""
    if is_log:
        out.print(stamp(now_us()))
    if report.state in ("done", "interrupted") and report.embedder:
        entries = f" and {plural(report.entries, 'entry', 'entries')}" if report.entries else ""
        of_what = f"{plural(report.events, 'event')}{entries}"
        made = f"{plural(report.chunks, 'vector')} of {of_what} in {duration(report.seconds)}"
        out.print(f"{made}, model {safe_line(report.embedder)}", soft_wrap=True, markup=False)
        covered = f"{report.covered:,} of {plural(report.total, 'event')}"
        if report.entries_total:
            covered += f", {report.entries_covered:,} of {plural(report.entries_total, 'entry', 'entries')}"
        put(out, f"{covered} covered")
        if report.passages_total:
            read = f"{plural(report.passages, 'passage')} read by the contextual model"
            put(out, f"{read}, {report.passages_total:,} have its vectors")
    if report.state == "interrupted":
        put(out, "stopped; the next run continues from here")
    if report.state == "removed":
        put(out, "vectors deleted")
    print_notes(out, report.notes)


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


class UpReport(msgspec.Struct, frozen=True):
    """What `up --once` did and what is there now. `demo_home`: set where the bundled sample was loaded instead."""

    sync: SyncReport
    stats: Stats
    example: SearchAnswer | None
    demo_home: str = ""


def print_closing(out: Console, report: UpReport, *, now_us: int) -> None:
    """Print what is in the memory, the example, and three lines to type next."""
    if report.demo_home:
        out.print("No agent history on this machine. A small bundled sample was loaded into a demo home.")
        put(out, f"demo home: {safe_line(report.demo_home)} (your own memory stays empty)")
        out.print()
    _print_memory(out, report)
    print_notes(out, report.sync.notes)
    prefix = f"RECOLLECT_HOME={shlex.quote(report.demo_home)} " if report.demo_home else ""
    example = report.example
    if example is not None:
        out.print()
        put(out, (safe_line(f"$ {prefix}recollect search {shlex.quote(example.query)}"), "bold"))
        out.print()
        print_answer(out, example, now_us=now_us)
    out.print()
    out.print(Text("Type next:", style="bold"))
    uid = example.hits[0].session_uid if example is not None and example.hits else "SESSION"
    for command, what in (
        ("search 'words you remember'", 'find anything, also "phrases" and *parts*'),
        (f"show {uid}", "read a session"),
        ("usage --by day", "see what it cost"),
    ):
        line = Text(f"  {safe_line(f'{prefix}recollect {command}')}")
        out.print(line.append(f"   # {what}", "dim"), soft_wrap=True)


def _print_memory(out: Console, report: UpReport) -> None:
    stats, sync = report.stats, report.sync
    rows = [(a.agent, count(a.sessions), count(a.events), size(a.source_bytes)) for a in stats.agents if a.sources]
    total = ("all", count(stats.sessions), count(stats.events), size(stats.source_bytes))
    out.print(plain_table(("agent", "sessions", "events", "bytes"), rows, total=total))
    stored = size(stats.storage.total_bytes)
    out.print()
    put(out, f"in the memory: {size(stats.source_bytes)} of transcripts, stored in {stored} at {safe_line(stats.home)}")
    line = f"this time: {plural(sync.events, 'new event')} from {size(sync.bytes)} in {duration(sync.seconds)}"
    fast = speed(sync.bytes, sync.seconds)
    line += f", {fast}" if fast else ""
    put(out, line)
