"""Which session, turn and decision led to a line, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import when
from recollect.cli.render.notes import print_notes
from recollect.cli.terminal import safe_line

if TYPE_CHECKING:
    from recollect.memory import BlameAnswer

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
    out.print(
        Text(f"{HOW[found.how]} ").append(safe_line(answer.citation), "cyan").append(f"  {when(found.ts, now_us)}"),
        soft_wrap=True,
    )
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
        _line(out, "no decision is bound to this edit", "dim")
    _line(out, f"proof: {asked.reason}; {asked.looked_at:,} looked at", "dim")
    print_notes(out, answer.notes)


def _line(out: Console, text: str, style: str = "", more: str = "", more_style: str = "") -> None:
    line = Text(safe_line(text), style=style)
    if more.strip():
        line = Text.assemble(line, ("  " + safe_line(more), more_style))
    out.print(line, soft_wrap=True)
