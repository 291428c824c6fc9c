"""OpenTelemetry GenAI: one request or flat record in, its events out. Pure, and never raises on content.

The items of a record are told by the time at which they ended, an agent's beginning at its start: that is the order in
which things were said. What each kind of item becomes is in `spans` and `logs`; traps are in README.md beside it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from recollect.agents.kit.access import items, mapping, number, text
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.agents.otel import dialects
from recollect.agents.otel.declare import FACTS
from recollect.agents.otel.logs import VENDORS, tell_log
from recollect.agents.otel.spans import AGGREGATES, TELLERS, tell_agent_end, tell_agent_start, tell_other
from recollect.agents.otel.state import Memory, OtelState, Reading, session_name
from recollect.agents.otel.telling import Telling
from recollect.agents.otel.wire import (
    ROOTS,
    Item,
    attributes_of,
    flat_of,
    items_of_request,
    log_of,
    members,
    shown,
    span_of,
)  # fmt: skip
from recollect.model.payloads import Json
from recollect.model.records import Drift, SourceInfo
from recollect.model.text import flatten

_REQUEST = re.compile(rb'\s*\{\s*"resource_?[sS](?:pans|_spans)"|\s*\{\s*"resource(?:Spans|Logs|Metrics)"\s*:')
_TELLING = (b"gen_ai.", b"service.name", b"telemetry.sdk")
_LENGTH_BYTES = 4
_MAX_MESSAGE_BYTES = 64 * 1024 * 1024
_FIRST_TAG = 0x0A
_MAX_POINTS = 200


class OtelAdapter(KitAdapter[OtelState]):
    """The adapter of OpenTelemetry's GenAI conventions."""

    facts = FACTS
    state_type = OtelState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: requests of OTLP in either encoding, flat spans with attributes of GenAI."""
        if _is_protobuf(path, head):
            return "messages"
        if _REQUEST.match(head):
            return "lines"
        line = head.lstrip().partition(b"\n")[0]
        if not line.startswith(b"{") or b"gen_ai." not in line:
            return None
        try:
            value = mapping(msgspec.json.decode(line))
        except (msgspec.DecodeError, ValueError, RecursionError):
            return None
        if "gen_ai.operation.name" in value:
            return "lines"
        is_flat = _is_span(value) or _is_log(value)
        return "lines" if is_flat and dialects.has_genai(attributes_of(value.get("attributes"))) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: a name for what belongs to no session; sessions are named by the items."""
        del head
        return info.stem or "telemetry"

    def read(self, reading: Reading) -> None:
        """See `KitAdapter.read`."""
        value = reading.record.value
        if reading.at:
            value = _request_of_row(reading)
        elements = value if isinstance(value, list) else [value]
        if not elements or not all(isinstance(element, dict) for element in elements):
            read_odd(reading)
            return
        found: list[Item] = []
        for element in elements:
            found += _items_in(reading, element)
        if found:
            _tell(reading, _each_once(found))


class _Step(NamedTuple):
    """Something to be told, and when it happened."""

    at: int
    rank: int
    order: int
    telling: Telling
    tell: Any


def _request_of_row(reading: Reading) -> Json:
    """Return the request of a protobuf message."""
    row = reading.value
    if "raw" in row and "request" in row:
        reading.drift.append(Drift("field", f"{reading.at}.protobuf"))
    if "request" not in row:
        reading.wrong("raw", "not_protobuf")
        return row
    return row["request"]


def _items_in(reading: Reading, value: dict[str, Any]) -> list[Item]:
    """Return the spans and log records of one object. Metrics, and what is none of these, become events at once."""
    found: list[Item] = []
    roots = [root for root in ROOTS if members(value, root) is not None]
    for root in roots:
        if ROOTS[root][0] == "metrics":
            _tell_metrics(reading, value)
        else:
            if not isinstance(members(value, root), list):
                reading.wrong(root)
            found += items_of_request(value, root)
    if roots:
        reading.extra(value, frozenset((*ROOTS, *(_snake(root) for root in ROOTS))), "request")
        return found
    if _is_log(value):
        return [log_of(value, {}, "")]
    if _is_span(value):
        return [span_of(value, {}, "")]
    if dialects.has_genai(value):
        return [flat_of(value)]
    if value == {}:
        reading.kept("empty request")
    else:
        reading.unknown(text(value.get("type")) or "record", shown(value))
    return []


def _tell(reading: Reading, found: list[Item]) -> None:
    """Give the events of some items, in the order in which things happened."""
    memory = Memory(reading)
    attributes = [dialects.canonical(item) for item in found]
    named = [_named_session(item, says) for item, says in zip(found, attributes, strict=True)]
    for item, session in zip(found, named, strict=True):
        if session:
            memory.learn_trace(item.trace, session)
    steps: list[_Step] = []
    newest = 0
    for order, (item, says, session) in enumerate(zip(found, attributes, named, strict=True)):
        telling = Telling(reading, memory, item, says, session or _session_of(item, says, memory))
        newest = item.end or item.start or newest
        operation = text(says.get(dialects.OPERATION))
        if not item.is_span:
            steps.append(_Step(newest, 1, order, telling, tell_log))
        elif operation in AGGREGATES:
            steps.append(_Step(item.start or newest, 0, order, telling, tell_agent_start))
            steps.append(_Step(newest, 2, order, telling, tell_agent_end))
        else:
            steps.append(_Step(newest, 1, order, telling, TELLERS.get(operation, tell_other)))
    # Of agents that end together, the inner one was started later and is told first.
    for step in sorted(steps, key=lambda s: (s.at, s.rank, -s.order if s.rank == 2 else s.order)):
        if step.rank:
            step.telling.see_names()
        step.telling.is_fresh = memory.known(step.telling.scope) is None
        step.tell(step.telling)
    memory.store()


def _each_once(found: list[Item]) -> list[Item]:
    """Return the items without spans that were sent twice in one request."""
    spans: set[str] = set()
    kept: list[Item] = []
    for item in found:
        if not item.is_span or not item.key or item.key not in spans:
            kept.append(item)
        if item.is_span:
            spans.add(item.key)
    return kept


def _named_session(item: Item, says: dict[str, Json]) -> str:
    written = text(says.get(dialects.CONVERSATION)) or text(item.resource.get("session.id"))
    return session_name(written) if written else ""


def _session_of(item: Item, says: dict[str, Json], memory: Memory) -> str | None:
    """Return the session of an item that names none: its trace's, or the trace itself where it tells of GenAI."""
    known = memory.session_of_trace(item.trace)
    if known:
        return known
    is_genai = dialects.has_genai(says) or item.name.startswith(("gen_ai.", *VENDORS))
    return session_name(item.trace) if item.trace and is_genai else None


def _tell_metrics(reading: Reading, value: dict[str, Any]) -> None:
    """Keep metrics: each by its name, its unit and what its points say."""
    lines: list[str] = []
    for resource in items(members(value, "resourceMetrics")):
        for group in items(members(mapping(resource), "scopeMetrics")):
            for metric in items(mapping(group).get("metrics")):
                lines.append(flatten([text(mapping(metric).get("name")), text(mapping(metric).get("unit"))]))
                lines += [_point(point) for point in _points(mapping(metric))[:_MAX_POINTS]]
    reading.kept("metrics", "\n".join(filter(None, lines)))


def _points(metric: dict[str, Any]) -> list[Any]:
    kinds = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
    return [point for kind in kinds for point in items(mapping(metric.get(kind)).get("dataPoints"))]


def _point(point: Json) -> str:
    values = mapping(point)
    shown_value = next((values[k] for k in ("asInt", "asDouble", "sum", "count") if values.get(k) is not None), None)
    said = [f"{k}={v}" for k, v in shown(attributes_of(values.get("attributes"))).items() if isinstance(v, str | int)]
    amount = number(shown_value)
    return " ".join([str(shown_value) if amount is None else f"{amount:g}", *said])


def _is_span(value: dict[str, Any]) -> bool:
    context = mapping(value.get("context")) or mapping(value.get("spanContext")) or value
    has_ids = members(context, "traceId") is not None and members(context, "spanId") is not None
    return has_ids and ("attributes" in value or "name" in value)


def _is_log(value: dict[str, Any]) -> bool:
    if "attributes" not in value and "body" not in value:
        return False
    names = ("timeUnixNano", "observedTimeUnixNano", "severityNumber", "severityText", "eventName", "observedTimestamp")
    return "body" in value or any(members(value, name) is not None for name in names)


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", r"_\1", name).lower()


def _is_protobuf(path: str, head: bytes) -> bool:
    """Tell requests as protobuf: a length and the first tag, or the first tag alone in a file that is named so."""
    if not any(word in head for word in _TELLING):
        return False
    length = int.from_bytes(head[:_LENGTH_BYTES], "big")
    if 0 < length <= _MAX_MESSAGE_BYTES and head[_LENGTH_BYTES : _LENGTH_BYTES + 1] == bytes((_FIRST_TAG,)):
        return True
    return head[:1] == bytes((_FIRST_TAG,)) and path.endswith((".pb", ".binpb"))
