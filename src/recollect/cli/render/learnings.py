"""Renders learnings, notes and what agents were given of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.layout import plain_table, print_block, print_later, print_notes, stamp
from recollect.cli.terminal import put, safe, safe_line
from recollect.memory import LearningView
from recollect.model.learnings.notes import Batch, DiaryEntry, Fact
from recollect.model.undone import UNDONE
from recollect.units import count, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.config import LearningConfig
    from recollect.memory import (
        AskPreview,
        Begun,
        Contradiction,
        DiaryAnswer,
        FactAdded,
        FactsAnswer,
        HeldBack,
        LearnReport,
        LearnStatus,
        SeedReport,
        SeenEvidence,
        ShownBlock,
        Tagged,
        UndoReport,
        Why,
    )
    from recollect.model.events import Event
    from recollect.model.learnings.learnings import Learning


AROUND_CHARS = 160
"""Of the event's text before and after what was quoted of it."""
_STYLES = {"confirmed": "green", "active": "default", "quarantined": "red"}
_PRIORITIES = {"": "", "urgent": "[URGENT] ", "high": "[HIGH] "}


def print_learnings(
    out: Console, learnings: Sequence[Learning | LearningView], *, has_more: bool = False, notes: Sequence[str] = ()
) -> None:
    """Print learnings in the order given. has_more: the list was cut."""
    for learning in learnings:
        print_learning(out, learning)
    if not learnings:
        out.print("nothing found")
    elif has_more:
        out.print(Text(f"the first {count(len(learnings))}; --limit shows more", style="dim"))
    print_notes(out, notes)


def print_learning(out: Console, learning: Learning) -> None:
    """Print one learning: kind, words, where it holds, how it is known, its citation."""
    mark = _PRIORITIES[learning.priority]
    head = Text.assemble(
        (f"{learning.kind}  ", "dim"), (mark, "bold red"), (f"“{safe_line(learning.text)}”", "bold"),
        (f"  {learning.state}", _STYLES.get(learning.state, "dim")),
    )  # fmt: skip
    out.print(head, soft_wrap=True)
    where = " ".join(part for part in (learning.repo, learning.path) if part) or "everywhere"
    ends = f"until {stamp(learning.expires_at)}" if learning.expires_at is not None else ""
    sessions = len({evidence.session_uid for evidence in learning.evidence})
    seen = f"seen in {plural(sessions, 'session')}" if sessions else ""
    facts = (where, learning.agent, f"{learning.status} {learning.confidence:.2f}", seen, ends)
    uid = f"{'action' if learning.kind == 'action' else 'learning'}:{learning.id}"
    line = Text("    " + " · ".join(safe_line(fact) for fact in facts if fact) + "  ", style="dim")
    out.print(line.append(safe_line(uid), "cyan"), soft_wrap=True)
    if learning.superseded_by:
        put(out, (f"    superseded by {safe_line(learning.superseded_by)}", "dim"))
    if isinstance(learning, LearningView):
        print_later(out, learning.later)


def print_why(out: Console, why: Why) -> None:
    """Print a learning, its evidence with the events, what people said of it, and what stands for it now."""
    print_learning(out, why.learning)
    for name, share in sorted(why.learning.features.items()):
        put(out, (f"    {share:+.2f} {safe_line(name)}", "dim"))
    for seen in why.evidence:
        _print_evidence(out, seen)
    if not why.evidence:
        out.print(Text("    no evidence in sessions", style="dim"))
    for verdict in why.verdicts:
        reason = f": {safe_line(verdict.reason)}" if verdict.reason else ""
        put(out, f"    {stamp(verdict.at)} {verdict.verdict}{reason}")
    if why.superseded_by is not None:
        out.print(Text("what holds now:", style="dim"))
        print_learning(out, why.superseded_by)


def print_asked(out: Console, report: LearnReport, *, status: LearnStatus, config: LearningConfig) -> None:
    """Print what a model was asked about, what still waits, and what is left of the day's budget."""
    waiting = status.turns_waiting + status.turns_running
    older = f" and {plural(status.older_sessions_waiting, 'older session')}" if status.older_sessions_waiting else ""
    made = f"{plural(report.new, 'new learning')}, {count(report.changed)} changed"
    put(out, f"asked {plural(report.turns, 'question')}: {made}")
    left_usd = max(0.0, config.day_budget_usd - status.spent_micro_dollars / 1e6)
    left_tokens = max(0, config.day_budget_tokens - status.spent_tokens)
    text = (
        f"{plural(waiting, 'question')}{older} waiting; left today: ${left_usd:.4f} of ${config.day_budget_usd:g}, "
        f"{count(left_tokens)} of {count(config.day_budget_tokens)} LLM tokens"
    )
    put(out, text)
    _print_undo(out, report)
    print_notes(out, report.notes)


def print_run(out: Console, report: LearnReport) -> None:
    """Print what a run of learning did."""
    made = f"{plural(report.new, 'new learning')}, {count(report.changed)} changed"
    text = f"{report.state}: read {plural(report.sessions, 'session')}; {made}"
    put(out, text)
    _print_undo(out, report)
    print_notes(out, report.notes)


def print_preview(out: Console, preview: AskPreview) -> None:
    """Print what a model would be sent of a session, to the letter, and what that could cost."""
    for number, question in enumerate(preview.questions, 1):
        turns = ", ".join(str(turn) for turn in question.turns)
        cost = f"at most {count(question.most_input_tokens)} + {count(question.most_output_tokens)} LLM tokens"
        head = f"question {number}, turns {turns}: {cost}, ${question.most_usd:.5f}"
        put(out, (head, "bold"))
        for text in (question.system, question.user):
            print_block(out, Text(safe(text)))
    where = f"{preview.model} at {preview.url}"
    total = f"{plural(len(preview.questions), 'question')} to {where}, at most ${preview.most_usd:.5f}"
    budget = f"a session ends at ${preview.session_budget_usd:g}"
    prices = f"; prices of {preview.prices_on}" if preview.prices_on else ""
    put(out, (safe_line(f"nothing was sent: {total}; {budget}{prices}"), "dim"))
    if not preview.is_configured:
        print_notes(out, ["no model is configured: this is what the default model would get"])
    elif not preview.is_key_set:
        print_notes(out, [f"{preview.key_variable} is not set: the request would be refused"])


def print_learn_status(out: Console, status: LearnStatus) -> None:
    """Print how learning is: what there is, what waits, what holds it up, what was given up."""
    if not status.enabled:
        out.print("learning is switched off in the configuration")
    for name, number in sorted(status.learnings.items()):
        out.print(Text(f"  {safe_line(name):<24}{count(number)}"))
    ran = (
        f"last run {stamp(status.last_run_at)}"
        if status.last_run_at is not None
        else "no session has been learned from yet"
    )
    out.print(Text(f"{plural(status.sessions_waiting, 'session')} waiting; {ran}"))
    if status.provider:
        waiting = status.turns_waiting + status.turns_running + status.turns_parked
        asked = f"{plural(waiting, 'question')} waiting, {count(status.turns_parked)} of them parked"
        asked += f", {count(status.turns_done)} done"
        if status.older_sessions_waiting:
            asked += f"; {plural(status.older_sessions_waiting, 'older session')} waiting"
        spent = f"${status.spent_micro_dollars / 1e6:.4f} and {count(status.spent_tokens)} LLM tokens spent today"
        answered = (
            f"last answer {stamp(status.last_answer_at)}" if status.last_answer_at is not None else "no answer yet"
        )
        put(out, f"{safe_line(status.provider)}: {asked}; {spent}; {answered}")
    if status.pause is not None:
        put(out, (f"paused: {safe_line(status.pause.message)}", "red"))
    for job in status.newest_dead:
        put(out, f"given up: {safe_line(job.session_uid or job.key)}: {safe_line(job.reason)}")
    if status.dead > len(status.newest_dead):
        out.print(Text(f"given up: {count(status.dead)}", style="dim"))
    if status.held_back:
        out.print(Text(f"{count(status.held_back)} held back: `recollect learnings held-back`", style="dim"))


def print_held_back(out: Console, found: Sequence[HeldBack]) -> None:
    """Print texts of a model's answers that cannot be used, each with the reason."""
    for held in found:
        line = Text(f"{stamp(held.at)} {safe_line(held.reason)}  ", style="dim")
        out.print(line.append(safe_line(held.session_uid), "cyan"), soft_wrap=True)
        put(out, f"    “{safe_line(held.text)}”")
    if not found:
        out.print("no answer is held back")


def _print_undo(out: Console, report: LearnReport) -> None:
    if report.batch:
        put(out, (f"undo it: recollect undo {safe_line(report.batch)}", "dim"))


def _print_evidence(out: Console, seen: SeenEvidence) -> None:
    """Print where it was said, by whom, and the words; of an event that is gone what was quoted of it."""
    evidence = seen.evidence
    said = _around(evidence.quote, seen.event)
    gone = "" if seen.event is not None else "the event is no longer stored"
    revoked = "its session no longer says so" if seen.is_revoked else ""
    facts = (f"{evidence.author}, {stamp(evidence.ts)}", revoked, gone)
    line = Text("    " + "; ".join(fact for fact in facts if fact) + "  ", style="dim")
    out.print(line.append(safe_line(seen.citation), "cyan"), soft_wrap=True)
    put(out, f"        “{safe_line(said)}”")


def _around(quote: str, event: Event | None) -> str:
    """Return a quotation with the words beside it in its event; of an event without such text its summary."""
    text = getattr(event.payload, "text", "") if event is not None else ""
    at = text.find(quote) if quote and isinstance(text, str) else -1
    if at < 0:
        return quote or (event.summary if event is not None else "")
    first, last = max(0, at - AROUND_CHARS), at + len(quote) + AROUND_CHARS
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"


_WHY = {"single_valued": "can have only one value at a time", "opposite": "says the opposite"}


def print_diary(out: Console, answer: DiaryAnswer) -> None:
    """Print entries, newest first, then how many there are."""
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
    put(out, (" · ".join(safe_line(fact) for fact in facts if fact), "bold"))
    if entry.topic:
        put(out, (f"    {safe_line(entry.topic)}", "italic"))
    if entry.text:
        print_block(out, Text(safe(entry.text)))
    named = (("decided", entry.decided), ("discovered", entry.discovered), ("left pending", entry.left_pending))
    for name, lines in named:
        for line in lines:
            put(out, f"    {name}: {safe_line(line)}")
    cited = " ".join((f"diary:{entry.id}", *entry.sessions))
    put(out, (f"    {safe_line(cited)}", "cyan"))


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
    """Print runs that can be undone, newest first."""
    if not batches:
        out.print("no run can be undone")
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
        out.print(f"{report.batch.id} was already undone {stamp(report.batch.undone_at)}")
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


_STATES = {"written": "written", "there": "exists, not changed", "missing": "would be written"}
_USE_STYLES = {"opened": "green", "cited": "green", "repeated": "green"}


def print_given(out: Console, blocks: Sequence[ShownBlock]) -> None:
    """Print blocks, newest first: to whom and when, of what use, and what each of their lines cites."""
    for block in blocks:
        facts = (stamp(block.at), block.agent, block.event, block.session or "no session", block.repo)
        line = Text(" · ".join(safe_line(fact) for fact in facts if fact), style="bold")
        if block.used is not None:
            line.append(f"  {block.used}", _USE_STYLES.get(block.used, "dim"))
        out.print(line, soft_wrap=True)
        put(out, (f"    {_size(block)}", "dim"))
        for shown in block.lines:
            text = safe_line(shown.text) or "(no longer stored)"
            put(out, f"    {text}  ", (safe_line(shown.citation), "cyan"))
    if not blocks:
        out.print("no agent has been given context yet")


def print_begun(out: Console, begun: Begun) -> None:
    """Print where the two files are and what was done."""
    for file in begun.files:
        out.print(Text(f"{safe_line(file.path)}: {_STATES[file.state]}"), soft_wrap=True, highlight=False)


def _size(block: ShownBlock) -> str:
    if block.note:
        return f"no context: {safe_line(block.note)}"
    if not block.tokens:
        return "no context to give"
    left_out = f", {count(block.left_out)} left out" if block.left_out else ""
    return f"{count(block.tokens)} LLM tokens at most, in {block.took_ms:g} ms{left_out}"
