"""Helpers for tests of agents whose sources are documents: records as capture cuts them, and records gone wrong."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import strategies as st

from recollect.agents.base import Adapter
from recollect.model.events import Draft
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import Read, read
from recollect.testing.strategies import any_json


def info_of(adapter: Adapter, role: str, path: str, document: str = "", head: bytes = b"{}") -> SourceInfo:
    """Return the info of a source, its session told by the adapter."""
    info = SourceInfo(adapter.facts.slug, role, path, document=document)
    return msgspec.structs.replace(info, session=adapter.identify(info, head))


def record(value: Any, index: int = 0, at: str = "") -> Record:
    """Return one record."""
    return Record(value, json.dumps(value).encode("utf-8", "replace"), index, at)


def give(adapter: Adapter, info: SourceInfo, *values: Any, at: str = "") -> list[Draft]:
    """Return the events of some records in order."""
    found = read(adapter, info, [record(value, index, at) for index, value in enumerate(values)])
    return [draft for drafts in found.events for draft in drafts]


def payloads(drafts: list[Draft], kind: type[Any]) -> list[Any]:
    """Return the payloads of one kind."""
    return [draft.payload for draft in drafts if isinstance(draft.payload, kind)]


def problems_of(adapter: Adapter, info: SourceInfo, records: list[Record]) -> list[str]:
    """Return what is wrong with an adapter, as `check_adapter` would say, of records that stand somewhere."""
    whole: Read = read(adapter, info, records)
    problems = [f"kind {kind}" for kind in sorted(whole.kinds - set(adapter.facts.capabilities.kinds))]
    if read(adapter, info, records, stops=True) != whole:
        problems.append("stopping changes the events")
    state = adapter.begin(info)
    for one in records:
        state = adapter.parse(one, state).state
    if len(msgspec.msgpack.encode(state)) > 1 << 20:
        problems.append("the state is too large")
    for drafts in whole.events:
        problems += ["time" for draft in drafts if (draft.ts is None) != (draft.ts_quality == "missing")]
    return problems


@st.composite
def mangled(draw: st.DrawFn, sound: list[Any]) -> list[Any]:
    """Sound records, each with one of its parts replaced by any JSON, or left as it is."""
    return [_with_one_part_replaced(draw, json.loads(json.dumps(value))) for value in sound]


def _with_one_part_replaced(draw: st.DrawFn, value: Any) -> Any:
    places = list(_places(value))
    if not places or draw(st.booleans()):
        return value
    holder, key = places[draw(st.integers(0, len(places) - 1))]
    holder[key] = draw(any_json())
    return value


def _places(value: Any) -> Any:
    if isinstance(value, dict):
        items: Any = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return
    for key, inner in items:
        yield value, key
        yield from _places(inner)
