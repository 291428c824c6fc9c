"""What is carried from record to record of a Gemini CLI source, and its limits."""

from __future__ import annotations

from recollect.agents.kit.content.google.chat import ChatState
from recollect.agents.kit.naming import content_sha256, short_name
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import Rewind

MAX_LIVE = 2048
"""Messages that the agent still has, the newest at the end; enough for a rewind of any session a person reads."""
MAX_KNOWN = 4096
"""Messages and calls that were given; a checkpoint repeats them."""
_HUMAN, _OTHER = "u", "-"


class GeminiState(ChatState, frozen=True):
    """The fold of a recording, as far as it is needed to read the next line."""

    project: str = ""
    """The identifier of the project: the folder's name below `tmp`."""
    parent: str = ""
    """Of a subagent: the session that started it."""
    project_hash: str = ""
    cwd: str = ""
    model: str = ""
    title: str = ""
    live: tuple[str, ...] = ()
    """Ids of the messages that the agent still has, each with a mark in front: is it a person's turn."""
    befores: tuple[tuple[str, str], ...] = ()
    """The live messages with the event that stood before each when it was given."""
    known: tuple[str, ...] = ()
    """Short hashes of what was given: message ids, and call ids behind `call:`."""


def mark(message_id: str, *, is_human: bool) -> str:
    """Return how a message stands in `live`."""
    return (_HUMAN if is_human else _OTHER) + short_name(message_id)


def is_known(reading: Reading[GeminiState], name: str) -> bool:
    """Say whether a message (its id) or a call (`call:<id>`) was given before."""
    known: tuple[str, ...] = reading.now("known")
    return content_sha256(name) in known


def remember_name(reading: Reading[GeminiState], name: str) -> None:
    """Remember that a message or call was given."""
    known: tuple[str, ...] = reading.now("known")
    short = content_sha256(name)
    if short not in known:
        reading.set(known=(*known, short)[-MAX_KNOWN:])


def remember_live(reading: Reading[GeminiState], message_id: str, before: str, *, is_human: bool) -> None:
    """Remember that the agent has a message, and the event before it; written again, it stays where it was."""
    live: tuple[str, ...] = reading.now("live")
    name = short_name(message_id)
    if not any(entry[1:] == name for entry in reversed(live)):
        reading.set(live=(*live, mark(message_id, is_human=is_human))[-MAX_LIVE:])
        reading.set(befores=(*reading.now("befores"), (name, before))[-MAX_LIVE:])


def rewind_to(reading: Reading[GeminiState], live: tuple[str, ...], at: int) -> Rewind:
    """Return the rewind that leaves behind the live messages from a place on."""
    befores: tuple[tuple[str, str], ...] = reading.now("befores")
    name = live[at][1:] if at < len(live) else ""
    before = next((before for message, before in befores if message == name), "")
    return Rewind(before or (live[at - 1][1:] if at else ""), turns_in(live[at:]))


def position(live: tuple[str, ...], message_id: str) -> int:
    """Return where a message stands among the live ones, -1 if it doesn't."""
    name = short_name(message_id)
    return next((i for i in range(len(live) - 1, -1, -1) if live[i][1:] == name), -1)


def turns_in(entries: tuple[str, ...]) -> int:
    """Return how many of some live messages are a person's turns."""
    return sum(entry[0] == _HUMAN for entry in entries)
