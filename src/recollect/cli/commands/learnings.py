"""`recollect learnings`."""

from __future__ import annotations

from typing import Unpack

import click

from recollect.cli.entries.listing import (
    ALL,
    SCOPES,
    STATES,
    STATUSES,
    place_of,
    show,
    show_one,
    states_of,
    tell_why,
)
from recollect.cli.groups import noun
from recollect.cli.options import TimeRange, json_option, limit_option, open_memory, range_options
from recollect.errors import UsageError
from recollect.model.insights.nodes import Status
from recollect.model.learnings.learnings import GIVEN_STATES, LEARNING_KINDS, LearningKind, Scope

id_argument = click.argument("name", metavar="ID")
reason_option = click.option("--reason", metavar="WORDS", default="", help="Why; kept with it.")


@noun(default="list")
def command() -> None:
    """Show what was learned, and say what of it is right.

    What you confirm, retire, correct or add outlives all that is derived. An ID may be shortened.

    \b
    Examples:
      recollect learnings --kind preference
      recollect learnings why l3fa9
      recollect learnings correct l3fa9 "Use uv, not pip"
      recollect learnings add "Integration tests need Docker" --kind fact
    """


@command.command("list")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(LEARNING_KINDS), help="Only this kind (repeatable).")
@click.option("--scope", type=click.Choice(SCOPES), default=None, help="Only what holds so far.")
@click.option("--repo", metavar="NAME", default="", help="Only of this repository.")
@click.option("--path", metavar="PATH", default="", help="Only of this file or folder of a repository.")
@click.option(
    "--state", "states", multiple=True, type=click.Choice([*STATES, ALL]), default=GIVEN_STATES, show_default=True,
    help="What became of it (repeatable).",
)  # fmt: skip
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="How it is known (repeatable).")
@click.option("--query", metavar="WORDS", default="", help="Words that must all stand in it.")
@limit_option(50, "learnings")
@json_option
def list_learnings(
    kinds: tuple[LearningKind, ...], scope: Scope | None, repo: str, path: str, states: tuple[str, ...], *,
    statuses: tuple[Status, ...], query: str, limit: int, as_json: bool,
) -> int:  # fmt: skip
    """List learnings.

    \b
    Example:
      recollect learnings list --repo shop-api --query docker
    """
    from recollect.memory import LearningFilter

    asked = LearningFilter(
        kinds=kinds,
        scopes=(scope,) if scope else (),
        repos=(repo,) if repo else (),
        paths=(path,) if path else (),
        states=states_of(states),
        statuses=statuses,
        words=tuple(query.split()),
        limit=limit + 1,  # one more, to know whether there are more
    )
    with open_memory() as memory:
        return show("learnings", memory.learn.learnings(asked), limit=limit, as_json=as_json)


@command.command("show")
@id_argument
@json_option
def show_learning(name: str, as_json: bool) -> int:
    """Show one learning.

    \b
    Example:
      recollect learnings show l3fa9
    """
    with open_memory() as memory:
        return show_one(memory.learn.learning(name), as_json=as_json)


@command.command()
@id_argument
@json_option
def why(name: str, as_json: bool) -> int:
    """Show what a learning rests on.

    \b
    Example:
      recollect learnings why l3fa9
    """
    with open_memory() as memory:
        return tell_why(memory, name, as_json=as_json)


@command.command()
@id_argument
@reason_option
@json_option
def confirm(name: str, reason: str, as_json: bool) -> int:
    """Say that a learning is right.

    \b
    Example:
      recollect learnings confirm l3fa9
    """
    with open_memory() as memory:
        return show_one(memory.learn.confirm(name, reason=reason), as_json=as_json)


@command.command()
@id_argument
@click.argument("text", nargs=-1, required=True)
@reason_option
@json_option
def correct(name: str, text: tuple[str, ...], reason: str, as_json: bool) -> int:
    """Replace the text of a learning with what is right.

    \b
    Example:
      recollect learnings correct l3fa9 "Use uv, not pip"
    """
    with open_memory() as memory:
        return show_one(memory.learn.correct(name, " ".join(text), reason=reason), as_json=as_json)


@command.command()
@id_argument
@reason_option
@json_option
def retire(name: str, reason: str, as_json: bool) -> int:
    """Say that a learning is wrong or no longer holds.

    \b
    Example:
      recollect learnings retire l3fa9 --reason "we moved to uv"
    """
    with open_memory() as memory:
        return show_one(memory.learn.retire(name, reason=reason), as_json=as_json)


@command.command()
@click.argument("text", nargs=-1)
@click.option("--kind", type=click.Choice(LEARNING_KINDS), default="fact", show_default=True, help="What it is.")
@click.option("--scope", type=click.Choice(SCOPES), default=None, help="How far it holds.")
@click.option("--repo", metavar="NAME", default="", help="The repository that it holds in; by default the one here.")
@click.option("--path", metavar="PATH", default="", help="The file or folder of a repository that it is about.")
@json_option
def add(text: tuple[str, ...], kind: LearningKind, scope: Scope | None, repo: str, path: str, *, as_json: bool) -> int:
    """Write a learning down.

    \b
    Example:
      recollect learnings add "Integration tests need Docker" --kind fact
    """
    from recollect.memory import NewLearning

    with open_memory() as memory:
        holds, where = place_of(memory, repo, scope)
        new = NewLearning(text=" ".join(text), kind=kind, scope=holds, repo=where, path=path)
        return show_one(memory.learn.add(new), as_json=as_json)


@command.command()
@click.argument("session", required=False)
@click.option("--dry-run", is_flag=True, help="Show what SESSION would send and what it may cost; send nothing.")
@click.option("--older", is_flag=True, help="Ask about sessions from before you named a model, too; the newest first.")
@range_options
@json_option
def ask(session: str | None, dry_run: bool, older: bool, as_json: bool, **period: Unpack[TimeRange]) -> int:
    """Ask the configured model about all sessions that wait.

    With --older also about sessions that began before you named a model, by --after and --before those of a period.
    What the day's budget does not cover is asked about on the next days.

    \b
    Examples:
      recollect learnings ask
      recollect learnings ask --older --after 3mo
      recollect learnings ask claude:5f0c --dry-run
    """
    from recollect.cli.entries import running

    with open_memory() as memory:
        if dry_run or session is not None:
            if older or any(at is not None for at in period.values()):
                raise UsageError("--older asks about all sessions of a period", hint="leave out SESSION and --dry-run")
            return running.preview(memory, session, is_dry_run=dry_run, as_json=as_json)
        if not older and any(at is not None for at in period.values()):
            raise UsageError("--after and --before say which older sessions are asked about", hint="add --older")
        return running.ask(memory, period if older else None, as_json=as_json)


@command.command()
@json_option
def run(as_json: bool) -> int:
    """Learn from the sessions that are due, without a model.

    \b
    Example:
      recollect learnings run
    """
    from recollect.cli.entries import running

    with open_memory() as memory:
        return running.run(memory, as_json=as_json)


@command.command()
@json_option
def status(as_json: bool) -> int:
    """Show how learning is.

    \b
    Example:
      recollect learnings status
    """
    from recollect.cli.entries import running

    with open_memory() as memory:
        return running.tell_status(memory, as_json=as_json)


@command.command("held-back")
@limit_option(50, "answers")
@json_option
def held_back(limit: int, as_json: bool) -> int:
    """List what a model answered that cannot be used.

    \b
    Example:
      recollect learnings held-back
    """
    from recollect.cli.entries import running

    with open_memory() as memory:
        return running.tell_held_back(memory, limit=limit, as_json=as_json)
