"""Renders insights: decisions, digests, blame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.layout import print_block, print_later, print_notes, stamp, when
from recollect.cli.terminal import put, safe, safe_line
from recollect.memory import FIXED_BY
from recollect.units import count, duration, plural

if TYPE_CHECKING:
    from recollect.memory import BlameAnswer, DecisionsAnswer, DecisionView, ErrorLine, TeamDecisionsAnswer
    from recollect.model.insights.digests import Digest


_STYLES = {"holds": "green", "contradicted": "yellow"}
_CITED = 3
"""Repetitions of a decision that are cited; --json has all."""
_FOLLOWED = {"supersedes": "superseded by", "reverses": "reversed by", "contradicts": "contradicted by"}


def print_decisions(out: Console, answer: DecisionsAnswer | TeamDecisionsAnswer) -> None:
    """Print decisions, newest first, then how many more there are."""
    for view in answer.decisions:
        print_decision(out, view)
    if not answer.decisions:
        out.print("no decision found")
    others = ", ".join(f"{number:,} {state}" for state, number in sorted(answer.left_out.items()))
    more = f" · left out: {others} (--state all)" if others else ""
    if answer.total or more:
        shown = f"{count(len(answer.decisions))} of {plural(answer.total, 'decision')}{more}"
        put(out, (shown, "dim"))
    print_notes(out, answer.notes)


def print_decision(out: Console, view: DecisionView) -> None:
    """Print one decision: its words, the options and the reason that they leave out, what became of it, its citation.

    If an option was rejected, both options are printed, even if the words name them.
    """
    decision = view.decision
    is_ranked = decision.status == "ranked"
    maybe = ("maybe  ", "yellow") if is_ranked else ("", "")
    state = (view.state, _STYLES.get(view.state, "dim"))
    head = Text.assemble(state, "  ", maybe, (safe_line(decision.statement), "bold"))
    out.print(head, soft_wrap=True)
    said = decision.statement.casefold()
    has_sides = bool(decision.rejected)
    parts = [
        ("chosen: ", [one for one in decision.chosen if has_sides or one.casefold() not in said]),
        ("rejected: ", decision.rejected),
        ("why: ", [decision.rationale] if decision.rationale.casefold() not in said else []),
        ("about: ", decision.paths),
    ]
    for name, texts in parts:
        if text := ", ".join(texts):
            put(out, f"    {name}{safe_line(text)}")
    for link in view.links:
        is_older = link.older == decision.id
        relation = _FOLLOWED.get(link.relation, link.relation) if is_older else link.relation
        put(out, f"    {relation} {link.newer if is_older else link.older}")
    if view.episodes:
        put(out, f"    led to {plural(len(view.episodes), 'episode')}")
    if view.repeats:
        more = len(view.repeats) - _CITED
        rest = f" and {more:,} more" if more > 0 else ""
        said = f"said {count(len(view.repeats) + 1)} times, earlier in {', '.join(view.repeats[:_CITED])}{rest}"
        put(out, f"    {safe_line(said)}")
    how = f"confidence {decision.confidence:.2f}" if is_ranked else decision.polarity
    facts = (stamp(decision.ts), view.repo, decision.speaker, how, decision.id)
    line = Text("    " + " · ".join(safe_line(fact) for fact in facts if fact), style="dim")
    if view.citation:
        line.append("  ").append(safe_line(view.citation), "cyan")
    out.print(line, soft_wrap=True)
    print_later(out, view.later)


_OUTCOME_STYLES = {"success": "green", "fail": "red", "abandoned": "yellow"}
NAMED = 8
"""Tools and errors that are named; the rest is counted, and `--json` has all."""


def print_digest(out: Console, digest: Digest, *, errors: Mapping[str, ErrorLine], notes: Sequence[str] = ()) -> None:
    """Print a session's digest: what it was, how it ended and why, what it took, what went wrong. errors: by
    fingerprint."""
    put(out, (safe_line(digest.session_uid), "cyan"))
    where = [digest.flavor, digest.repo, digest.domain, digest.model]
    facts = [*where, f"{stamp(digest.started_at)} to {stamp(digest.ended_at)}"]
    put(out, " · ".join(safe_line(f) for f in facts if f))
    if digest.task_ref is not None:
        task = f"task {digest.task_ref.ref} ({digest.task_ref.found_in.replace('_', ' ')}: {digest.task_ref.evidence})"
        put(out, safe_line(task))
    put(out, "outcome: ", (digest.outcome, _OUTCOME_STYLES.get(digest.outcome, "bold")))
    for reason in digest.outcome_reasons:
        print_block(out, Text(f"- {safe_line(reason)}"))
    put(out, _cost(digest))
    if digest.tool_histogram:
        put(out, f"tools: {_counts(digest.tool_histogram)}")
    for error in digest.error_snippets[:NAMED]:
        tool = f"{safe_line(error.tool)}: " if error.tool else ""
        put(out, f"error, {plural(error.count, 'time')}: {tool}{safe_line(error.sample)}")
        if error.fingerprint in errors:
            print_block(out, Text(safe_line(_fixed(errors[error.fingerprint]))))
    for name, text in (("first prompt", digest.first_prompt), ("last words", digest.last_assistant)):
        if text:
            out.print(Text(f"{name}:"))
            print_block(out, Text(safe(text).strip()))
    print_notes(out, notes)


def _fixed(error: ErrorLine) -> str:
    if not error.fixed:
        return "not fixed in this session, as far as recorded"
    by = "; ".join(f"{FIXED_BY[fix.how]} {fix.what} ({fix.evidence})" for fix in error.fixes)
    often = "" if error.fixed == error.count else f"{error.fixed:,} of {plural(error.count, 'time')} "
    return f"{often}fixed by {by}" if by else f"{often}fixed: the same call worked later"


def _cost(digest: Digest) -> str:
    cost = digest.cost
    tokens = f"{count(cost.input_tokens)} in, {count(cost.output_tokens)} out, {count(cost.cache_tokens)} cached"
    took = duration(cost.wall_clock_s)
    if 0 < cost.active_s < cost.wall_clock_s:
        took += f" ({duration(cost.active_s)} active)"
    parts = [f"tokens: {tokens}", took, plural(cost.turns, "turn"), plural(digest.event_count, "event")]
    if cost.retries:
        parts.append(plural(cost.retries, "retry", "retries"))
    return " · ".join(parts)


def _counts(counts: dict[str, int]) -> str:
    named = [f"{safe_line(name)} {number:,}" for name, number in list(counts.items())[:NAMED]]
    more = len(counts) - NAMED
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


HOW = {"added": "added by", "rewritten": "written with the whole file by", "last_edit": "last edited by"}


def print_blame(out: Console, answer: BlameAnswer, *, number: int | None, now_us: int) -> None:
    """Print the line, the edit that put it there, and what led to it; or that nothing proves it."""
    asked = answer.blame
    place = asked.path if number is None else f"{asked.path}:{number}"
    _line(out, place, "bold", f"  {asked.line.strip()}" if asked.line is not None else "")
    found = asked.found
    if found is None:
        _line(out, asked.reason, "yellow")
        print_notes(out, answer.notes)
        return
    put(out, f"{HOW[found.how]} ", (safe_line(answer.citation), "cyan"), f"  {when(found.ts, now_us)}")
    facts = (answer.agent, answer.repo, answer.title)
    _line(out, f"session: {' · '.join(fact for fact in facts if fact)}")
    asked_at = f"  {answer.asked_citation}" if answer.asked_citation else ""
    _line(out, f"turn {found.turn_index}: {answer.asked or '(no human message)'}", "", asked_at, "cyan")
    for bound, citation in zip(found.decisions, answer.decision_citations, strict=True):
        sure = f" ({bound.polarity}, confidence {bound.confidence:.2f})"
        said = bound.statement.casefold()
        unsaid = [option for option in bound.chosen or bound.rejected if option.casefold() not in said]
        what = f": {', '.join(unsaid)}" if unsaid else ""  # "yes" alone says nothing of what was decided
        maybe = "maybe " if bound.status == "ranked" else ""
        _line(out, f"{maybe}decision: {bound.statement}{what}{sure}", "", f"  {citation}", "cyan")
    if not found.decisions:
        _line(out, "no decision is linked to this edit", "dim")
    _line(out, f"proof: {asked.reason}; {asked.looked_at:,} looked at", "dim")
    print_notes(out, answer.notes)


def _line(out: Console, text: str, style: str = "", more: str = "", more_style: str = "") -> None:
    line = Text(safe_line(text), style=style)
    if more.strip():
        line = Text.assemble(line, ("  " + safe_line(more), more_style))
    out.print(line, soft_wrap=True)
