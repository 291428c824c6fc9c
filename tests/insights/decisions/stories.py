"""Short sessions of talk, and the decisions that are read out of them."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.config import GateRuleConfig as GateRule
from recollect.insights.decisions import ClauseDecider
from recollect.insights.decisions.gate import RuleGate
from recollect.insights.decisions.segment import TurnSegmenter
from recollect.insights.session_events import SessionEvents
from recollect.insights.stages import Gated
from recollect.model.events import Event, SourceLocation
from recollect.model.insights.nodes import Conversation, Decision, Speaker
from recollect.model.payloads import AssistantMessage, UserMessage

UID = "made:talk"


def said(*messages: tuple[Speaker, str]) -> SessionEvents:
    """Return a session in which these messages follow each other, each human one in a turn of its own."""
    events, turn = [], 0
    for number, (speaker, text) in enumerate(messages):
        turn += speaker == "human"
        payload = UserMessage(text) if speaker == "human" else AssistantMessage(text)
        kind = "user_message" if speaker == "human" else "assistant_message"
        place = SourceLocation("made", 0, 100 * number, 100, number, f"{number:064x}")
        events.append(Event(UID, number, f"e{number}", 0, kind, payload, place, ts=number, turn_index=turn))
    return SessionEvents(events)


def read(*messages: tuple[Speaker, str], rules: Sequence[GateRule] = ()) -> tuple[list[Conversation], list[Decision]]:
    """Return what gate, segmenter and decider make of some messages."""
    stream, gate, gated = said(*messages), RuleGate(rules), []
    for event in stream.talk():
        speaker: Speaker = "human" if isinstance(event.payload, UserMessage) else "assistant"
        text = str(getattr(event.payload, "text", ""))
        if markers := gate.markers(text, speaker):
            gated.append(Gated(event, text, speaker, markers))
    conversations = TurnSegmenter().conversations(stream, gated)
    return conversations, ClauseDecider().decisions(stream, conversations)


def decided(text: str, speaker: Speaker = "human", rules: Sequence[GateRule] = ()) -> list[Decision]:
    """Return the decisions in one message."""
    return read((speaker, text), rules=rules)[1]


def answered(proposal: str, answer: str) -> list[Decision]:
    """Return what a human decides who answers a reply."""
    return read(("human", "how should we do it"), ("assistant", proposal), ("human", answer))[1]
