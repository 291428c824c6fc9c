"""Renders a search answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.cli.render.layout import print_notes, when
from recollect.cli.terminal import Plain, put, safe_line
from recollect.memory import RELATED_LABELS, TeamHit, matched_words
from recollect.model.undone import UNDONE
from recollect.units import count, duration, plural

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.memory import Hit, SearchAnswer, TeamAnswer

WITH_PASSAGE = 3
"""Hits that are shown with their passage: more would fill the screen."""


def print_answer(out: Console | Plain, answer: SearchAnswer | TeamAnswer, *, now_us: int) -> None:
    """Print hits with rank, source and citation, then the notes, then how they were found."""
    marks = matched_words(answer.query)
    shown: set[str] = set()
    for rank, hit in enumerate(answer.hits, 1):
        print_hit(out, rank, hit, marks=marks, now_us=now_us, is_first=hit.session_uid not in shown)
        shown.add(hit.session_uid)
    if answer.learned:
        put(out, ("Learned and noted", "bold"))
        for hit in answer.learned:
            facts = (hit.kind, hit.state, hit.status, hit.repo, when(hit.ts, now_us))
            head = " · ".join(safe_line(fact) for fact in facts if fact)
            put(out, f"  {head} · ", (safe_line(f"{hit.session_uid}#{hit.seq}"), "cyan"))
            _print_said(out, hit.snippet, marks)
        out.print()
    if not answer.hits and not any(note.startswith(("nothing found", "nothing was searched")) for note in answer.notes):
        out.print("nothing found")
    print_notes(out, answer.notes)
    if answer.elsewhere:
        many = plural(answer.elsewhere, "event matches", "events match")
        how = "as well or better" if answer.with_words else "at least in part"
        out.print(f"elsewhere, {many} {how}: search without the repository or session")
    put(out, (footer(answer), "dim"))


def print_hit(
    out: Console | Plain, rank: int, hit: Hit, *, marks: re.Pattern[str] | None, now_us: int, is_first: bool = True
) -> None:
    """Print one hit: title, facts, citation, and what it says with the matched words in bold.

    The first ones show their passage and what belongs to it, the others a snippet. is_first: of its session, whose
    title is told once.
    """
    title = (safe_line(hit.title) or "(no title)") if is_first else ""
    if title:
        put(out, f"{rank:>2}. ", (title, "bold"))
    what = f"{hit.kind} {hit.tool}" if hit.tool else hit.kind
    undone = UNDONE if hit.is_undone else ""
    whose = f"{hit.person} on {hit.machine}" if isinstance(hit, TeamHit) else ""
    facts = (whose, hit.agent, when(hit.ts, now_us), hit.repo, what, undone, hit.state, hit.status)
    put(out, ("    " if title else f"{rank:>2}. ") + " · ".join(safe_line(f) for f in facts if f))
    where = "document" if hit.kind == "document" else "session"
    more = f"  +{plural(hit.more_in_session, 'more hit')} in this {where}" if hit.more_in_session and is_first else ""
    put(out, "    ", (safe_line(citation(hit)), "cyan"), (more, "dim"))
    if rank > WITH_PASSAGE:
        _print_said(out, hit.snippet, marks)
    else:
        _print_said(out, " ".join(hit.passage.split()) or hit.snippet, marks)
        for part in hit.related:
            said = safe_line(" ".join(part.text.split()))
            _print_said(out, said, marks=None, label=f"{RELATED_LABELS[part.label]} #{part.seq}: ")
    out.print()


def citation(hit: Hit) -> str:
    """Return how a hit is cited: by its number, or, as that means nothing elsewhere, as a team does."""
    return hit.citation if isinstance(hit, TeamHit) else f"{hit.session_uid}#{hit.seq}"


def _print_said(out: Console | Plain, said: str, marks: re.Pattern[str] | None, *, label: str = "") -> None:
    if isinstance(out, Plain):
        put(out, "    ", (label, "dim"), safe_line(said))
        return
    from rich.text import Text

    from recollect.cli.render.layout import print_block

    text = Text(safe_line(said))
    if marks is not None:
        text.highlight_regex(marks, "bold")
    print_block(out, Text(label, "dim").append_text(text) if label else text)


def footer(answer: SearchAnswer) -> str:
    """Return one line: `3 of 340 events · exact · 8 ms`, `hits` with documents; the time alone for nothing found."""
    how = "" if answer.match_level == "none" else f" · {answer.match_level}"
    shown = len(answer.hits)
    if not answer.total:
        return duration(answer.took_ms / 1000)
    what = "hit" if any(hit.kind == "document" for hit in answer.hits) else "event"
    meant = f" ({answer.by_meaning:,} by meaning alone)" if answer.by_meaning else ""
    return f"{count(shown)} of {plural(answer.total, what)}{meant}{how} · {duration(answer.took_ms / 1000)}"
