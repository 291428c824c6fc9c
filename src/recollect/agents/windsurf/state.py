"""What the parser of Windsurf remembers, and how it names what has no id."""

from __future__ import annotations

import msgspec

from recollect.agents.kit.naming import NamingState, content_sha256, numbered, times_counted
from recollect.agents.kit.reading import Reading, remember
from recollect.model.payloads import Json

MAX_SESSIONS = 256


class WindsurfState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """sessions: hashes of the sessions that began. model, cwd: the newest of `of`."""

    sessions: tuple[str, ...] = ()
    of: str = ""
    model: str = ""
    cwd: str = ""


Step = Reading[WindsurfState]


def named(step: Step, kind: str, *content: Json) -> str:
    """Return a name made of content; equal content is count_name."""
    return numbered(step, f"{kind}:{content_sha256(*content)}")


def named_in(step: Step, session: str, kind: str, content: Json) -> str:
    """Return a name made of content, numbered within a session: the same in a source of this session alone."""
    return numbered(step, f"{session}:{kind}:{content_sha256(content)}")[len(session) + 1 :]


def is_before(step: Step, name: str) -> bool:
    """Say whether a payload before an action was seen that has the name of this one after it (`after:<hex>/2`)."""
    stem, _, number = name.partition("/")
    return times_counted(step.now("marks"), f"before:{stem.partition(':')[2]}") >= int(number or 1)


def begins(step: Step, session: str) -> bool:
    """Say whether a session has not been seen yet, and remember it."""
    known: tuple[str, ...] = step.now("sessions")
    mark = content_sha256(session)
    if mark in known:
        return False
    step.set(sessions=remember(known, mark, MAX_SESSIONS))
    return True


def move(step: Step, since: int, session: str) -> None:
    """Say that the events from a place on belong to a session, which is not always the source's."""
    if session != step.state.session:
        step.events[since:] = [msgspec.structs.replace(draft, session=session) for draft in step.events[since:]]
