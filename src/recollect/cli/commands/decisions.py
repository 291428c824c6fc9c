"""`recollect decisions`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypedDict, Unpack, get_args

import click

from recollect.cli.options import json_option, limit_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.errors import UsageError
from recollect.model.distilled.nodes import DecisionState

if TYPE_CHECKING:
    from recollect.memory import DecisionsAnswer, DecisionView

ADD = "add"
_STATES: tuple[DecisionState, ...] = get_args(DecisionState)


class Added(TypedDict):
    """What only `add` takes."""

    chosen: tuple[str, ...]
    rejected: tuple[str, ...]
    because: str


class Asked(TypedDict):
    """What a question is confined by."""

    at: str
    known_at: str
    states: tuple[str, ...]
    limit: int


class Given(Added, Asked):
    """All options but those that both kinds of call have."""


@click.command()
@click.argument("words", metavar='[QUERY... | add "STATEMENT"]', nargs=-1)
@click.option("--repo", metavar="NAME", default="", help="Only repositories whose name has this; with add: the one.")
@click.option(
    "--path", metavar="PATH", default="", help="Only decisions about this file or folder, or that led to edits there."
)
@click.option(
    "--session", metavar="SESSION", default="", help="Only of this session; with add: taken in it (or SESSION#SEQ)."
)
@click.option(
    "--at",
    metavar="WHEN",
    default="",
    help="What held then: what had been decided by the end of it. Dates as in a search: 2026-08-01, 2026-08, "
    "yesterday, monday, last week, 7d.",
)
@click.option("--known-at", metavar="WHEN", default="", help="What the memory knew then: what it had taken in by then.")
@click.option(
    "--state", "states", multiple=True, type=click.Choice([*_STATES, "all"]), default=("holds", "contradicted"),
    show_default=True, help="What became of it (repeatable).",
)  # fmt: skip
@limit_option(50, "decisions")
@click.option("--chosen", metavar="OPTION", multiple=True, help="With add: what was taken (repeatable).")
@click.option("--rejected", metavar="OPTION", multiple=True, help="With add: what was turned down (repeatable).")
@click.option("--because", metavar="REASON", default="", help="With add: why.")
@json_option
def command(words: tuple[str, ...], repo: str, path: str, session: str, as_json: bool, **given: Unpack[Given]) -> int:
    """Show what was decided and what became of it.

    `add`: keep a decision that was taken where no agent heard it.

    QUERY: words that must all stand in it, or the id of one (`decision:…`); the newest come first. Each decision is
    cited as SESSION#SEQ. Nothing is taken in for this; sessions are analysed when they have ended.

    \b
    Examples:
      recollect decisions --repo shop-api
      recollect decisions cache --at 2026-03-03 --state all
      recollect decisions add "We keep SQLite" --chosen SQLite --rejected Postgres --because "one file"
    """
    if words == (ADD,):
        raise UsageError(
            "say what was decided",
            hint='recollect decisions add "We keep SQLite"; to look for the word: decisions "add "',
        )
    if words[:1] == (ADD,):
        view = _add(" ".join(words[1:]), repo=repo, path=path, session=session, given=given)
        if as_json:
            write_json(view)
        else:
            from recollect.cli.render.meaning.decisions import print_decision

            print_decision(console(), view)
        return 0
    if given["chosen"] or given["rejected"] or given["because"]:
        raise UsageError("--chosen, --rejected and --because belong to `decisions add`", hint='decisions add "…"')
    return _tell(_ask(words, repo=repo, path=path, session=session, given=given), as_json=as_json)


def show_decision(name: str, *, as_json: bool) -> int:
    """Print the decision of an id, or of a beginning of it; return 1 where there is none."""
    from recollect.memory import DecisionQuestion

    with open_memory() as memory:
        answer = memory.decisions_facet.find(DecisionQuestion(words=(name,)))
    return _tell(answer, as_json=as_json)


def _tell(answer: DecisionsAnswer, *, as_json: bool) -> int:
    if as_json:
        write_json(answer)
    else:
        from recollect.cli.render.meaning.decisions import print_decisions

        print_decisions(console(), answer)
    return 0 if answer.decisions else 1


def _ask(words: tuple[str, ...], *, repo: str, path: str, session: str, given: Given) -> DecisionsAnswer:
    from recollect.memory import DecisionQuestion

    named = given["states"]
    with open_memory() as memory:
        facet = memory.decisions_facet
        question = DecisionQuestion(
            repos=(repo,) if repo else (),
            path=path,
            at=facet.instant(given["at"], name="--at") if given["at"] else None,
            known_at=facet.instant(given["known_at"], name="--known-at") if given["known_at"] else None,
            states=_STATES if "all" in named else tuple(state for state in _STATES if state in named),
            session=session,
            words=tuple(word for text in words for word in text.split()),
        )
        return facet.find(question, limit=given["limit"])


def _add(statement: str, *, repo: str, path: str, session: str, given: Given) -> DecisionView:
    from recollect.memory import DecisionQuestion, NewDecision

    with open_memory() as memory:
        if not repo and not session:
            repo = next(iter(memory.recall.repositories(os.getcwd())), "")
        new = NewDecision(
            statement, given["chosen"], given["rejected"], given["because"], session, repo, (path,) if path else ()
        )
        added = memory.decisions_facet.add(new)
        report = memory.distilling.run(sessions=())
        if report.state == "busy":
            click.echo(
                "not compared with other decisions yet: another process is taking in; the next sync does", err=True
            )
        found = memory.decisions_facet.find(DecisionQuestion(words=(added.decision.id,))).decisions
        return found[0] if found else added
