"""Learnings and actions as text: what they say, how sure they are, what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.blocks import print_block
from recollect.cli.render.figures import stamp
from recollect.cli.render.notes import print_notes
from recollect.cli.terminal import safe, safe_line
from recollect.units import count, plural

if TYPE_CHECKING:
    from recollect.config import LearningConfig
    from recollect.memory import AskPreview, HeldBack, LearnReport, LearnStatus, SeenEvidence, Why
    from recollect.model.events import Event
    from recollect.model.learnings.learnings import Learning

AROUND_CHARS = 160
"""Of the event's text before and after what was quoted of it."""
_STYLES = {"confirmed": "green", "active": "default", "quarantined": "red"}
_PRIORITIES = {"": "", "urgent": "[URGENT] ", "high": "[HIGH] "}


def print_learnings(out: Console, learnings: Sequence[Learning], *, has_more: bool) -> None:
    """Print learnings in the order given. has_more: the list was cut."""
    for learning in learnings:
        print_learning(out, learning)
    if not learnings:
        out.print("nothing found")
    elif has_more:
        out.print(Text(f"the first {count(len(learnings))}; --limit shows more", style="dim"))


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
    facts = (where, learning.agent, f"{learning.status} {learning.confidence:.2f}", _rests_on(learning), ends)
    uid = f"{'action' if learning.kind == 'action' else 'learning'}:{learning.id}"
    line = Text("    " + " · ".join(safe_line(fact) for fact in facts if fact) + "  ", style="dim")
    out.print(line.append(safe_line(uid), "cyan"), soft_wrap=True)
    if learning.superseded_by:
        out.print(Text(f"    superseded by {safe_line(learning.superseded_by)}", style="dim"), soft_wrap=True)


def print_why(out: Console, why: Why) -> None:
    """Print a learning, its evidence with the events, what people said of it, and what stands for it now."""
    print_learning(out, why.learning)
    for name, share in sorted(why.learning.features.items()):
        out.print(Text(f"    {share:+.2f} {safe_line(name)}", style="dim"), soft_wrap=True)
    for seen in why.evidence:
        _print_evidence(out, seen)
    if not why.evidence:
        out.print(Text("    no evidence in sessions", style="dim"))
    for verdict in why.verdicts:
        reason = f": {safe_line(verdict.reason)}" if verdict.reason else ""
        out.print(Text(f"    {stamp(verdict.at)} {verdict.verdict}{reason}"), soft_wrap=True)
    if why.superseded_by is not None:
        out.print(Text("what holds now:", style="dim"))
        print_learning(out, why.superseded_by)


def print_asked(out: Console, report: LearnReport, status: LearnStatus, config: LearningConfig) -> None:
    """Print what a model was asked about, what still waits, and what is left of the day's budget."""
    waiting = status.turns_waiting + status.turns_running
    older = f" and {plural(status.older_sessions_waiting, 'older session')}" if status.older_sessions_waiting else ""
    made = f"{plural(report.new, 'new learning')}, {count(report.changed)} changed"
    out.print(Text(f"asked {plural(report.turns, 'question')}: {made}"), soft_wrap=True)
    left_usd = max(0.0, config.day_budget_usd - status.spent_micro_dollars / 1e6)
    left_tokens = max(0, config.day_budget_tokens - status.spent_tokens)
    text = (
        f"{plural(waiting, 'question')}{older} waiting; left today: ${left_usd:.4f} of ${config.day_budget_usd:g}, "
        f"{count(left_tokens)} of {count(config.day_budget_tokens)} LLM tokens"
    )
    out.print(Text(text), soft_wrap=True)
    _print_undo(out, report)
    print_notes(out, report.notes)


def print_run(out: Console, report: LearnReport) -> None:
    """Print what a run of learning did."""
    made = f"{plural(report.new, 'new learning')}, {count(report.changed)} changed"
    text = f"{report.state}: read {plural(report.sessions, 'session')}; {made}"
    out.print(Text(text), soft_wrap=True)
    _print_undo(out, report)
    print_notes(out, report.notes)


def print_preview(out: Console, preview: AskPreview) -> None:
    """Print what a model would be sent of a session, to the letter, and what that could cost."""
    for number, question in enumerate(preview.questions, 1):
        turns = ", ".join(str(turn) for turn in question.turns)
        cost = f"at most {count(question.most_input_tokens)} + {count(question.most_output_tokens)} LLM tokens"
        head = f"question {number}, turns {turns}: {cost}, ${question.most_usd:.5f}"
        out.print(Text(head, style="bold"), soft_wrap=True)
        for text in (question.system, question.user):
            print_block(out, Text(safe(text)))
    where = f"{preview.model} at {preview.url}"
    total = f"{plural(len(preview.questions), 'question')} to {where}, at most ${preview.most_usd:.5f}"
    budget = f"a session ends at ${preview.session_budget_usd:g}"
    prices = f"; prices of {preview.prices_on}" if preview.prices_on else ""
    out.print(Text(safe_line(f"nothing was sent: {total}; {budget}{prices}"), style="dim"), soft_wrap=True)
    if not preview.is_configured:
        print_notes(out, ["no model is configured: this is what the default one would be sent"])
    elif not preview.is_key_set:
        print_notes(out, [f"{preview.key_variable} is not set: it would be refused"])


def print_learn_status(out: Console, status: LearnStatus) -> None:
    """Print how learning is: what there is, what waits, what holds it up, what was given up."""
    if not status.enabled:
        out.print("learning is switched off in the configuration")
    for name, number in sorted(status.learnings.items()):
        out.print(Text(f"  {safe_line(name):<24}{count(number)}"))
    ran = f"last run {stamp(status.last_run_at)}" if status.last_run_at is not None else "nothing was learned from yet"
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
        out.print(Text(f"{safe_line(status.provider)}: {asked}; {spent}; {answered}"), soft_wrap=True)
    if status.pause is not None:
        out.print(Text(f"paused: {safe_line(status.pause.message)}", style="red"), soft_wrap=True)
    for job in status.newest_dead:
        out.print(Text(f"given up: {safe_line(job.session_uid or job.key)}: {safe_line(job.reason)}"), soft_wrap=True)
    if status.dead > len(status.newest_dead):
        out.print(Text(f"given up in all: {count(status.dead)}", style="dim"))
    if status.held_back:
        out.print(Text(f"{count(status.held_back)} held back: `recollect learnings held-back`", style="dim"))


def print_held_back(out: Console, found: Sequence[HeldBack]) -> None:
    """Print texts of a model's answers that cannot be used, each with the reason."""
    for held in found:
        line = Text(f"{stamp(held.at)} {safe_line(held.reason)}  ", style="dim")
        out.print(line.append(safe_line(held.session_uid), "cyan"), soft_wrap=True)
        out.print(Text(f"    “{safe_line(held.text)}”"), soft_wrap=True)
    if not found:
        out.print("nothing is held back")


def _print_undo(out: Console, report: LearnReport) -> None:
    if report.batch:
        out.print(Text(f"undo it: recollect undo {safe_line(report.batch)}", style="dim"), soft_wrap=True)


def _print_evidence(out: Console, seen: SeenEvidence) -> None:
    """Print where it was said, by whom, and the words; of an event that is gone what was quoted of it."""
    evidence = seen.evidence
    said = _around(evidence.quote, seen.event)
    gone = "" if seen.event is not None else "the event is not stored any more"
    revoked = "its session does not say so any more" if seen.is_revoked else ""
    facts = (f"{evidence.author}, {stamp(evidence.ts)}", revoked, gone)
    line = Text("    " + "; ".join(fact for fact in facts if fact) + "  ", style="dim")
    out.print(line.append(safe_line(seen.citation), "cyan"), soft_wrap=True)
    out.print(Text(f"        “{safe_line(said)}”"), soft_wrap=True)


def _around(quote: str, event: Event | None) -> str:
    """Return a quotation with the words beside it in its event; of an event without such text its summary."""
    text = getattr(event.payload, "text", "") if event is not None else ""
    at = text.find(quote) if quote and isinstance(text, str) else -1
    if at < 0:
        return quote or (event.summary if event is not None else "")
    first, last = max(0, at - AROUND_CHARS), at + len(quote) + AROUND_CHARS
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"


def _rests_on(learning: Learning) -> str:
    sessions = len({evidence.session_uid for evidence in learning.evidence})
    return f"seen in {plural(sessions, 'session')}" if sessions else ""
