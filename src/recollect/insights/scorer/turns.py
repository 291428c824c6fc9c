"""The messages of a session, each with what was said before it and what came after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from recollect.insights.scorer.features import Turn
from recollect.insights.stream import SessionEvents
from recollect.model.events import Event
from recollect.model.insights.nodes import Speaker
from recollect.model.payloads import AssistantMessage, FileEdit, UserMessage


class TurnOfEvent(NamedTuple):
    """A message of a session as the scorer reads it."""

    event: Event
    turn: Turn


def turns_of(session: SessionEvents) -> Iterator[TurnOfEvent]:
    """Yield every message that a person or the model said, in order."""
    talk = list(session.talk())
    edited = _edited(session)
    said: dict[Speaker, str] = {"human": "", "assistant": ""}
    for at, event in enumerate(talk):
        speaker = _speaker(event)
        text = _text(event)
        after = _text(talk[at + 1]) if at + 1 < len(talk) else ""
        before = said["assistant" if speaker == "human" else "human"]
        yield TurnOfEvent(event, Turn(text, speaker, before, after, (event.event_id, event.part) in edited))
        said[speaker] = text


def _edited(session: SessionEvents) -> set[tuple[str, int]]:
    """Return the messages that edits follow before a person speaks again."""
    found: set[tuple[str, int]] = set()
    is_edited = False
    for event in reversed(session.of(UserMessage, AssistantMessage, FileEdit)):
        if isinstance(event.payload, FileEdit):
            is_edited = True
            continue
        if is_edited:
            found.add((event.event_id, event.part))
        if isinstance(event.payload, UserMessage):
            is_edited = False
    return found


def _speaker(event: Event) -> Speaker:
    return "human" if isinstance(event.payload, UserMessage) else "assistant"


def _text(event: Event) -> str:
    payload = event.payload
    return payload.text if isinstance(payload, UserMessage | AssistantMessage) else ""
