"""`recollect decisions`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypedDict, Unpack, get_args

import click

from recollect.cli.groups import noun
from recollect.cli.options import json_option, limit_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.model.insights.nodes import DecisionState

if TYPE_CHECKING:
    from recollect.memory import DecisionsAnswer

_STATES: tuple[DecisionState, ...] = get_args(DecisionState)


class Times(TypedDict):
    """When it had been decided (`--at`), and when the memory knew it (`--known-at`); "": now."""

    at: str
    known_at: str


@noun(default="list")
def command() -> None:
    """Show what was decided and what became of it.

    Each decision is cited as SESSION#SEQ. Nothing is ingested for this; sessions are analysed when they have ended.

    \b
    Examples:
      recollect decisions --repo shop-api
      recollect decisions cache --at 2026-03-03 --state all
      recollect decisions add "We keep SQLite" --chosen SQLite --rejected Postgres --because "one file"
    """


@command.command("list")
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@click.option("--repo", metavar="NAME", default="", help="Only repositories whose name has this.")
@click.option(
    "--path", metavar="PATH", default="", help="Only decisions about this file or folder, or that led to edits there."
)
@click.option("--session", metavar="SESSION", default="", help="Only of this session.")
@click.option(
    "--at",
    metavar="WHEN",
    default="",
    help="What held then: what had been decided by the end of it. Dates as in a search: 2026-08-01, 2026-08, "
    "yesterday, monday, last week, 7d.",
)
@click.option("--known-at", metavar="WHEN", default="", help="What the memory knew then: what it had ingested by then.")
@click.option(
    "--state", "named_states", multiple=True, type=click.Choice([*_STATES, "all"]), default=("holds", "contradicted"),
    show_default=True, help="What became of it (repeatable).",
)  # fmt: skip
@click.option("--sure", "is_sure", is_flag=True, help="Only what a rule establishes or a person added, no `maybe`.")
@limit_option(50, "decisions")
@json_option
def list_decisions(
    words: tuple[str, ...], repo: str, path: str, session: str, *, named_states: tuple[str, ...], is_sure: bool,
    limit: int, as_json: bool, **times: Unpack[Times],
) -> int:  # fmt: skip
    """List decisions, the newest first.

    QUERY: words that must all stand in a decision, or the id of one (`decision:…`). `maybe`: no rule establishes it;
    weights learned from labelled turns do, and they err more often (docs/distill.md).

    \b
    Examples:
      recollect decisions list cache --at 2026-03-03 --state all
      recollect decisions --path src/cache.py
    """
    from recollect.memory import DecisionQuestion

    with open_memory() as memory:
        facet = memory.decisions_facet
        question = DecisionQuestion(
            repos=(repo,) if repo else (),
            path=path,
            at=facet.instant(times["at"], name="--at") if times["at"] else None,
            known_at=facet.instant(times["known_at"], name="--known-at") if times["known_at"] else None,
            states=_STATES if "all" in named_states else tuple(state for state in _STATES if state in named_states),
            session=session,
            words=tuple(word for text in words for word in text.split()),
            is_sure=is_sure,
        )
        answer = facet.find(question, limit=limit)
    return _show(answer, as_json=as_json)


@command.command()
@click.argument("statement", nargs=-1, required=True)
@click.option("--repo", metavar="NAME", default="", help="The repository that it is about; by default the one here.")
@click.option("--path", metavar="PATH", default="", help="The file or folder that it is about.")
@click.option("--session", metavar="SESSION", default="", help="The session in which it was made, or SESSION#SEQ.")
@click.option("--chosen", metavar="OPTION", multiple=True, help="What was taken (repeatable).")
@click.option("--rejected", metavar="OPTION", multiple=True, help="What was turned down (repeatable).")
@click.option("--because", metavar="REASON", default="", help="Why.")
@json_option
def add(
    statement: tuple[str, ...], repo: str, path: str, session: str, *, chosen: tuple[str, ...],
    rejected: tuple[str, ...], because: str, as_json: bool,
) -> int:  # fmt: skip
    """Keep a decision that no agent heard.

    \b
    Example:
      recollect decisions add "We keep SQLite" --chosen SQLite --rejected Postgres --because "one file"
    """
    from recollect.memory import DecisionQuestion, NewDecision

    with open_memory() as memory:
        if not repo and not session:
            repo = next(iter(memory.recall.repositories(os.getcwd())), "")
        new = NewDecision(" ".join(statement), chosen, rejected, because, session, repo, (path,) if path else ())
        added = memory.decisions_facet.add(new)
        report = memory.distilling.run(sessions=())
        if report.state == "busy":
            click.echo(
                "not compared with other decisions yet: another process is ingesting; the next sync does", err=True
            )
        found = memory.decisions_facet.find(DecisionQuestion(words=(added.decision.id,))).decisions
    view = found[0] if found else added
    if as_json:
        write_json(view)
    else:
        from recollect.cli.render.insights.decisions import print_decision

        print_decision(console(), view)
    return 0


def show_decision(name: str, *, as_json: bool) -> int:
    """Print the decision of an id, or of a beginning of it; return 1 where there is none."""
    from recollect.memory import DecisionQuestion

    with open_memory() as memory:
        answer = memory.decisions_facet.find(DecisionQuestion(words=(name,)))
    return _show(answer, as_json=as_json)


def _show(answer: DecisionsAnswer, *, as_json: bool) -> int:
    if as_json:
        write_json(answer)
    else:
        from recollect.cli.render.insights.decisions import print_decisions

        print_decisions(console(), answer)
    return 0 if answer.decisions else 1
