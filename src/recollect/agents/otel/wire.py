"""From what stands in a record to items: spans and log records in one form, whoever wrote them and in which shape.

OTLP's JSON nests items below resources and scopes and wraps every value; SDKs' own exporters write flat spans with
plain attributes; some write nothing but attributes. All of them become `Item`s.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from recollect.agents.kit.access import items, mapping, number, text, whole
from recollect.agents.kit.instants import instant
from recollect.model.payloads import Json

ROOTS: dict[str, tuple[str, str, str]] = {
    "resourceSpans": ("traces", "scopeSpans", "spans"),
    "resourceLogs": ("logs", "scopeLogs", "logRecords"),
    "resourceMetrics": ("metrics", "scopeMetrics", "metrics"),
}
"""By outermost list: the signal, and the lists inside."""

SPAN_FIELDS = frozenset(
    """traceId spanId traceState parentSpanId flags name kind startTimeUnixNano endTimeUnixNano attributes
    droppedAttributesCount events droppedEventsCount links droppedLinksCount status""".split()
)
LOG_FIELDS = frozenset(
    """timeUnixNano observedTimeUnixNano severityNumber severityText body attributes droppedAttributesCount flags
    traceId spanId eventName""".split()
)
_FLAT_FIELDS = frozenset(
    """trace_id span_id parent_id parentId parent_span_id context parentSpanContext spanContext start_time end_time
    startTime endTime start_time_unix_nano end_time_unix_nano resource scope instrumentationScope timestamp time
    instrumentationLibrary duration hrTime observed_timestamp severity_text severity_number event_name trace_flags id
    type ended trace_state""".split()
)
_TIMES = ("time", "timestamp", "@timestamp", "ts", "event.timestamp")
_SECRET = re.compile(
    r"(?:^|[._-])(?:authorization|cookie|api[._-]?key|token|password|secret|credentials?)(?:$|[._-](?!count|usage|type))"
    r"|^http\.(?:request|response)\.header\.|^url\.(?:full|query)$|^http\.(?:url|target)$"
    r"|^process\.(?:environment_variable\.|command_args$|command_line$)|^(?:header|headers|env)(?:$|\.)",
    re.IGNORECASE,
)
_MAX_DEPTH = 64
_NS_PER_US = 1000
_NS_DIGITS = 15
"""Epoch numbers with more digits than microseconds have are nanoseconds."""
_LIMIT_US = 253_402_300_799_999_999


class Note(NamedTuple):
    """An event inside a span: its name, its time and what it says (attributes, with the body's members below them)."""

    name: str
    at: int | None
    says: dict[str, Json]


class Item(msgspec.Struct, gc=False):
    """A span or a log record. Times in UTC microseconds; `key` names it in its session."""

    is_span: bool
    raw: dict[str, Any]
    trace: str
    span: str
    parent: str
    name: str
    start: int | None
    end: int | None
    attributes: dict[str, Json]
    resource: dict[str, Json]
    scope: str
    notes: list[Note]
    body: Json
    failure: str
    """"" where nothing failed; else what the status says, at least "error"."""
    is_flat: bool = False

    @property
    def key(self) -> str:
        """`trace:span`, "" where the item has no ids."""
        return f"{self.trace}:{self.span}" if self.trace and self.span else self.span


def value_of(wrapped: Json, depth: int = 0) -> Json:
    """Return what an AnyValue holds: `{"intValue": "12"}` is 12. What is none is returned as it stands."""
    if not isinstance(wrapped, dict) or len(wrapped) != 1 or depth >= _MAX_DEPTH:
        return wrapped
    ((kind, inner),) = wrapped.items()
    if kind in ("stringValue", "boolValue", "bytesValue"):
        return inner
    if kind == "intValue":
        found = whole(inner)
        return inner if found is None else found
    if kind == "doubleValue":
        return inner
    if kind == "arrayValue":
        return [value_of(v, depth + 1) for v in items(mapping(inner).get("values"))]
    if kind == "kvlistValue":
        return attributes_of(mapping(inner).get("values"), depth + 1)
    return wrapped


def attributes_of(written: Json, depth: int = 0) -> dict[str, Json]:
    """Return attributes by name: of OTLP's list of pairs, or a plain object. The last of equal names counts."""
    if isinstance(written, dict):
        return written
    found: dict[str, Json] = {}
    for pair in items(written):
        if isinstance(pair, dict) and isinstance(pair.get("key"), str):
            found[pair["key"]] = value_of(pair.get("value"), depth)
    return found


def is_secret(name: str) -> bool:
    """Say whether an attribute may hold credentials: headers, addresses with keys, the environment."""
    return _SECRET.search(name) is not None


def shown(attributes: dict[str, Json]) -> dict[str, Json]:
    """Return attributes without those that may hold credentials, at any depth, and without empty ones."""
    return {
        name: _clean(value, 0) for name, value in attributes.items() if not is_secret(name) and value not in ("", None)
    }


def _clean(value: Json, depth: int) -> Json:
    if depth >= _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return {k: _clean(v, depth + 1) for k, v in value.items() if not is_secret(k)}
    if isinstance(value, list):
        return [_clean(v, depth + 1) for v in value]
    return value


def time_of(value: Json) -> int | None:
    """Return UTC microseconds of nanoseconds (also as text), [seconds, nanoseconds], ISO 8601 or an epoch number."""
    if isinstance(value, list) and len(value) == 2:
        seconds, nanos = whole(value[0]), whole(value[1])
        return None if seconds is None or nanos is None else _bounded(seconds * 1_000_000 + nanos // _NS_PER_US)
    if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
        return instant(value)
    found = whole(value)
    if found is None:
        return instant(value)
    if found == 0:
        return None
    return _bounded(found // _NS_PER_US) if abs(found) >= 10 ** (_NS_DIGITS + 2) else instant(found)


def _bounded(us: int) -> int | None:
    return us if 0 < us <= _LIMIT_US else None


def members(value: dict[str, Any], name: str) -> Json:
    """Return a member by its name in lowerCamelCase or in snake_case."""
    found = value.get(name)
    return value.get(re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()) if found is None else found


def items_of_request(request: dict[str, Any], root: str) -> list[Item]:
    """Return the spans or log records of an OTLP request, in order as written."""
    signal, scope_list, leaf = ROOTS[root]
    found: list[Item] = []
    for resource in items(members(request, root)):
        shared = attributes_of(mapping(mapping(resource).get("resource")).get("attributes"))
        older = mapping(resource).get("instrumentationLibrarySpans")
        groups = items(members(mapping(resource), scope_list)) or items(older)
        for group in groups:
            scope = text(mapping(mapping(group).get("scope")).get("name"))
            for written in items(members(mapping(group), leaf)):
                if isinstance(written, dict):
                    read = span_of if signal == "traces" else log_of
                    found.append(read(written, shared, scope))
    return found


def span_of(written: dict[str, Any], resource: dict[str, Json], scope: str) -> Item:
    """Return a span: OTLP's, or a flat one of an SDK's exporter."""
    context = mapping(written.get("context")) or mapping(written.get("spanContext"))
    parent = mapping(members(written, "parentSpanContext"))
    own = mapping(written.get("resource"))
    return Item(
        is_span=True,
        raw=written,
        trace=_id(members(written, "traceId") or members(context, "traceId")),
        span=_id(members(written, "spanId") or members(context, "spanId")),
        parent=_id(members(written, "parentSpanId") or written.get("parentId") or written.get("parent_id"))
        or _id(members(parent, "spanId")),
        name=text(written.get("name")),
        start=_first_time(written, "startTimeUnixNano", "startTime"),
        end=_first_time(written, "endTimeUnixNano", "endTime"),
        attributes=attributes_of(written.get("attributes")),
        resource=resource or attributes_of(own.get("attributes")),
        scope=scope or text(mapping(members(written, "instrumentationScope")).get("name")),
        notes=[_note(event) for event in items(written.get("events")) if isinstance(event, dict)],
        body=None,
        failure=_failure(written.get("status")),
    )


def log_of(written: dict[str, Any], resource: dict[str, Json], scope: str) -> Item:
    """Return a log record."""
    attributes = attributes_of(written.get("attributes"))
    body = value_of(written.get("body"))
    name = text(members(written, "eventName")) or text(attributes.get("event.name"))
    at = _first_time(written, "timeUnixNano", "timestamp", "observedTimeUnixNano", "observedTimestamp")
    return Item(
        is_span=False,
        raw=written,
        trace=_id(members(written, "traceId")),
        span=_id(members(written, "spanId")),
        parent="",
        name=name or (body if isinstance(body, str) and "\n" not in body[:80] and " " not in body[:80] else ""),
        start=at,
        end=at,
        attributes=attributes,
        resource=resource or attributes_of(mapping(written.get("resource")).get("attributes")),
        scope=scope,
        notes=[],
        body=body,
        failure="",
    )


def flat_of(written: dict[str, Any]) -> Item:
    """Return a record that is nothing but attributes, with a time."""
    at = next((t for t in (time_of(written.get(name)) for name in _TIMES) if t is not None), None)
    names = {"traceId", "trace_id", "spanId", "span_id", "parentSpanId", "parent_span_id", "name", *_TIMES}
    return Item(
        is_span=True,
        raw={},
        trace=_id(members(written, "traceId")),
        span=_id(members(written, "spanId")),
        parent=_id(members(written, "parentSpanId")),
        name=text(written.get("name")),
        start=at,
        end=at,
        attributes={k: v for k, v in written.items() if k not in names},
        resource={},
        scope="",
        notes=[],
        body=None,
        failure="",
        is_flat=True,
    )


def unknown_fields_of(item: Item) -> dict[str, Any]:
    """Return the fields beside attributes that no convention names."""
    known = (SPAN_FIELDS if item.is_span else LOG_FIELDS) | _FLAT_FIELDS
    return {k: v for k, v in item.raw.items() if k not in known}


def _note(event: dict[str, Any]) -> Note:
    says = dict(attributes_of(event.get("attributes")))
    body = value_of(event.get("body"))
    for name, value in mapping(body).items():
        says.setdefault(name, value)
    return Note(text(event.get("name")), _first_time(event, "timeUnixNano", "timestamp", "time"), says)


def _first_time(written: dict[str, Any], *names: str) -> int | None:
    return next((t for t in (time_of(members(written, name)) for name in names) if t is not None), None)


def _id(value: Json) -> str:
    return text(value).removeprefix("0x").lower()


def _failure(status: Json) -> str:
    """Return why a span failed: code 2, or its names in other exporters."""
    written = mapping(status)
    code = written.get("code", written.get("status_code", written.get("statusCode")))
    if code == 2 or (isinstance(code, str) and code.upper() in ("2", "ERROR", "STATUS_CODE_ERROR")):
        return text(written.get("message")) or text(written.get("description")) or "error"
    return ""


def amount(value: Json) -> int | None:
    """Return a number of tokens or milliseconds, also when written as text or as a whole float; None for none."""
    found = whole(value)
    if found is None:
        real = number(value)
        found = int(real) if real is not None else None
    return found if found is not None and found >= 0 else None
