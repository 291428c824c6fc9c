"""`recollect learnings` and `actions`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack, get_args

import click

from recollect.cli.groups import noun
from recollect.cli.options import (
    TimeRange,
    choice_option,
    flag,
    limit_option,
    number_option,
    open_memory,
    range_options,
    text_option,
)
from recollect.cli.results import CommandResult, ResultKind, examples, prints
from recollect.cli.terminal import console
from recollect.clock import now_us
from recollect.errors import ConfigError, UsageError
from recollect.model.insights.nodes import Status
from recollect.model.learnings.learnings import (
    GIVEN_STATES,
    LEARNING_KINDS,
    LearningKind,
    LearningState,
    Priority,
    Scope,
)
from recollect.units import count

if TYPE_CHECKING:
    from recollect.memory import Memory

_LEARNING = "recollect.model.learnings.learnings:Learning"
LEARNINGS = ResultKind("learnings", "LearningView", "learnings:print_learnings", listed="learnings")
ACTIONS = ResultKind("actions", _LEARNING, "learnings:print_learnings", listed="actions")
LEARNING = ResultKind("learning", _LEARNING, "learnings:print_learning")
WHY = ResultKind("learnings-why", "Why", "learnings:print_why")
PREVIEW = ResultKind("learnings-ask", "AskPreview", "learnings:print_preview")
RUN = ResultKind("learnings-run", "LearnReport", "learnings:print_run")
ASKED = ResultKind("", "LearnReport", "learnings:print_asked")
STATUS = ResultKind("learnings-status", "LearnStatus", "learnings:print_learn_status")
HELD_BACK = ResultKind("learnings-held-back", "HeldBack", "learnings:print_held_back", listed="texts")


ALL = "all"
STATES: tuple[LearningState, ...] = get_args(LearningState)
STATUSES: tuple[Status, ...] = get_args(Status)
SCOPES: tuple[Scope, ...] = get_args(Scope)
EXIT_CODES = {"done": 0, "off": 1, "interrupted": 3, "busy": 3}
_DAY_US = 24 * 3600 * 1_000_000

id_argument = click.argument("name", metavar="ID")
reason_option = text_option("--reason", "WORDS", "The reason; stored with the learning.")


@noun(default="list")
@examples(
    "learnings --kind preference",
    "learnings why l3fa9",
    'learnings correct l3fa9 "Use uv, not pip"',
    'learnings add "Integration tests need Docker" --kind fact',
)
def learnings() -> None:
    """Show what was learned; confirm or correct it.

    Analysis never overwrites what you confirm, retire, correct or add. You can shorten an ID.
    """


@learnings.command("list")
@choice_option("--kind", LEARNING_KINDS, "Only this kind (repeatable).", key="kinds", many=True)
@choice_option("--scope", SCOPES, "Only learnings of this scope.")
@text_option("--repo", "NAME", "Only in repositories whose name contains this.")
@text_option("--path", "PATH", "Only about this file or folder of a repository.")
@choice_option(
    "--state", [*STATES, ALL], "Only in this state (repeatable).", key="states", default=GIVEN_STATES, many=True
)
@choice_option("--status", STATUSES, "Only with this status (repeatable).", key="statuses", many=True)
@text_option("--query", "WORDS", "Words that the learning must contain.")
@range_options
@limit_option(50, "learnings")
@prints
@examples("learnings list --repo shop-api --query docker")
def list_learnings(
    kinds: tuple[LearningKind, ...], scope: Scope | None, repo: str, path: str, states: tuple[str, ...], *,
    statuses: tuple[Status, ...], query: str, limit: int, **said: Unpack[TimeRange],
) -> CommandResult:  # fmt: skip
    """List learnings."""
    from recollect.memory import LearningFilter

    asked = LearningFilter(
        kinds=kinds,
        scopes=(scope,) if scope else (),
        repos=(repo,) if repo else (),
        paths=(path,) if path else (),
        states=states_of(states),
        statuses=statuses,
        words=tuple(query.split()),
        after=said["after"],
        before=said["before"],
        limit=limit + 1,  # one more, to know whether there are more
    )
    with open_memory() as memory:
        found = memory.learn.learnings(asked)
        told = memory.recall.told(found[:limit])
        notes = memory.recall.unanalysed(asked.repos)
    return LEARNINGS(told, has_more=len(found) > limit, notes=notes)


@learnings.command("show")
@id_argument
@prints
@examples("learnings show l3fa9")
def show_learning(memory: Memory, name: str) -> CommandResult:
    """Show one learning."""
    return LEARNING(memory.learn.learning(name))


@learnings.command("why")
@id_argument
@prints
@examples("learnings why l3fa9")
def why(memory: Memory, name: str) -> CommandResult:
    """Show the evidence of a learning."""
    return WHY(memory.learn.why(name))


@learnings.command("confirm")
@id_argument
@reason_option
@prints
@examples("learnings confirm l3fa9")
def confirm(memory: Memory, name: str, reason: str) -> CommandResult:
    """Confirm that a learning is right."""
    return LEARNING(memory.learn.confirm(name, reason=reason))


@learnings.command("correct")
@id_argument
@click.argument("text", nargs=-1, required=True)
@reason_option
@prints
@examples('learnings correct l3fa9 "Use uv, not pip"')
def correct(memory: Memory, name: str, text: tuple[str, ...], reason: str) -> CommandResult:
    """Correct the text of a learning."""
    return LEARNING(memory.learn.correct(name, " ".join(text), reason=reason))


@learnings.command("retire")
@id_argument
@reason_option
@prints
@examples('learnings retire l3fa9 --reason "we moved to uv"')
def retire(memory: Memory, name: str, reason: str) -> CommandResult:
    """Mark a learning as wrong or outdated."""
    return LEARNING(memory.learn.retire(name, reason=reason))


@learnings.command("add")
@click.argument("text", nargs=-1)
@choice_option("--kind", LEARNING_KINDS, "What it is.", default="fact")
@choice_option("--scope", SCOPES, "Where it holds.")
@text_option("--repo", "NAME", "The repository where it holds.  [default: the one in the current folder]")
@text_option("--path", "PATH", "The file or folder that the learning is about.")
@prints
@examples('learnings add "Integration tests need Docker" --kind fact')
def add_learning(
    memory: Memory, text: tuple[str, ...], kind: LearningKind, scope: Scope | None, repo: str, path: str
) -> CommandResult:
    """Add a learning."""
    from recollect.memory import NewLearning

    holds, where = place_of(memory, repo, scope)
    new = NewLearning(text=" ".join(text), kind=kind, scope=holds, repo=where, path=path)
    return LEARNING(memory.learn.add(new))


@learnings.command("ask")
@click.argument("session", required=False)
@flag("--dry-run", "Show what would be sent about SESSION and what it would cost at most; send nothing.")
@flag("--older", "Also ask about sessions from before you configured a model, newest first.")
@range_options
@prints
@examples("learnings ask", "learnings ask --older --after 3mo", "learnings ask {0}:5f0c --dry-run")
def ask(
    memory: Memory, session: str | None, dry_run: bool, older: bool, as_json: bool, **period: Unpack[TimeRange]
) -> CommandResult:
    """Ask the configured model about the sessions that are waiting.

    --older also asks about sessions that began before you configured a model; --after and --before select a period.
    Sessions that exceed the daily budget are asked about on the following days.
    """
    if dry_run or session is not None:
        if older or any(at is not None for at in period.values()):
            raise UsageError("--older asks about all sessions of a period", hint="leave out SESSION and --dry-run")
        return _preview(memory, session, is_dry_run=dry_run)
    if not older and any(at is not None for at in period.values()):
        raise UsageError("--after and --before select older sessions, so they need --older", hint="add --older")
    return _ask(memory, period if older else None, as_json=as_json)


@learnings.command("run")
@prints
@examples("learnings run")
def run_learning() -> CommandResult:
    """Learn from the sessions that are due, without a model."""
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine("learning", counted="session") as progress:
        report = memory.learn.run(progress=progress.items_done)
    return RUN(report, code=EXIT_CODES[report.state])


@learnings.command("status")
@prints
@examples("learnings status")
def status(memory: Memory) -> CommandResult:
    """Show the progress of learning, and what is waiting."""
    return STATUS(memory.learn.status())


@learnings.command("held-back")
@limit_option(50, "answers")
@prints
@examples("learnings held-back")
def held_back(memory: Memory, limit: int) -> CommandResult:
    """List the model's answers that were held back."""
    return HELD_BACK(memory.learn.held_back(limit=limit))


def states_of(named: Sequence[str]) -> tuple[LearningState, ...]:
    """Return the states that are meant; () for all."""
    return () if ALL in named else tuple(state for state in STATES if state in named)


def place_of(memory: Memory, repo: str, scope: Scope | None) -> tuple[Scope, str]:
    """Return how far something holds that a person writes down: in the repository named, else the one that they are in,
    unless they say everywhere or there is none."""
    here = "" if scope == "user" else repo or next(iter(memory.recall.repositories(os.getcwd())), "")
    return ("repo", here) if here else ("user", "")


def _preview(memory: Memory, session: str | None, *, is_dry_run: bool) -> CommandResult:
    """Return what a model would be sent of a session. Raises UsageError without one."""
    if session is None:
        raise UsageError("name one session", hint="recollect learnings ask SESSION --dry-run")
    if not is_dry_run:
        raise UsageError(
            "`learnings ask` asks about everything that waits", hint="recollect learnings ask SESSION --dry-run"
        )
    found = memory.learn.preview(session)
    return PREVIEW(found, found=found.questions)


def _ask(memory: Memory, older: TimeRange | None, *, as_json: bool) -> CommandResult:
    """Have the rules read what is new and the configured model asked about it, now.

    older: of sessions from before it was configured too, of this period. Raises ConfigError where no model is
    configured, and what kept it from being asked.
    """
    if not memory.learn.asks_model:
        raise ConfigError(
            "no model is configured",
            key="learning.provider",
            hint="`recollect help learn-with-a-model` says how; the rules need none",
        )
    read = memory.learn.run(at_once=True)
    if older is not None:
        memory.learn.want_older(**older)
    answered = memory.learn.ask(at_once=True)
    report, failure = answered.report, answered.failure
    report.sessions = read.sessions
    report.notes = [*read.notes, *report.notes]
    if failure is None:
        return ASKED(report, code=EXIT_CODES[report.state], status=memory.learn.status(), config=memory.config.learning)
    if not as_json:
        from recollect.cli.render.learnings import print_asked

        report.notes = [note for note in report.notes if note != str(failure)]  # the error says it
        print_asked(console(), report, status=memory.learn.status(), config=memory.config.learning)
    raise failure


@noun(default="list")
@examples("actions", "actions done l3fa9 l77c0", 'actions add "Rotate the staging key" --priority urgent --expires 7')
def actions() -> None:
    """Show what sessions left to do; mark it as done.

    When a session starts, the agent gets pending actions as suggestions. Recollect never runs them. You can shorten an
    ID.
    """


@actions.command("list")
@text_option("--repo", "NAME", "Only in repositories whose name contains this.")
@choice_option(
    "--state", [*STATES, ALL], "Only in this state (repeatable).", key="states", default=GIVEN_STATES, many=True
)
@range_options
@limit_option(50, "actions")
@prints
@examples("actions list --repo shop-api")
def list_actions(
    memory: Memory, repo: str, states: tuple[str, ...], limit: int, **said: Unpack[TimeRange]
) -> CommandResult:
    """List pending actions, urgent ones first."""
    repos = (repo,) if repo else ()
    asked = states_of(states) or STATES
    found = memory.learn.actions(repos=repos, states=asked, limit=limit + 1, **said)
    expired = memory.learn.actions(repos=repos, states=("expired",)) if "expired" not in asked else ()
    notes = memory.recall.unanalysed(repos)
    if expired:
        notes += (f"{count(len(expired))} expired and not marked as done: `recollect actions list --state expired`",)
    return ACTIONS(found[:limit], has_more=len(found) > limit, notes=notes)


@actions.command("done")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@text_option("--reason", "WORDS", "How it was done; stored with the action.")
@prints
@examples("actions done l3fa9 l77c0")
def mark_done(memory: Memory, names: tuple[str, ...], reason: str) -> CommandResult:
    """Mark actions as done, so that agents no longer get them."""
    named = [memory.learn.learning(name) for name in names]  # all are known before the first is marked
    return ACTIONS([memory.learn.done(learning.id, reason=reason) for learning in named])


@actions.command("add")
@click.argument("text", nargs=-1)
@text_option("--repo", "NAME", "The repository of the action.  [default: the one in the current folder]")
@choice_option("--priority", ("high", "urgent"), "How urgent it is.")
@number_option(
    "--expires",
    "Expire after this many days.  [default: `action_days` of [learning]]",
    least=1,
    most=3650,
    metavar="DAYS",
)
@prints
@examples('actions add "Rotate the staging key" --priority urgent --expires 7')
def add_action(
    memory: Memory, text: tuple[str, ...], repo: str, priority: Priority | None, expires: int | None
) -> CommandResult:
    """Add an action."""
    from recollect.memory import NewLearning

    scope, where = place_of(memory, repo, None)
    new = NewLearning(
        text=" ".join(text), kind="action", scope=scope, repo=where, priority=priority or "",
        expires_at=now_us() + expires * _DAY_US if expires is not None else None,
    )  # fmt: skip
    return ACTIONS([memory.learn.add(new)])
