"""Learnings as they are asked for and written down on the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from recollect.cli.terminal import console, write_json, write_list
from recollect.model.insights.nodes import Status
from recollect.model.learnings.learnings import LearningState, Scope

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.model.learnings.learnings import Learning

ALL = "all"
STATES: tuple[LearningState, ...] = get_args(LearningState)
STATUSES: tuple[Status, ...] = get_args(Status)
SCOPES: tuple[Scope, ...] = get_args(Scope)


def states_of(named: Sequence[str]) -> tuple[LearningState, ...]:
    """Return the states that are meant; () for all."""
    return () if ALL in named else tuple(state for state in STATES if state in named)


def place_of(memory: Memory, repo: str, scope: Scope | None) -> tuple[Scope, str]:
    """Return how far something holds that a person writes down: in the repository named, else the one that they are in,
    unless they say everywhere or there is none."""
    here = "" if scope == "user" else repo or next(iter(memory.recall.repositories(os.getcwd())), "")
    return ("repo", here) if here else ("user", "")


def show(name: str, found: Sequence[Learning], *, limit: int | None = None, as_json: bool) -> int:
    """Print learnings; return the exit code. name: what they are called in JSON. limit: of a list, of which one more
    may have been found."""
    shown = found if limit is None else found[:limit]
    if as_json:
        write_list(name, shown)
    else:
        from recollect.cli.render.learnings.learnings import print_learnings

        print_learnings(console(), shown, has_more=len(found) > len(shown))
    return 0 if shown else 1


def show_one(learning: Learning, *, as_json: bool) -> int:
    """Print one learning; return the exit code."""
    if as_json:
        write_json(learning)
    else:
        from recollect.cli.render.learnings.learnings import print_learning

        print_learning(console(), learning)
    return 0


def tell_why(memory: Memory, name: str, *, as_json: bool) -> int:
    """Print what a learning rests on; return the exit code."""
    why = memory.learn.why(name)
    if as_json:
        write_json(why)
    else:
        from recollect.cli.render.learnings.learnings import print_why

        print_why(console(), why)
    return 0
