"""What the parser of Windsurf remembers, and how it names what has no id."""

from __future__ import annotations

import msgspec

from recollect.agents.kit.naming import digest_of, numbered
from recollect.agents.kit.reading import BaseState, Reading, remember
from recollect.model.payloads import Json

MAX_SESSIONS = 256


class WindsurfState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """marks: names given by content. sessions: digests of the sessions that began. model, cwd: the newest of `of`."""

    marks: tuple[bytes, ...] = ()
    sessions: tuple[str, ...] = ()
    of: str = ""
    model: str = ""
    cwd: str = ""


Step = Reading[WindsurfState]


def named(step: Step, kind: str, *content: Json) -> str:
    """Return a name made of content; equal content is numbered."""
    name, marks = numbered(step.now("marks"), f"{kind}:{digest_of(content[0] if len(content) == 1 else list(content))}")
    step.set(marks=marks)
    return name


def named_in(step: Step, session: str, kind: str, content: Json) -> str:
    """Return a name made of content, numbered within a session: the same in a source of this session alone."""
    name = f"{kind}:{digest_of(content)}"
    counted, marks = numbered(step.now("marks"), f"{session}:{name}")
    step.set(marks=marks)
    return counted[len(session) + 1 :]


def is_before(step: Step, name: str) -> bool:
    """Say whether a payload before an action was seen that has the name of this one after it (`after:<hex>/2`)."""
    stem, _, number = name.partition("/")
    following, _ = numbered(step.now("marks"), f"before:{stem.partition(':')[2]}")
    seen = int(following.partition("/")[2] or 1) - 1
    return seen >= int(number or 1)


def begins(step: Step, session: str) -> bool:
    """Say whether a session has not been seen yet, and remember it."""
    known: tuple[str, ...] = step.now("sessions")
    mark = digest_of(session)
    if mark in known:
        return False
    step.set(sessions=remember(known, mark, MAX_SESSIONS))
    return True


def move(step: Step, since: int, session: str) -> None:
    """Say that the events from a place on belong to a session, which is not always the source's."""
    if session != step.state.session:
        step.events[since:] = [msgspec.structs.replace(draft, session=session) for draft in step.events[since:]]
