"""Gives evidence the whole hash of its record: events that were read lightly have only its beginning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from recollect.model.events import SourceLocation
from recollect.model.insights.nodes import CommandRef, EditRef, Episode, Evidence, Node, RunOfTests
from recollect.model.insights.signals import Signal

Complete = Callable[[Collection[SourceLocation]], Mapping[SourceLocation, SourceLocation]]
_Places = Mapping[SourceLocation, SourceLocation]
_Ref = TypeVar("_Ref", EditRef, CommandRef, RunOfTests)


def locations_of(item: Node | Signal) -> Iterator[SourceLocation]:
    """Yield every location that a node or signal names, as often as it does."""
    if isinstance(item, Node):
        yield item.location
    for evidence in item.evidence:
        yield evidence.location
    if isinstance(item, Episode):
        refs: Iterable[EditRef | CommandRef | RunOfTests] = (*item.edits, *item.commands, *item.tests)
        for ref in refs:
            yield ref.evidence.location


def completed(nodes: Sequence[Node], signals: Sequence[Signal], complete: Complete) -> tuple[list[Node], list[Signal]]:
    """Return nodes and signals whose locations have whole hashes."""
    places = complete({at for item in (*nodes, *signals) for at in locations_of(item)})
    return [_node(node, places) for node in nodes], [_signal(signal, places) for signal in signals]


def _node(node: Node, places: _Places) -> Node:
    evidence = _all(node.evidence, places)
    location = places[node.location]
    if isinstance(node, Episode):
        return msgspec.structs.replace(
            node, location=location, evidence=evidence, edits=_refs(node.edits, places),
            commands=_refs(node.commands, places), tests=_refs(node.tests, places),
        )  # fmt: skip
    return msgspec.structs.replace(node, location=location, evidence=evidence)


def _signal(signal: Signal, places: _Places) -> Signal:
    return msgspec.structs.replace(signal, evidence=_all(signal.evidence, places))


def _all(evidence: Iterable[Evidence], places: _Places) -> tuple[Evidence, ...]:
    return tuple(_one(item, places) for item in evidence)


def _one(evidence: Evidence, places: _Places) -> Evidence:
    return msgspec.structs.replace(evidence, location=places[evidence.location])


def _refs(refs: Iterable[_Ref], places: _Places) -> tuple[_Ref, ...]:
    return tuple(msgspec.structs.replace(ref, evidence=_one(ref.evidence, places)) for ref in refs)
