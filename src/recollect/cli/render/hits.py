"""A search answer as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.blocks import print_block
from recollect.cli.render.figures import count, plural, when
from recollect.cli.render.notes import print_notes
from recollect.cli.terminal import safe_line

if TYPE_CHECKING:
    from recollect.memory import Hit, SearchAnswer

_FILTER = re.compile(r"-?\b[a-z]+:(?:\"[^\"]*\"|\S+)|(?<!\S)-\S+")
_WORD = re.compile(r"\*?\w+")
_FIRST_UNSPACED = "\u2e80"
"""From here on come the scripts of China, Japan and Korea."""


def print_answer(out: Console, answer: SearchAnswer, *, now_us: int) -> None:
    """Print hits with rank, source and citation, then the notes, then how they were found."""
    marks = matched_words(answer.query)
    for rank, hit in enumerate(answer.hits, 1):
        print_hit(out, rank, hit, marks=marks, now_us=now_us)
    if answer.learned:
        out.print(Text("Learned and noted", style="bold"))
        for hit in answer.learned:
            _print_learned(out, hit, marks=marks, now_us=now_us)
        out.print()
    if not answer.hits and not any(note.startswith("nothing found") for note in answer.notes):
        out.print("nothing found")
    print_notes(out, answer.notes)
    out.print(Text(footer(answer), style="dim"), soft_wrap=True)


def print_hit(out: Console, rank: int, hit: Hit, *, marks: re.Pattern[str] | None, now_us: int) -> None:
    """Print one hit on four lines: title, facts, citation, snippet with the matched words in bold."""
    title = safe_line(hit.title) or "(no title)"
    out.print(Text.assemble(f"{rank:>2}. ", (title, "bold")), soft_wrap=True)
    what = f"{hit.kind} {hit.tool}" if hit.tool else hit.kind
    facts = (hit.agent, when(hit.ts, now_us), hit.repo, what, hit.state, hit.status)
    out.print(Text("    " + " · ".join(safe_line(f) for f in facts if f)), soft_wrap=True)
    where = "document" if hit.kind == "document" else "session"
    more = f"  +{plural(hit.more_in_session, 'more hit')} in this {where}" if hit.more_in_session else ""
    out.print(Text.assemble("    ", (safe_line(f"{hit.session_uid}#{hit.seq}"), "cyan"), (more, "dim")), soft_wrap=True)
    snippet = Text(safe_line(hit.snippet))
    if marks is not None:
        snippet.highlight_regex(marks, "bold")
    print_block(out, snippet)
    out.print()


def _print_learned(out: Console, hit: Hit, *, marks: re.Pattern[str] | None, now_us: int) -> None:
    """Print a learning or note on two lines: what it is with its citation, and what it says."""
    facts = (hit.kind, hit.state, hit.status, hit.repo, when(hit.ts, now_us))
    head = " · ".join(safe_line(fact) for fact in facts if fact)
    out.print(Text.assemble(f"  {head} · ", (safe_line(f"{hit.session_uid}#{hit.seq}"), "cyan")), soft_wrap=True)
    snippet = Text(safe_line(hit.snippet))
    if marks is not None:
        snippet.highlight_regex(marks, "bold")
    print_block(out, snippet)


def matched_words(query: str) -> re.Pattern[str] | None:
    """Return a pattern for the words of a query and what may follow them ("test" in "tests"); filters left out.

    A word begins where a word begins, except after `*` and in scripts that put no space between words.
    """
    words = {w for w in _WORD.findall(_FILTER.sub(" ", query)) if w != "OR"}
    if not words:
        return None
    anywhere = {w.lstrip("*") for w in words if w[0] == "*" or w[0] >= _FIRST_UNSPACED}
    at_start = {w for w in words if w not in anywhere and w[0] != "*"}
    parts = [rf"(?<![^\W_]){re.escape(w)}[^\W_]*" for w in sorted(at_start, key=len, reverse=True)]
    parts += [re.escape(w) for w in sorted(anywhere, key=len, reverse=True)]
    return re.compile(f"(?i)(?:{'|'.join(parts)})")


def footer(answer: SearchAnswer) -> str:
    """Return one line: `3 of 340 events · exact · 8 ms`; the time alone where nothing was found."""
    how = "" if answer.match_level == "none" else f" · {answer.match_level}"
    shown = len(answer.hits)
    if not answer.total:
        return f"{answer.took_ms:.0f} ms"
    return f"{count(shown)} of {plural(answer.total, 'event')}{how} · {answer.took_ms:.0f} ms"
