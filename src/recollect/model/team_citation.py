"""How what a team shares is cited: `team:PERSON/MACHINE/SESSION#EVENT.PART`.

The number of an event means something on its own machine only, so its id is named, and its part where that is not 0.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from recollect.errors import UsageError

PREFIX = "team:"
_IN_NAMES = re.compile(r"[%#/\s]")
_IN_IDS = re.compile(r"[%#\s]")
_PART = re.compile(r"(?P<event>.+)\.(?P<part>\d{1,9})", re.S)


class TeamCitation(NamedTuple):
    """A session of a person's machine, or one of its events. event_id: "" for the session."""

    person: str
    machine: str
    session_uid: str
    event_id: str = ""
    part: int = 0

    def __str__(self) -> str:
        names = "/".join(_encoded(name, _IN_NAMES) for name in (self.person, self.machine))
        session = f"{PREFIX}{names}/{_encoded(self.session_uid, _IN_IDS)}"
        if not self.event_id:
            return session
        has_part = self.part or _PART.fullmatch(self.event_id)
        return f"{session}#{_encoded(self.event_id, _IN_IDS)}{f'.{self.part}' if has_part else ''}"


def read_citation(text: str) -> TeamCitation:
    """Return what a citation names. Raises UsageError for what is none."""
    place, _, event = text.strip().removeprefix(PREFIX).partition("#")
    person, _, rest = place.partition("/")
    machine, _, session = rest.partition("/")
    if not text.strip().startswith(PREFIX) or not (person and machine and session):
        raise UsageError(f"{text!r} cites nothing of a team", hint="write team:PERSON/MACHINE/SESSION, as answers do")
    found = _PART.fullmatch(event)
    names = (_decoded(person), _decoded(machine), _decoded(session))
    if found is None:
        return TeamCitation(*names, _decoded(event))
    return TeamCitation(*names, _decoded(found["event"]), int(found["part"]))


def _encoded(text: str, signs: re.Pattern[str]) -> str:
    return signs.sub(lambda sign: quote(sign[0], safe=""), text)


def _decoded(text: str) -> str:
    """Return a name without the one character that no database of a team keeps."""
    return unquote(text).replace("\0", "\ufffd")
