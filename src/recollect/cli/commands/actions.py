"""`recollect actions`."""

from __future__ import annotations

import click

from recollect.cli.entries.listing import ALL, STATES, place_of, show, states_of
from recollect.cli.groups import noun
from recollect.cli.options import json_option, limit_option, open_memory
from recollect.clock import now_us
from recollect.model.learnings.learnings import GIVEN_STATES, Priority

_DAY_US = 24 * 3600 * 1_000_000


@noun(default="list")
def command() -> None:
    """Show what sessions left to be done, and mark it as done.

    Agents are given pending actions as suggestions when a session starts; nothing is ever run. An ID may be shortened.

    \b
    Examples:
      recollect actions
      recollect actions done l3fa9 l77c0
      recollect actions add "Rotate the staging key" --priority urgent --expires 7
    """


@command.command("list")
@click.option("--repo", metavar="NAME", default="", help="Only of this repository.")
@click.option(
    "--state", "states", multiple=True, type=click.Choice([*STATES, ALL]), default=GIVEN_STATES, show_default=True,
    help="What became of it (repeatable).",
)  # fmt: skip
@limit_option(50, "actions")
@json_option
def list_actions(repo: str, states: tuple[str, ...], limit: int, as_json: bool) -> int:
    """List actions, the urgent first.

    \b
    Example:
      recollect actions list --repo shop-api
    """
    with open_memory() as memory:
        found = memory.learn.actions(repos=(repo,) if repo else (), states=states_of(states) or STATES, limit=limit + 1)
        return show("actions", found, limit=limit, as_json=as_json)


@command.command()
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", metavar="WORDS", default="", help="How; kept with it.")
@json_option
def done(names: tuple[str, ...], reason: str, as_json: bool) -> int:
    """Mark actions as done; no agent is told of them any more.

    \b
    Example:
      recollect actions done l3fa9 l77c0
    """
    with open_memory() as memory:
        named = [memory.learn.learning(name) for name in names]  # all are known before the first is marked
        return show("actions", [memory.learn.done(learning.id, reason=reason) for learning in named], as_json=as_json)


@command.command()
@click.argument("text", nargs=-1)
@click.option("--repo", metavar="NAME", default="", help="The repository that it is about; by default the one here.")
@click.option("--priority", type=click.Choice(("high", "urgent")), default=None, help="How pressing it is.")
@click.option(
    "--expires", type=click.IntRange(1, 3650), default=None, metavar="DAYS",
    help="After how many days it goes by itself; default [learning] action_days.",
)  # fmt: skip
@json_option
def add(text: tuple[str, ...], repo: str, priority: Priority | None, expires: int | None, as_json: bool) -> int:
    """Leave something to be done.

    \b
    Example:
      recollect actions add "Rotate the staging key" --priority urgent --expires 7
    """
    from recollect.memory import NewLearning

    with open_memory() as memory:
        scope, where = place_of(memory, repo, None)
        new = NewLearning(
            text=" ".join(text), kind="action", scope=scope, repo=where, priority=priority or "",
            expires_at=now_us() + expires * _DAY_US if expires is not None else None,
        )  # fmt: skip
        return show("actions", [memory.learn.add(new)], as_json=as_json)
