"""Decisions as text: one block each, with what became of it and where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import stamp
from recollect.cli.render.notes import print_notes
from recollect.cli.terminal import safe_line
from recollect.units import count, plural

if TYPE_CHECKING:
    from recollect.memory import DecisionsAnswer, DecisionView

_STYLES = {"holds": "green", "contradicted": "yellow"}
_CITED = 3
"""Repetitions of a decision that are cited; --json has all."""
_FOLLOWED = {"supersedes": "superseded by", "reverses": "reversed by", "contradicts": "contradicted by"}


def print_decisions(out: Console, answer: DecisionsAnswer) -> None:
    """Print decisions, the newest first, then how many more there are."""
    for view in answer.decisions:
        print_decision(out, view)
    if not answer.decisions:
        out.print("no decision found")
    others = ", ".join(f"{number:,} {state}" for state, number in sorted(answer.left_out.items()))
    more = f" · left out: {others} (--state all)" if others else ""
    if answer.total or more:
        shown = f"{count(len(answer.decisions))} of {plural(answer.total, 'decision')}{more}"
        out.print(Text(shown, style="dim"), soft_wrap=True)
    print_notes(out, answer.notes)


def print_decision(out: Console, view: DecisionView) -> None:
    """Print one decision: its words, its options and reason, what became of it, its citation."""
    decision = view.decision
    is_ranked = decision.status == "ranked"
    maybe = ("maybe  ", "yellow") if is_ranked else ("", "")
    state = (view.state, _STYLES.get(view.state, "dim"))
    head = Text.assemble(state, "  ", maybe, (safe_line(decision.statement), "bold"))
    out.print(head, soft_wrap=True)
    parts = [
        ("chosen: ", ", ".join(decision.chosen)),
        ("rejected: ", ", ".join(decision.rejected)),
        ("why: ", decision.rationale),
        ("about: ", ", ".join(decision.paths)),
    ]
    for name, text in parts:
        if text:
            out.print(Text(f"    {name}{safe_line(text)}"), soft_wrap=True)
    for link in view.links:
        is_older = link.older == decision.id
        relation = _FOLLOWED.get(link.relation, link.relation) if is_older else link.relation
        out.print(Text(f"    {relation} {link.newer if is_older else link.older}"), soft_wrap=True)
    if view.episodes:
        out.print(Text(f"    led to {plural(len(view.episodes), 'episode')}"), soft_wrap=True)
    if view.repeats:
        more = len(view.repeats) - _CITED
        rest = f" and {more:,} more" if more > 0 else ""
        said = f"said {count(len(view.repeats) + 1)} times, before in {', '.join(view.repeats[:_CITED])}{rest}"
        out.print(Text(f"    {safe_line(said)}"), soft_wrap=True)
    how = f"confidence {decision.confidence:.2f}" if is_ranked else decision.polarity
    facts = (stamp(decision.ts), view.repo, decision.speaker, how, decision.id)
    line = Text("    " + " · ".join(safe_line(fact) for fact in facts if fact), style="dim")
    if view.citation:
        line.append("  ").append(safe_line(view.citation), "cyan")
    out.print(line, soft_wrap=True)
