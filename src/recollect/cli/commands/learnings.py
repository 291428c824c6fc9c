"""`recollect learnings`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from recollect.cli.learned.listing import (
    ALL,
    SCOPES,
    STATES,
    STATUSES,
    Confined,
    filter_of,
    only,
    place_of,
    show,
    show_one,
    tell_why,
)
from recollect.cli.options import json_option, limit_option, open_memory
from recollect.errors import UsageError
from recollect.model.learned.learnings import GIVEN_STATES, LEARNING_KINDS

if TYPE_CHECKING:
    from recollect.memory import Memory, NewLearning

_ACTIONS = ("list", "show", "why", "confirm", "correct", "retire", "add", "ask", "run", "status", "held-back")


class Given(Confined):
    """All options but `--json`."""

    reason: str
    dry_run: bool


@click.command()
@click.argument("action", type=click.Choice(_ACTIONS), default="list")
@click.argument("words", metavar="[ID] [TEXT]", nargs=-1)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(LEARNING_KINDS), help="Only this kind (repeatable).")
@click.option("--scope", type=click.Choice(SCOPES), default=None, help="Only what holds so far; with add: how far.")
@click.option("--repo", metavar="NAME", default="", help="Only of this repository; with add: default the one here.")
@click.option("--path", metavar="PATH", default="", help="Only of this file or folder of a repository.")
@click.option(
    "--state", "states", multiple=True, type=click.Choice([*STATES, ALL]), default=GIVEN_STATES, show_default=True,
    help="What became of it (repeatable).",
)  # fmt: skip
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="How it is known (repeatable).")
@click.option("--query", metavar="WORDS", default="", help="Words that must all stand in it.")
@click.option("--reason", metavar="WORDS", default="", help="With confirm, correct and retire: why; kept with it.")
@click.option("--dry-run", is_flag=True, help="With ask: show what would be sent and what it may cost; send nothing.")
@limit_option(50, "learnings")
@json_option
def command(action: str, words: tuple[str, ...], as_json: bool, **given: Unpack[Given]) -> int:
    """Show what was learned, and say what of it is right.

    `list`; `show ID`; `why ID`: what it rests on. `confirm ID`, `retire ID`, `correct ID "TEXT"`: your word, which
    outlives all that is derived. `add "TEXT"`: write one down. `run`: learn from what is due now. `ask`: have the
    configured model asked about what waits; `ask SESSION --dry-run`: what it would be sent. `status`, `held-back`: how
    learning is, and what of a model's answers cannot be used. An ID may be shortened.

    \b
    Examples:
      recollect learnings --kind preference
      recollect learnings why l3fa9
      recollect learnings correct l3fa9 "Use uv, not pip"
      recollect learnings add "Integration tests need Docker" --kind fact
    """
    if given["dry_run"] and action != "ask":
        raise UsageError("--dry-run goes with `learnings ask`", hint="recollect learnings ask SESSION --dry-run")
    if action in ("list", "run", "status", "held-back") and words:
        raise UsageError(f"`learnings {action}` takes no words", hint='recollect learnings --query "WORDS"')
    with open_memory() as memory:
        if action == "list":
            return show(memory.learn.learnings(filter_of(given)), limit=given["limit"], as_json=as_json)
        if action in ("run", "ask", "status", "held-back"):
            return _work(memory, action, words, given, as_json=as_json)
        if action == "why":
            return tell_why(memory, only(words, "learning"), as_json=as_json)
        return _one(memory, action, words, given, as_json=as_json)


def _one(memory: Memory, action: str, words: tuple[str, ...], given: Given, *, as_json: bool) -> int:
    """Show a learning, as it is or as a person's word left it."""
    learn, reason = memory.learn, given["reason"]
    if action == "add":
        return show_one(learn.add(_new(memory, " ".join(words), given)), as_json=as_json)
    if action == "correct":
        if len(words) < 2:
            raise UsageError("name the learning and say what is right", hint='recollect learnings correct ID "TEXT"')
        return show_one(learn.correct(words[0], " ".join(words[1:]), reason=reason), as_json=as_json)
    name = only(words, "learning")
    if action == "show":
        return show_one(learn.learning(name), as_json=as_json)
    judged = learn.confirm(name, reason=reason) if action == "confirm" else learn.retire(name, reason=reason)
    return show_one(judged, as_json=as_json)


def _new(memory: Memory, text: str, given: Given) -> NewLearning:
    from recollect.memory import NewLearning

    scope, repo = place_of(memory, given["repo"], given["scope"])
    return NewLearning(text=text, kind=(given["kinds"] or ("fact",))[0], scope=scope, repo=repo, path=given["path"])


def _work(memory: Memory, action: str, words: tuple[str, ...], given: Given, *, as_json: bool) -> int:
    """Learn, or tell how that is."""
    from recollect.cli.learned import running

    if action == "ask":
        return running.ask(memory, words, is_dry_run=given["dry_run"], as_json=as_json)
    if action == "held-back":
        return running.tell_held_back(memory, limit=given["limit"], as_json=as_json)
    return running.run(memory, as_json=as_json) if action == "run" else running.tell_status(memory, as_json=as_json)
