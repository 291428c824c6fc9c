"""Which rules fired on which message, and what came of it: `parse --explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from recollect.insights.preparation import gate
from recollect.insights.stages import Stages
from recollect.insights.stream import SessionEvents
from recollect.model.events import Event
from recollect.model.insights.nodes import Decision, Marker


class Explanation(msgspec.Struct, frozen=True):
    """One gated message: its place, who said it, the markers (rule, category, strength, words, range), and the
    decisions read out of it with what their confidence is made of."""

    session_uid: str
    event_id: str
    seq: int
    speaker: str
    text: str
    markers: tuple[Marker, ...]
    decisions: tuple[Decision, ...]


def explained(sessions: Mapping[str, Sequence[Event]], *, stages: Stages) -> Iterator[Explanation]:
    """Yield every message in which a rule fired, in order."""
    for events in sessions.values():
        stream = SessionEvents(events)
        gated = gate(stream, stages)
        conversations = stages.segmenter.conversations(stream, gated)
        decisions = stages.decider.decisions(stream, conversations)
        for event, text, speaker, markers in gated:
            of_it = tuple(
                d for d in decisions if d.evidence and (d.evidence[0].event_id, d.evidence[0].part) == _name(event)
            )
            yield Explanation(event.session_uid, event.event_id, event.seq, speaker, text, markers, of_it)


def _name(event: Event) -> tuple[str, int]:
    return event.event_id, event.part
