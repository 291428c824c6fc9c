"""The replaceable stages of analysis: observe; gate, segment, decide; group, bind; relate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from recollect.insights.session_events import SessionEvents
from recollect.model.events import Event
from recollect.model.insights.nodes import Binding, Conversation, Decision, Episode, Link, Marker, Speaker
from recollect.model.insights.signals import Signal


class Gated(NamedTuple):
    """A message in which the gate found something."""

    event: Event
    text: str
    speaker: Speaker
    markers: tuple[Marker, ...]


class Lineage(NamedTuple):
    """What relating needs of a session: the one that started it ("" for none) and where it worked."""

    parent: str
    root: str
    repo: str


class Relations(NamedTuple):
    """What decisions and episodes of several sessions have to do with each other."""

    links: list[Link]
    bindings: list[Binding]
    """Of decisions with episodes in subagents of their session."""


class Observer(Protocol):
    """Finds signals."""

    def signals(self, session: SessionEvents) -> list[Signal]:
        """Return the signals of a session, in order of their first event."""
        ...


class Gate(Protocol):
    """Says which messages may hold a decision. Cheap: most text passes it once and is done."""

    def markers(self, text: str, speaker: Speaker) -> tuple[Marker, ...]:
        """Return the rules that fire in a message, with ranges in its characters; empty: nothing here."""
        ...


class Segmenter(Protocol):
    """Puts gated messages together that belong together (a proposal and its confirmation)."""

    def conversations(self, session: SessionEvents, gated: Sequence[Gated]) -> list[Conversation]:
        """Return the verbatim ranges, in order."""
        ...


class Decider(Protocol):
    """Reads decisions out of conversations."""

    def decisions(self, session: SessionEvents, conversations: Sequence[Conversation]) -> list[Decision]:
        """Return the decisions, in order; several in one message are several."""
        ...


class Ranker(Protocol):
    """Finds decisions that no rule finds, and refuses what is none."""

    def decisions(self, session: SessionEvents, known: Sequence[Decision]) -> list[Decision]:
        """Return the known decisions that it does not refuse, and others with the status `ranked`, in order."""
        ...


class Grouper(Protocol):
    """Puts edits together."""

    def episodes(self, session: SessionEvents, signals: Sequence[Signal]) -> list[Episode]:
        """Return the coherent groups of edits, in order."""
        ...


class Binder(Protocol):
    """Says which decision or conversation led to which episode of the same session."""

    def bindings(
        self,
        session: SessionEvents,
        conversations: Sequence[Conversation],
        decisions: Sequence[Decision],
        episodes: Sequence[Episode],
    ) -> list[Binding]:
        """Return the bindings, ordered by (episode, source)."""
        ...


class Relator(Protocol):
    """Relates what several sessions gave."""

    def relate(
        self, decisions: Iterable[Decision], episodes: Iterable[Episode], lineage: Mapping[str, Lineage]
    ) -> Relations:
        """Return how decisions of one repository follow each other, and bindings over subagents. Independent of the
        order in which they are given."""
        ...


class Stages(NamedTuple):
    """The stages in use."""

    observer: Observer
    gate: Gate
    segmenter: Segmenter
    decider: Decider
    grouper: Grouper
    binder: Binder
    relator: Relator
    ranker: Ranker | None = None
    """None: what rules establish is all."""
