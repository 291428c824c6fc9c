"""The checks that every adapter must pass, for your own transcripts: `check_adapter(adapter, info, values)`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.guard import unguarded
from recollect.model.events import Draft
from recollect.model.payloads import Json, kind_of
from recollect.model.records import Record, SourceInfo
from recollect.units import size

HEAD_BYTES = 64 * 1024
MAX_STATE_BYTES = 1 << 20


class Read(msgspec.Struct, frozen=True):
    """What an adapter made of a source: the events of each record, and the codes of its defects."""

    events: tuple[tuple[Draft, ...], ...]
    defects: tuple[str, ...]

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of event that came."""
        return frozenset(kind_of(draft.payload) for drafts in self.events for draft in drafts)


def records_of(values: Iterable[Json]) -> list[Record]:
    """Return records as a parser gets them, of their decoded values; a text is a record of a `text` source."""
    return [
        Record(value, (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace"), index)
        for index, value in enumerate(values)
    ]


def read(adapter: Adapter, info: SourceInfo, records: Sequence[Record], *, stops: bool = False) -> Read:
    """Parse records in order. stops: the state is stored and loaded between any two, as in a pass that was stopped."""
    state = adapter.begin(info)
    events: list[tuple[Draft, ...]] = []
    defects: list[str] = []
    for record in records:
        if stops:
            state = msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=adapter.state_type)
        parsed = adapter.parse(record, state)
        state = parsed.state
        events.append(parsed.events)
        defects += [defect.code for defect in parsed.defects]
    return Read(tuple(events), tuple(defects))


def check_adapter(adapter: Adapter, info: SourceInfo, values: Sequence[Json]) -> list[str]:
    """Return what is wrong with an adapter, as told by the records of one source; nothing if it keeps the contract.

    values: the decoded records in order, any JSON at all.

    Checks: the session has a name; kinds are declared; the same records give the same events; stopping after any
    record changes nothing; the state can be stored and is at most 1 MiB; a time and its quality agree.
    An adapter that raises lets its exception through.
    """
    return check_records(adapter, info, records_of(values))


def check_records(adapter: Adapter, info: SourceInfo, records: Sequence[Record]) -> list[str]:
    """Check as `check_adapter` does, with records that stand at a place of their document (rows, split arrays)."""
    adapter = unguarded(adapter)
    problems: list[str] = []
    if not adapter.identify(info, b"\n".join(record.raw for record in records)[:HEAD_BYTES]):
        problems.append("identify gave no name to the session")
    whole = read(adapter, info, records)
    undeclared = whole.kinds - set(adapter.facts.capabilities.kinds)
    if undeclared:
        problems.append(f"kinds that are not declared: {', '.join(sorted(undeclared))}")
    if read(adapter, info, records) != whole:
        problems.append("the same records gave other events the second time")
    if read(adapter, info, records, stops=True) != whole:
        problems.append("the events depend on where parsing was stopped")
    state = adapter.begin(info)
    for record in records:
        state = adapter.parse(record, state).state
        if len(msgspec.msgpack.encode(state)) > MAX_STATE_BYTES:
            most = size(MAX_STATE_BYTES, binary=True)
            problems.append(f"the state after record {record.index} is larger than {most}")
            break
    for index, drafts in enumerate(whole.events):
        if any((draft.ts is None) != (draft.ts_quality == "missing") for draft in drafts):
            problems.append(f"record {index}: a time and its quality contradict each other")
    return problems
