"""Diaries, facts, tags and undone runs as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.blocks import print_block
from recollect.cli.render.figures import stamp
from recollect.cli.render.tables import plain_table
from recollect.cli.terminal import safe, safe_line
from recollect.model.learnings.notes import Batch, DiaryEntry, Fact
from recollect.model.undone import UNDONE
from recollect.units import count, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.memory import (
        Contradiction,
        DiaryAnswer,
        FactAdded,
        FactsAnswer,
        SeedReport,
        Tagged,
        UndoReport,
    )

_WHY = {"single_valued": "has one at a time", "opposite": "says the opposite"}


def print_diary(out: Console, answer: DiaryAnswer) -> None:
    """Print entries, the newest first, then how many there are."""
    for entry in answer.entries:
        print_entry(out, entry)
    if not answer.entries:
        out.print("no diary entry found")
    elif answer.total > len(answer.entries):
        shown = f"{count(len(answer.entries))} of {plural(answer.total, 'entry', 'entries')}"
        out.print(Text(shown, style="dim"))


def print_entry(out: Console, entry: DiaryEntry) -> None:
    """Print one entry of a diary: whose and when, what it says, its citation."""
    gone = "retired" if entry.retired_at is not None else ""
    facts = (entry.agent, stamp(entry.written_at), entry.repo, gone)
    out.print(Text(" · ".join(safe_line(fact) for fact in facts if fact), style="bold"), soft_wrap=True)
    if entry.topic:
        out.print(Text(f"    {safe_line(entry.topic)}", style="italic"), soft_wrap=True)
    if entry.text:
        print_block(out, Text(safe(entry.text)))
    named = (("decided", entry.decided), ("discovered", entry.discovered), ("left pending", entry.left_pending))
    for name, lines in named:
        for line in lines:
            out.print(Text(f"    {name}: {safe_line(line)}"), soft_wrap=True)
    cited = " ".join((f"diary:{entry.id}", *entry.sessions))
    out.print(Text(f"    {safe_line(cited)}", style="cyan"), soft_wrap=True)


def print_facts(out: Console, answer: FactsAnswer) -> None:
    """Print facts, one line each, then how many there are."""
    for fact in answer.facts:
        print_fact(out, fact)
    if not answer.facts:
        out.print("no fact found")
    elif answer.total > len(answer.facts):
        out.print(Text(f"{count(len(answer.facts))} of {plural(answer.total, 'fact')}", style="dim"))


def print_fact(out: Console, fact: Fact, *, lead: str = "") -> None:
    """Print one fact: what it says, when that holds, who said it, its citation."""
    words = f"{safe_line(fact.subject)} {safe_line(fact.predicate)} {safe_line(fact.object)}"
    state = "retracted" if fact.is_retracted else UNDONE if fact.is_undone else ""
    reference = f"{fact.source} {fact.reference}".strip()
    status = fact.status if fact.status != "observed" else ""
    facts = (_span(fact), state, fact.repo, reference, status, f"fact:{fact.id}")
    line = Text.assemble(lead, (words, "strike" if fact.is_retracted else "bold"), "  ")
    out.print(line.append(" · ".join(safe_line(item) for item in facts if item), "dim"), soft_wrap=True)


def print_added(out: Console, added: FactAdded) -> None:
    """Print what became of a fact that was said, and what contradicts it."""
    print_fact(out, added.fact, lead="added: " if added.is_new else "known: ")
    for fact in added.replaced:
        print_fact(out, fact, lead="  in place of: ")
    for pair in added.contradictions:
        print_fact(out, pair.other, lead=f"  contradicts ({_WHY[pair.reason]}): ")


def print_contradictions(out: Console, found: Sequence[Contradiction]) -> None:
    """Print pairs of facts that cannot hold together."""
    for pair in found:
        print_fact(out, pair.fact)
        print_fact(out, pair.other, lead=f"    against ({_WHY[pair.reason]}): ")
    if not found:
        out.print("no contradiction found")


def print_seeded(out: Console, report: SeedReport) -> None:
    """Print what seeding did, in one line."""
    of = f"{plural(report.decisions, 'decision')}, {plural(report.learnings, 'learned fact')}"
    done = f"{count(report.added)} added, {count(report.known)} known, {count(report.ended)} ended, "
    batch = f" · batch {report.batch.id}" if report.batch is not None else ""
    out.print(f"facts of {of}: {done}{count(report.retracted)} retracted{batch}")


def print_tags(out: Console, tags: Sequence[Tagged]) -> None:
    """Print tags, one line each."""
    if not tags:
        out.print("no tag found")
        return
    out.print(
        plain_table(("tag", "session", "since"), [(t.name, t.session_uid, stamp(t.tagged_at)) for t in tags], words=2)
    )


def print_batches(out: Console, batches: Sequence[Batch]) -> None:
    """Print runs that can be undone, the newest first."""
    if not batches:
        out.print("no run that could be undone")
        return
    rows = [
        (b.id, b.kind, b.about, _counts(b.counts), stamp(b.started_at), stamp(b.undone_at) if b.undone_at else "")
        for b in batches
    ]
    out.print(plain_table(("batch", "kind", "about", "added", "when", "undone"), rows, words=4))


def print_undone(out: Console, report: UndoReport) -> None:
    """Print what undoing a batch did."""
    counts = (
        (report.facts, "fact", ""), (report.diary, "diary entry", "diary entries"), (report.documents, "document", ""),
        (report.learnings, "learning", ""),
    )  # fmt: skip
    done = ", ".join(plural(number, one, many) for number, one, many in counts if number)
    if report.was_undone and not done:
        out.print(f"{report.batch.id} was undone {stamp(report.batch.undone_at)}; nothing is left of it")
        return
    out.print(f"undone {report.batch.id} ({safe_line(report.batch.about)}): {done or 'nothing was left of it'}")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {what}" for what, number in counts.items() if number)


def _span(fact: Fact) -> str:
    if fact.valid_from is None and fact.valid_to is None:
        return ""
    begin = f"from {stamp(fact.valid_from)}" if fact.valid_from is not None else ""
    end = f"until {stamp(fact.valid_to)}" if fact.valid_to is not None else ""
    return f"{begin} {end}".strip()
