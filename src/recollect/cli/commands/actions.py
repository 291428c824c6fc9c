"""`recollect actions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from recollect.cli.learned.listing import ALL, STATES, place_of, show, states_of
from recollect.cli.options import json_option, limit_option, open_memory
from recollect.clock import now_us
from recollect.errors import UsageError
from recollect.model.learned.learnings import GIVEN_STATES, Priority

if TYPE_CHECKING:
    from recollect.memory import Memory, NewLearning

_DAY_US = 24 * 3600 * 1_000_000


class Given(TypedDict):
    """All options but `--json`."""

    repo: str
    priority: Priority | None
    expires: int | None
    states: tuple[str, ...]
    reason: str
    limit: int


@click.command()
@click.argument("action", type=click.Choice(("list", "done", "add")), default="list")
@click.argument("words", metavar="[ID...] [TEXT]", nargs=-1)
@click.option("--repo", metavar="NAME", default="", help="Only of this repository; with add: default the one here.")
@click.option("--priority", type=click.Choice(("high", "urgent")), default=None, help="With add: how pressing it is.")
@click.option(
    "--expires", type=click.IntRange(1, 3650), default=None, metavar="DAYS",
    help="With add: after how many days it goes by itself; default [learning] action_days.",
)  # fmt: skip
@click.option(
    "--state", "states", multiple=True, type=click.Choice([*STATES, ALL]), default=GIVEN_STATES, show_default=True,
    help="What became of it (repeatable).",
)  # fmt: skip
@click.option("--reason", metavar="WORDS", default="", help="With done: how; kept with it.")
@limit_option(50, "actions")
@json_option
def command(action: str, words: tuple[str, ...], as_json: bool, **given: Unpack[Given]) -> int:
    """Show what sessions left to be done, and mark it as done.

    The urgent comes first. `done ID...`: it is done; it is told to no agent any more. `add "TEXT"`: leave something to
    be done. Agents are given pending actions as suggestions when a session starts; nothing is ever run. An ID may be
    shortened.

    \b
    Examples:
      recollect actions
      recollect actions done l3fa9 l77c0
      recollect actions add "Rotate the staging key" --priority urgent --expires 7
    """
    if action != "add" and (given["priority"] is not None or given["expires"] is not None):
        raise UsageError("--priority and --expires belong to `actions add`", hint='recollect actions add "…"')
    if action == "list" and words:
        raise UsageError("`actions list` takes no words", hint="recollect actions done ID")
    if action == "done" and not words:
        raise UsageError("name what is done", hint="`recollect actions` lists it")
    with open_memory() as memory:
        if action == "add":
            found = [memory.learn.add(_new(memory, " ".join(words), given))]
        elif action == "done":
            named = [memory.learn.learning(name) for name in words]  # all are known before the first is marked
            found = [memory.learn.done(learning.id, reason=given["reason"]) for learning in named]
        else:
            repos = (given["repo"],) if given["repo"] else ()
            states = states_of(given["states"]) or STATES
            found = memory.learn.actions(repos=repos, states=states, limit=given["limit"] + 1)
            return show(found, limit=given["limit"], as_json=as_json)
    return show(found, as_json=as_json)


def _new(memory: Memory, text: str, given: Given) -> NewLearning:
    from recollect.memory import NewLearning

    scope, repo = place_of(memory, given["repo"], None)
    days = given["expires"]
    return NewLearning(
        text=text, kind="action", scope=scope, repo=repo, priority=given["priority"] or "",
        expires_at=now_us() + days * _DAY_US if days is not None else None,
    )  # fmt: skip
