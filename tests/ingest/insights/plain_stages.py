"""Stages of few words, for what keeps and serves their results: `decide: X not Y because Z`, and edits.

Each is whole in itself and pure, as the protocols of `recollect.insights.stages` want it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.insights.stages import Gated, Lineage, Relations, Stages
from recollect.model.insights.nodes import (
    Binding,
    Conversation,
    Decision,
    EditRef,
    Episode,
    Link,
    Marker,
    Option,
    Speaker,
    node_id,
)
from recollect.model.insights.signals import EditSeen, Signal
from recollect.model.payloads import FileEdit

_DECIDES = re.compile(r"decide: (?P<new>\w+)(?: not (?P<old>\w+))?(?: because (?P<why>[\w ]+))?")


class EditsAreSignals:
    """A signal for every edit."""

    def signals(self, session: SessionEvents) -> list[Signal]:
        return [
            EditSeen(
                session_uid=session.uid, ts=event.ts, turn_index=event.turn_index,
                evidence=(evidence_of(event, "edit"),), path=event.payload.path, operation=event.payload.operation,
            )
            for event in session.events
            if isinstance(event.payload, FileEdit)
        ]  # fmt: skip


class WordGate:
    """Fires on `decide:`."""

    def markers(self, text: str, speaker: Speaker) -> tuple[Marker, ...]:
        return tuple(
            Marker("plain.decide", "choice", "strong", found[0], found.start(), found.end(), "en")
            for found in _DECIDES.finditer(text)
        )


class OneEach:
    """A conversation for every gated message."""

    def conversations(self, session: SessionEvents, gated: Sequence[Gated]) -> list[Conversation]:
        return [
            Conversation(
                id=node_id("conversation", session.uid, item.event.event_id, item.event.part, 0, len(item.text)),
                session_uid=session.uid, location=item.event.location, ts=item.event.ts,
                turn_index=item.event.turn_index, status="observed",
                evidence=(evidence_of(item.event, "statement", 0, len(item.text)),), text=item.text,
                first_turn=item.event.turn_index, last_turn=item.event.turn_index, markers=item.markers,
            )
            for item in gated
        ]  # fmt: skip


class MarkersDecide:
    """A decision for every marker."""

    def decisions(self, session: SessionEvents, conversations: Sequence[Conversation]) -> list[Decision]:
        return [self._decision(session, talk, marker) for talk in conversations for marker in talk.markers]

    def _decision(self, session: SessionEvents, talk: Conversation, marker: Marker) -> Decision:
        found = _DECIDES.search(marker.text)
        assert found is not None
        options = [Option(found["new"], True)] + ([Option(found["old"], False)] if found["old"] else [])
        event = session.events[session.positions[talk.evidence[0].event_id, talk.evidence[0].part]]
        return Decision(
            id=node_id("decision", session.uid, event.event_id, event.part, marker.start, marker.end),
            session_uid=session.uid, location=event.location, ts=event.ts, turn_index=event.turn_index, confidence=0.9,
            features={"marker": 0.9}, evidence=(evidence_of(event, "statement", marker.start, marker.end),),
            statement=marker.text.strip(), options=tuple(options), rationale=found["why"] or "", conversation=talk.id,
            markers=(marker,), language="en",
        )  # fmt: skip


class TurnsGroup:
    """An episode for the edits of every turn."""

    def episodes(self, session: SessionEvents, signals: Sequence[Signal]) -> list[Episode]:
        turns: dict[int, list[EditRef]] = {}
        for event in session.events:
            if isinstance(event.payload, FileEdit):
                whole = session.whole(event).payload
                assert isinstance(whole, FileEdit)
                added = (whole.after or "").count("\n")
                ref = EditRef(whole.path, whole.operation, evidence_of(event, "edit"), added)
                turns.setdefault(event.turn_index, []).append(ref)
        return [
            Episode(
                id=node_id("episode", session.uid, edits[0].evidence.event_id, edits[0].evidence.part),
                session_uid=session.uid, location=edits[0].evidence.location, turn_index=turn,
                ts=next(e.ts for e in session.events if e.event_id == edits[0].evidence.event_id),
                evidence=tuple(e.evidence for e in edits), edits=tuple(edits),
                paths=tuple(dict.fromkeys(e.path for e in edits)),
            )
            for turn, edits in turns.items()
        ]  # fmt: skip


class TurnsBind:
    """A decision leads to the episode of its turn."""

    def bindings(
        self, session: SessionEvents, conversations: Sequence[Conversation], decisions: Sequence[Decision],
        episodes: Sequence[Episode],
    ) -> list[Binding]:  # fmt: skip
        return [bound(d, e) for e in episodes for d in decisions if d.turn_index == e.turn_index]


class OptionsRelate:
    """A decision that takes what another one turned down reverses it; one with the same rejected option supersedes it.

    Episodes of a subagent belong to the last decision of the session that started it.
    """

    def relate(
        self, decisions: Iterable[Decision], episodes: Iterable[Episode], lineage: Mapping[str, Lineage]
    ) -> Relations:
        ordered = sorted(decisions, key=lambda d: (d.ts or 0, d.id))
        links = [
            Link(new.id, old.id, "reverses", new.ts, 0.9, {"same option": 0.9})
            for place, new in enumerate(ordered)
            for old in ordered[:place]
            if set(new.chosen) & set(old.rejected) and new.session_uid != old.session_uid
        ]
        bindings = []
        for episode in sorted(episodes, key=lambda e: e.id):
            parent = lineage[episode.session_uid].parent if episode.session_uid in lineage else ""
            above = [d for d in ordered if parent and d.session_uid == parent]
            bindings += [bound(d, episode) for d in above[-1:]]
        return Relations(links, bindings)


def bound(decision: Decision, episode: Episode) -> Binding:
    return Binding(
        id=node_id("binding", decision.id, episode.id), session_uid=episode.session_uid, location=episode.location,
        ts=episode.ts, source=decision.id, episode=episode.id, used_session=decision.session_uid,
        generated_session=episode.session_uid, t_use=decision.ts, t_gen=episode.ts,
        evidence=(*decision.evidence, *episode.evidence[:1]),
    )  # fmt: skip


PLAIN = Stages(
    EditsAreSignals(), WordGate(), OneEach(), MarkersDecide(), TurnsGroup(), TurnsBind(), OptionsRelate()
)  # fmt: skip
