"""The screen that `up --once` ends with: what is in the memory, one example search, and what to type next."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import speed
from recollect.cli.render.hits import print_answer
from recollect.cli.render.notes import print_notes
from recollect.cli.render.tables import plain_table
from recollect.cli.terminal import safe_line
from recollect.memory import SearchAnswer, Stats, SyncReport
from recollect.model.sessions import Session
from recollect.units import count, duration, plural, size

EXAMPLE_WORDS = 3
_WORD = re.compile(r"[^\W\d_]{4,24}")
# Words of requests that say nothing of their subject; a title is a request in few words.
_EMPTY_WORDS = frozenset(
    """
    about after again all also always another before being better could does doing done each every exactly file files
    find first fix from have help here into just like look make more much need needs only other please really review
    run same session should show some something still such sure take test tests than that their them then there these
    they thing this those through update using very want what when where which while will with without work would
    write your code implement repo repository project issue current change changes
    """.split()
)


class UpReport(msgspec.Struct, frozen=True):
    """What `up --once` did and what is there now. `demo_home`: set where the bundled sample was loaded instead."""

    sync: SyncReport
    stats: Stats
    example: SearchAnswer | None
    demo_home: str = ""


def example_queries(sessions: Sequence[Session]) -> Iterator[str]:
    """Give queries made of the informative words of session titles, the most promising first.

    Words that several sessions share come first: their search shows the memory at work. Titles that the agent
    gave come before those derived from a request, which begin with anything.
    """
    given = {s.title: s.title_status == "agent" for s in sessions if not s.parent_session}
    titles = [(is_given, _informative(title)) for title, is_given in given.items()]
    spread = Counter(word for _, words in titles for word in words)
    chosen: list[tuple[bool, int, list[str]]] = []
    for is_given, words in titles:
        best = sorted(words, key=lambda w: (-spread[w], words.index(w)))[:EXAMPLE_WORDS]
        if best:
            chosen.append((is_given, sum(spread[w] for w in best), sorted(best, key=words.index)))
    for _, _, best in sorted(chosen, key=lambda c: (c[0], c[1]), reverse=True):
        yield " ".join(best)


def _informative(title: str) -> list[str]:
    return list(dict.fromkeys(w for w in _WORD.findall(title.lower()) if w not in _EMPTY_WORDS))


def print_closing(out: Console, report: UpReport, *, now_us: int) -> None:
    """Print what is in the memory, the example, and three lines to type next."""
    if report.demo_home:
        out.print("No agent history on this machine: a small bundled sample was loaded into a demo home.")
        out.print(Text(f"demo home: {safe_line(report.demo_home)} (your own memory stays empty)"), soft_wrap=True)
        out.print()
    _print_memory(out, report)
    print_notes(out, report.sync.notes)
    prefix = f"RECOLLECT_HOME={shlex.quote(report.demo_home)} " if report.demo_home else ""
    example = report.example
    if example is not None:
        out.print()
        out.print(
            Text(safe_line(f"$ {prefix}recollect search {shlex.quote(example.query)}"), style="bold"), soft_wrap=True
        )
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
    out.print(
        Text(f"in the memory: {size(stats.source_bytes)} of sources, kept in {stored} at {safe_line(stats.home)}"),
        soft_wrap=True,
    )
    line = f"this time: {plural(sync.events, 'new event')} from {size(sync.bytes)} in {duration(sync.seconds)}"
    fast = speed(sync.bytes, sync.seconds)
    line += f", {fast}" if fast else ""
    out.print(Text(line), soft_wrap=True)
