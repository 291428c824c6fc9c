"""What is carried from record to record, and its limits.

All of it is bounded: what is forgotten is at worst given again under the same name, which the store takes for a replay.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import content_sha256, short
from recollect.agents.kit.reading import MAX_NAME_CHARS, BaseState
from recollect.agents.kit.reading import Reading as KitReading

MAX_SEEN = 8192
MAX_SESSIONS = 48
MAX_TRACES = 128
MAX_SAID = 512


class Known(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A session that was met: the agent whose calls came first, and the newest model."""

    session: str
    agent: str = ""
    model: str = ""


class Said(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The number that a text got among equal ones: by which span (0: a sum of others), in which trace."""

    name: int
    span: int
    trace: int
    number: int
    since: int = 0
    """When the call began whose history said so: a call from before it is no repetition. 0 without a history."""


class OtelState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """What the parser of telemetry remembers."""

    sessions: tuple[Known, ...] = ()
    traces: tuple[tuple[str, str], ...] = ()
    """(trace, session), learned from any span of the trace that names its conversation."""
    seen: tuple[int, ...] = ()
    """Marks of what was given."""
    said: tuple[Said, ...] = ()
    waiting: tuple[Waiting, ...] = ()


Reading = KitReading[OtelState]


def mark(*parts: str) -> int:
    """Return 63 bits that stand for some texts."""
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "big") >> 1


def session_name(written: str) -> str:
    """Return a session's name as it can be stored: long ones, and what cannot be encoded, by their hash."""
    if len(written) <= MAX_NAME_CHARS and short(written) == written:
        return written
    return f"{short(written, 100)}-{content_sha256(written)}"


class Memory:
    """The state while one record is read: changed here, written back once at its end."""

    def __init__(self, reading: Reading) -> None:
        state = reading.state
        self._reading = reading
        self._seen = set(state.seen)
        self._new_marks: list[int] = []
        self._sessions = {known.session: known for known in state.sessions}
        self._traces = dict(state.traces)
        self._said = list(state.said)
        self.waiting = state.waiting

    def store(self) -> None:
        """Write everything back into the state, bounded."""
        state = self._reading.state
        changes: dict[str, Any] = {}
        if self._new_marks:
            changes["seen"] = (*state.seen, *self._new_marks)[-MAX_SEEN:]
        sessions = tuple(self._sessions.values())[-MAX_SESSIONS:]
        traces = tuple(self._traces.items())[-MAX_TRACES:]
        said = tuple(self._said[-MAX_SAID:])
        now = {"sessions": sessions, "traces": traces, "said": said, "waiting": self.waiting}
        changes |= {name: value for name, value in now.items() if value != getattr(state, name)}
        if changes:
            self._reading.set(**changes)

    def is_seen(self, *names: str) -> bool:
        """Say whether something was given."""
        return mark(*names) in self._seen

    def see(self, *names: str) -> bool:
        """Note that something is given; return False where it was before."""
        found = mark(*names)
        if found in self._seen:
            return False
        self._seen.add(found)
        self._new_marks.append(found)
        return True

    def session_of_trace(self, trace: str) -> str:
        """Return the session that a span of the trace named, "" for none."""
        return self._traces.get(short(trace, 64), "")

    def learn_trace(self, trace: str, session: str) -> None:
        """Remember which session a trace belongs to. The first to say it counts."""
        if trace:
            self._traces.setdefault(short(trace, 64), session)

    def known(self, session: str) -> Known | None:
        """Return what is known of a session, None for one that is met for the first time."""
        return self._sessions.get(session)

    def meet(self, known: Known) -> None:
        """Remember a session, as the newest."""
        self._sessions.pop(known.session, None)
        self._sessions[known.session] = known

    def number(self, name: tuple[str, str], where: tuple[str, str], *, start: int, at_least: int = 0) -> int:
        """Return the number of a text (session, name) among equal ones of its session, from 1.

        where: the span ("" for a sum of others) and its trace. at_least: how many of them the history that a call
        repeats has, with this one; 0: there is no history to tell. Then a text is new unless the same span said it
        before, or the sum above it in the same trace.
        """
        wanted = mark(*name)
        by, within = (mark(part) if part else 0 for part in where)
        equal = [said for said in self._said if said.name == wanted]
        if at_least:
            number = at_least
        else:
            before = (said.number for said in equal if said.since <= start)
            number = _told(equal, by, within) or max(before, default=0) + 1
        entry = Said(wanted, by, within, number, start if at_least else 0)
        if entry not in equal:
            self._said.append(entry)
        return number


def _told(equal: list[Said], by: int, within: int) -> int:
    """Return the number that a text has already, 0 for none."""
    if not by:
        return next((said.number for said in reversed(equal) if within and said.trace == within), 0)
    own = next((said.number for said in equal if said.span == by), 0)
    claimed = {said.number for said in equal if said.span}
    above = (s.number for s in equal if within and s.trace == within and not s.span and s.number not in claimed)
    return own or next(above, 0)
