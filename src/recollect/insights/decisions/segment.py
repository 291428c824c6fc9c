"""Segments talk into verbatim ranges that join a proposal and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from recollect.insights.language.answers import Proposal, proposal_of
from recollect.insights.session_events import SessionEvents, evidence_of, words_of_talk
from recollect.insights.stages import Gated
from recollect.model.events import Event
from recollect.model.insights.nodes import Conversation, Evidence, Marker, node_id
from recollect.model.payloads import AssistantMessage

WHOLE: Final = 1_200
"""Characters up to which a message is taken whole; of a longer one, the lines around what was found."""
JOIN: Final = "\n\n"
"""Stands between the ranges of a conversation that covers two messages."""
_CAP: Final = 6_000
_LATEST: Final = 3
"""Replies of a turn that an answer may refer to: the last one that proposes something."""
_REPLY: Final = 400
"""Characters up to which a human message is an answer to the reply before it."""


class TurnSegmenter:
    """Cuts ranges out of gated messages; an answer is joined with the reply that it answers, or is none."""

    def conversations(self, session: SessionEvents, gated: Sequence[Gated]) -> list[Conversation]:
        """Return the verbatim ranges, in order of the messages in which something was found."""
        replies = _Replies(session)
        found = []
        for one in gated:
            conversation = _conversation(one, replies)
            if conversation is not None:
                found.append(conversation)
        return found


class _Replies:
    """The reply before each human message."""

    def __init__(self, session: SessionEvents) -> None:
        self._before: dict[tuple[str, int], tuple[Event, ...]] = {}
        last: dict[bool, tuple[Event, ...]] = {}
        for event in session.talk():
            if isinstance(event.payload, AssistantMessage):
                last[event.is_sidechain] = (event, *last.get(event.is_sidechain, ())[: _LATEST - 1])
            else:
                self._before[event.event_id, event.part] = last.pop(event.is_sidechain, ())

    def before(self, event: Event) -> tuple[Event, ...]:
        """Return the last replies before a human message and after the one before, of the same thread, last first."""
        return self._before.get((event.event_id, event.part), ())


def _conversation(one: Gated, replies: _Replies) -> Conversation | None:
    """Return the range of a gated message, None for an answer to nothing."""
    is_answer = all(m.category == "confirmation" and m.language for m in one.markers)
    reply: Event | None = None
    proposal: Proposal | None = None
    if one.speaker == "human" and len(one.text) <= _REPLY:
        code = next((m.language for m in one.markers if m.language), "en")
        for reply in replies.before(one.event):
            proposal = proposal_of(words_of_talk(reply), code)
            if proposal is not None:
                break
    if is_answer and (proposal is None or reply is None or not _answers(one, proposal)):
        return None
    if reply is None or proposal is None or not (is_answer or proposal.asked != (0, 0) or proposal.listed):
        return _of_one(one)
    return _of_two(one, reply, proposal)


def _answers(one: Gated, proposal: Proposal) -> bool:
    """Whether an answer has something to answer: a bare yes or no needs a question that offers more than a step."""
    kinds = {m.rule.rsplit(".", 1)[-1] for m in one.markers}
    if "option" in kinds:
        return bool(proposal.listed) or proposal.asked != (0, 0)
    if "do_it" in kinds:
        return (proposal.suggested != (0, 0) or proposal.offered != (0, 0)) and not proposal.is_step
    return (
        proposal.asked != (0, 0)
        and not proposal.is_step
        and (proposal.offered != (0, 0) or proposal.suggested != (0, 0))
    )


def _of_one(one: Gated) -> Conversation:
    start, end = _range(one.text, [(m.start, m.end) for m in one.markers])
    evidence = evidence_of(one.event, "statement", start, end)
    markers = tuple(moved(m, -start) for m in one.markers if start <= m.start and m.end <= end)
    return _made(one.event, (evidence,), one.text[start:end], markers)


def _of_two(one: Gated, reply: Event, proposal: Proposal) -> Conversation:
    said = words_of_talk(reply)
    spans = [
        s for s in (proposal.asked, proposal.offered, proposal.suggested, *(o.span for o in proposal.listed)) if s[1]
    ]
    start, end = _range(said, spans)
    is_answer = any(m.category == "confirmation" and m.language for m in one.markers)
    begin, stop = _range(one.text, [(m.start, m.end) for m in one.markers])
    evidence = (
        evidence_of(reply, "proposal", start, end),
        evidence_of(one.event, "confirmation" if is_answer else "statement", begin, stop),
    )
    shift = end - start + len(JOIN) - begin
    markers = tuple(moved(m, shift) for m in one.markers if begin <= m.start and m.end <= stop)
    return _made(one.event, evidence, said[start:end] + JOIN + one.text[begin:stop], markers, first=reply)


def _made(
    event: Event, evidence: tuple[Evidence, ...], text: str, markers: tuple[Marker, ...], first: Event | None = None
) -> Conversation:
    begins = first or event
    places = [x for e in evidence for x in (e.event_id, e.part, e.start, e.end)]
    return Conversation(
        id=node_id("conversation", event.session_uid, *places),
        session_uid=event.session_uid,
        location=evidence[0].location,
        ts=event.ts,
        turn_index=event.turn_index,
        status="observed",
        evidence=evidence,
        text=text,
        first_turn=begins.turn_index,
        last_turn=event.turn_index,
        markers=markers,
    )


def _range(text: str, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the range to quote: a short message whole, else the paragraphs around the spans, at most `_CAP`."""
    if len(text) <= WHOLE:
        return 0, len(text)
    first, last = min(s for s, _ in spans), max(e for _, e in spans)
    start = text.rfind("\n\n", 0, first) + 2 if "\n\n" in text[:first] else 0
    end = text.find("\n\n", last)
    end = len(text) if end < 0 else end
    if end - start > _CAP:
        start, end = max(start, first - _CAP // 4), min(end, max(last, first + _CAP // 2))
    return start, min(end, max(start + _CAP, first + 1))


def moved(marker: Marker, by: int) -> Marker:
    """Return a marker so many characters further on."""
    return msgspec.structs.replace(marker, start=marker.start + by, end=marker.end + by)
