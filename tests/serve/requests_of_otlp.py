"""Requests of OTLP for tests, in both encodings."""

from __future__ import annotations

import json
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

TRACE = "5b8efff798038103d269b633813fc60c"
SPAN = "eee19b7ec3c1b174"
START = 1_785_574_800_000_000_000


def attribute(name: str, value: str) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value}}


def span(number: int = 0, **fields: Any) -> dict[str, Any]:
    """Return the span of a call of a model: its prompt says its number."""
    prompt = json.dumps([{"role": "user", "parts": [{"type": "text", "content": f"Question {number}?"}]}])
    answer = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": f"Answer {number}."}]}])
    return {
        "traceId": TRACE,
        "spanId": f"{int(SPAN, 16) + number:016x}",
        "name": "chat m",
        "kind": 3,
        "startTimeUnixNano": str(START + number),
        "endTimeUnixNano": str(START + 1_000_000_000 + number),
        "attributes": [
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.conversation.id", "c1"),
            attribute("gen_ai.input.messages", prompt),
            attribute("gen_ai.output.messages", answer),
        ],
        **fields,
    }


def traces(*spans: Any) -> bytes:
    """Return an export of spans as JSON."""
    resource = {"attributes": [attribute("service.name", "demo")]}
    scope = {"scope": {"name": "demo"}, "spans": list(spans) or [span()]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}).encode()


def traces_as_protobuf(*numbers: int, trace: bytes = bytes.fromhex(TRACE)) -> bytes:
    """Return an export of the same spans as protobuf."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "demo"
    scope = resource.scope_spans.add()
    scope.scope.name = "demo"
    for number in numbers or (0,):
        written = span(number)
        made = scope.spans.add(
            trace_id=trace,
            span_id=bytes.fromhex(written["spanId"]),
            name=written["name"],
            kind=written["kind"],
            start_time_unix_nano=int(written["startTimeUnixNano"]),
            end_time_unix_nano=int(written["endTimeUnixNano"]),
        )
        for pair in written["attributes"]:
            made.attributes.add(key=pair["key"]).value.string_value = pair["value"]["stringValue"]
    return bytes(request.SerializeToString())


def logs() -> bytes:
    record = {"timeUnixNano": str(START), "body": {"stringValue": "codex.user_prompt"}, "attributes": []}
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode()


def metrics() -> bytes:
    point = {"timeUnixNano": str(START), "asInt": "3"}
    metric = {"name": "tokens", "sum": {"dataPoints": [point]}}
    return json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}).encode()
