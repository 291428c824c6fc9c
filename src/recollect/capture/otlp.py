"""Decodes OTLP protobuf to OTLP's JSON, and selects the items of a request that can be ingested.

A request is an ExportTraceServiceRequest, ExportLogsServiceRequest or ExportMetricsServiceRequest. In OTLP's JSON,
names are in lowerCamelCase, enums are numbers, 64-bit integers are text, and ids are hex (where protobuf's own JSON has
base64).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from recollect.errors import SourceRefused
from recollect.model.payloads import Json

if TYPE_CHECKING:
    from google.protobuf.message import Message

Signal = Literal["traces", "logs", "metrics"]
ROOTS: dict[Signal, tuple[str, str, str]] = {
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
    "metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
}
"""By signal: the lists that are nested in a request, from the outside."""

_ID_FIELDS = frozenset(("traceId", "spanId", "parentSpanId"))
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-fA-F]{32}")
_SPAN_ID = re.compile(r"(?!0{16})[0-9a-fA-F]{16}")
_POINTS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")


class Sifted(NamedTuple):
    """What can be taken of a request, how many items that is, how many were left out, and why ("" for none)."""

    request: dict[str, Any]
    accepted: int
    rejected: int
    reason: str


def request_of_json(body: bytes) -> dict[str, Any]:
    """Return a request given as JSON. Raises SourceRefused for what is none."""
    try:
        value: Json = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise SourceRefused(f"the request is not JSON: {error}", reason="malformed") from error
    if not isinstance(value, dict):
        raise SourceRefused("the request is not a JSON object", reason="malformed")
    return value


def request_of_protobuf(body: bytes, signal: Signal) -> dict[str, Any]:
    """Return a request given as protobuf, as OTLP's JSON says it. Raises SourceRefused for what is none."""
    message = parsed(body, signal)
    if message is None:
        raise SourceRefused(f"the request is not a protobuf message of {signal}", reason="malformed")
    return json_of(message)


def parsed(body: bytes, signal: Signal) -> Message | None:
    """Return a message of a signal, None for bytes that are none."""
    from google.protobuf.message import DecodeError

    message = _new_message(signal)
    try:
        message.ParseFromString(body)
    except DecodeError:
        return None
    return message


def json_of(message: Message) -> dict[str, Any]:
    """Return a message as OTLP's JSON says it."""
    from google.protobuf.json_format import MessageToDict

    value: dict[str, Any] = MessageToDict(message, use_integers_for_enums=True)
    # Write the ids in hex, in place. Iterative; attributes are lists of key and value, so no name can be mistaken.
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(item)
            continue
        if not isinstance(item, dict):
            continue
        for key, inner in item.items():
            if key in _ID_FIELDS and isinstance(inner, str):
                item[key] = _hex(inner)
            elif isinstance(inner, dict | list):
                stack.append(inner)
    return value


def says_all(message: Message) -> bool:
    """Return whether a message has only fields that this version of the protocol knows. Unknown ones are lost."""
    before: int = message.ByteSize()
    message.DiscardUnknownFields()
    after: int = message.ByteSize()
    return after == before


def signal_of(body: bytes) -> tuple[Signal, Message] | None:
    """Return which signal a message is of, and the message; None for bytes that are of none.

    The three have the same shape on the outside, so the items tell: spans have ids of 16 and 8 bytes and a start, log
    records only fields that log records have, metrics a name and points.
    """
    for signal, is_one in (("traces", _is_span), ("logs", _is_log), ("metrics", _is_metric)):
        message = parsed(body, signal)  # type: ignore[arg-type]  # the names above are signals
        if message is None:
            continue
        items = list(_items_of(message))
        if items and all(is_one(item) for item in items[:8]):
            return signal, message  # type: ignore[return-value]  # as above
    return None


def sift(request: dict[str, Any], signal: Signal) -> Sifted:
    """Remove items that cannot be ingested: anything but objects, and spans without valid ids.

    Raises SourceRefused if the lists around the items are malformed.
    """
    root, scope, leaf = ROOTS[signal]
    if request and root not in request:
        raise SourceRefused(f"the request has no {root}", reason="malformed")
    accepted = rejected = 0
    reason = ""
    kept_resources = []
    for resource in _objects(request, root):
        kept_scopes = []
        for group in _objects(resource, scope):
            kept = []
            for item in _list(group, leaf):
                problem = _problem(item, signal)
                weight = _weight(item, signal)
                if problem:
                    rejected += weight
                    reason = reason or problem
                else:
                    accepted += weight
                    kept.append(item)
            kept_scopes.append({**group, leaf: kept})
        kept_resources.append({**resource, scope: kept_scopes})
    if not rejected:
        return Sifted(request, accepted, 0, "")
    return Sifted({**request, root: kept_resources}, accepted, rejected, reason)


def _new_message(signal: Signal) -> Message:
    if signal == "traces":
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        return ExportTraceServiceRequest()
    if signal == "logs":
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

        return ExportLogsServiceRequest()
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    return ExportMetricsServiceRequest()


def _items_of(message: Any) -> Iterator[Any]:
    for resource in next((value for _, value in message.ListFields()), ()):
        for field, groups in resource.ListFields():
            if not field.name.startswith("scope_"):
                continue
            for group in groups:
                for inner, items in group.ListFields():
                    if inner.name in ("spans", "log_records", "metrics"):
                        yield from items


def _is_span(item: Any) -> bool:
    return len(item.trace_id) == 16 and len(item.span_id) == 8 and bool(item.start_time_unix_nano)


def _is_log(item: Any) -> bool:
    from google.protobuf.unknown_fields import UnknownFieldSet

    has_time = bool(item.time_unix_nano or item.observed_time_unix_nano)
    return (has_time or item.HasField("body")) and not len(UnknownFieldSet(item))


def _is_metric(item: Any) -> bool:
    return bool(item.name) and item.WhichOneof("data") is not None


def _hex(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).hex()
    except (binascii.Error, ValueError):
        return text


def _problem(item: Json, signal: Signal) -> str:
    if not isinstance(item, dict):
        return f"an item of {ROOTS[signal][2]} is not an object"
    if signal != "traces":
        return ""
    if not _is_id(item.get("traceId"), _TRACE_ID):
        return "a span's traceId is not 32 hex digits"
    if not _is_id(item.get("spanId"), _SPAN_ID):
        return "a span's spanId is not 16 hex digits"
    return ""


def _is_id(value: Json, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _weight(item: Json, signal: Signal) -> int:
    """Return what an item counts for: a metric its points, anything else one."""
    if signal != "metrics" or not isinstance(item, dict):
        return 1
    points = (item.get(kind) for kind in _POINTS)
    return sum(len(p["dataPoints"]) for p in points if isinstance(p, dict) and isinstance(p.get("dataPoints"), list))


def _list(value: dict[str, Any], name: str) -> list[Any]:
    found = value.get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        raise SourceRefused(f"{name} is not a list", reason="malformed")
    return found


def _objects(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = _list(value, name)
    if not all(isinstance(item, dict) for item in found):
        raise SourceRefused(f"an item of {name} is not an object", reason="malformed")
    return found
