"""Renders what was ingested, rebuilt and embedded."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
    from recollect.memory import EmbedReport, SyncReport


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
