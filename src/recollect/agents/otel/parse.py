"""OpenTelemetry GenAI: parses a request or flat record into events. Pure; never raises on content.

The items of a record are told by the time at which they ended, an agent's beginning at its start: that is the order in
which things were said. What each kind of item becomes is in `spans` and here; traps are in README.md beside it.
"""

import re
from typing import Any, NamedTuple

from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.agents.kit.values import decoded_json, items, mapping, number, text, word_set
from recollect.agents.otel import wire as dialects
from recollect.agents.otel.events import Telling, tell_input, tell_usage
from recollect.agents.otel.messages import Memory, OtelState, Reading, messages_of, session_name
from recollect.agents.otel.spans import (
    AGGREGATES,
    DETAILS,
    MESSAGE_EVENTS,
    TELLERS,
    begin,
    error_text,
    tell_agent_end,
    tell_agent_start,
    tell_leaf,
    tell_message_event,
    tell_other,
)
from recollect.agents.otel.wire import (
    ROOTS,
    Item,
    Note,
    attributes_of,
    flat_of,
    items_of_request,
    log_of,
    members,
    shown,
    span_of,
)
from recollect.model.payloads import Json, Lifecycle, Unknown
from recollect.model.records import Drift, SourceInfo
from recollect.model.text import flatten

# Log records: GenAI's own events, and those that agents log beside their transcripts.
#
# The logs of Claude Code, Gemini CLI, Codex and others repeat what their transcripts say, mostly without the text. They
# are told beside it: tokens that are not counted, and what happened.

VENDORS = ("claude_code.", "gemini_cli.", "qwen-code.", "codex.", "copilot_chat.", "github.copilot.")
_CLAUDE_NAMES = word_set("user_prompt api_request api_error tool_result tool_decision api_request_body")
_REDACTED = frozenset(("<REDACTED>", "[REDACTED]", "REDACTED", "redacted"))
_OLD_COUNTS = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_creation_tokens": "gen_ai.usage.cache_creation.input_tokens",
}
"""Claude Code's names; its input excludes cached tokens."""
_HAPPENED = {
    "api_request": "model_call", "api_response": "model_call", "sse_event": "model_call",
    "websocket_event": "model_call", "websocket_request": "model_call", "websocket_connect": "model_call",
    "api_error": "api_error", "api_retry": "retry", "api_retries_exhausted": "api_error", "network_retry": "retry",
    "content_retry": "retry", "content_retry_failure": "api_error", "invalid_chunk": "api_error",
    "malformed_json_response": "api_error", "api_request_body": "model_call", "api_response_body": "model_call",
    "tool_result": "tool_run", "tool_call": "tool_run", "tool.call": "tool_run", "tool_output_truncated": "tool_run",
    "tool_decision": "permission", "permission_mode_changed": "permission", "approval_mode_switch": "permission",
    "conversation_starts": "config", "config": "config", "cli_config": "config", "session.start": "config",
    "session_start": "config", "user_prompt": "user_prompt", "agent.turn": "turn_ended", "turn": "turn_ended",
    "conversation_finished": "turn_ended", "chat_compression": "compaction", "compaction": "compaction",
    "next_speaker_check": "next_speaker", "loop_detected": "loop_detected", "file_operation": "file_operation",
    "slash_command": "command", "model_routing": "model_routing", "flash_fallback": "model_fallback",
    "agent.start": "subagent", "agent.finish": "subagent", "extension_install": "extension",
    "plugin_installed": "extension", "skill_activated": "skill", "hook_execution_start": "hook",
    "hook_execution_complete": "hook", "hook_call": "hook", "mcp_server_connection": "mcp", "auth": "auth",
    "internal_error": "api_error", "at_mention": "mention", "ide_connection": "ide",
}  # fmt: skip
"""What vendors log, by the name behind the prefix, and what it is called here."""
_ERRORS = ("error", "error.message", "error_message", "error.type", "error_type")
_TOOLS = ("tool_name", "function_name", "gen_ai.tool.name")
_PROMPTS = ("prompt", "prompt_text")


def tell_log(telling: Telling) -> None:
    item = telling.item
    name = _name_of(telling)
    vendor = next((v for v in VENDORS if name.startswith(v)), "")
    if name == DETAILS:
        telling.says.setdefault(dialects.OPERATION, "chat")
        tell_leaf(telling)
    elif name in MESSAGE_EVENTS:
        says: dict[str, Json] = {k: v for k, v in telling.item.attributes.items() if not _is_beside(k)}
        says |= mapping(item.body) or ({"content": item.body} if item.body not in (None, "") else {})
        tell_message_event(telling, Note(name, item.start, says))
    elif vendor:
        _tell_vendor(telling, name.removeprefix(vendor), vendor)
    else:
        if name.startswith("gen_ai."):
            begin(telling)
            telling.drifted("type", f"log.{name}")
        said = flatten([item.body, shown(telling.says)])
        telling.add(Unknown(name or "log", said), telling.key, item.start)


def _name_of(telling: Telling) -> str:
    """Return an event's name; Claude Code gives the short one as an attribute, and the whole one as the body."""
    name, body = telling.item.name, telling.item.body
    if "." not in name and isinstance(body, str) and body.startswith(VENDORS):
        return body
    if name in _CLAUDE_NAMES and text(telling.item.resource.get("service.name")).startswith("claude-code"):
        return f"claude_code.{name}"
    return name


def _is_beside(name: str) -> bool:
    return name.startswith(("gen_ai.", "event.", "session.", "user.", "server."))


def _tell_vendor(telling: Telling, short: str, vendor: str) -> None:
    item, says = telling.item, telling.says
    begin(telling)
    is_claude = vendor == "claude_code."
    if is_claude:
        for old, name in _OLD_COUNTS.items():
            if old in says:
                says.setdefault(name, says.pop(old))
    happened = _HAPPENED.get(short, "")
    prompt = next((text(says.get(name)) for name in _PROMPTS if text(says.get(name))), "")
    if short == "user_prompt" and prompt and prompt not in _REDACTED:
        tell_input(telling, messages_of(prompt, "user"), is_leaf=False, attribute="prompt")
    model = telling.text("model") or telling.text("gen_ai.request.model")
    tell_usage(telling, model, is_additive=False, excludes_cached=is_claude)
    if not happened:
        telling.drifted("type", f"log.{vendor}{short}")
        said = flatten([item.body, shown(says)])
        telling.add(Unknown(f"{vendor}{short}", said), telling.key, item.start)
        return
    error = error_text(text(says.get(name)) for name in _ERRORS)
    tool = next((text(says.get(name)) for name in _TOOLS if text(says.get(name))), "")
    detail = {"event": f"{vendor}{short}", **shown({k: v for k, v in says.items() if k not in _NOT_SHOWN})}
    call_id = telling.text("gen_ai.tool.call.id") or telling.text("call_id") or telling.text("tool_use_id")
    happening = Lifecycle(happened, error_text((tool, error)), detail, call_id=call_id)
    if happened == "model_call" and model:
        happening = Lifecycle(happened, error_text((tool, error)), detail, model=model, call_id=call_id)
    telling.add(happening, telling.key, item.start)


_NOT_SHOWN = frozenset((*_PROMPTS, dialects.CONVERSATION, "event.name", "event.timestamp", "user.email"))
"""Told by an event of its own, or nobody's business."""


_REQUEST = re.compile(rb'\s*\{\s*"resource_?[sS](?:pans|_spans)"|\s*\{\s*"resource(?:Spans|Logs|Metrics)"\s*:')
_TELLING = (b"gen_ai.", b"service.name", b"telemetry.sdk")
_LENGTH_BYTES = 4
_MAX_MESSAGE_BYTES = 64 * 1024 * 1024
_FIRST_TAG = 0x0A
_MAX_POINTS = 200


class OtelAdapter(KitAdapter[OtelState], slug="otel"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: requests of OTLP in either encoding, flat spans with attributes of GenAI."""
        if _is_protobuf(path, head):
            return "messages"
        if _REQUEST.match(head):
            return "lines"
        line = head.lstrip().partition(b"\n")[0]
        if not line.startswith(b"{") or b"gen_ai." not in line:
            return None
        value = mapping(decoded_json(line))
        if "gen_ai.operation.name" in value:
            return "lines"
        is_flat = _is_span(value) or _is_log(value)
        return "lines" if is_flat and dialects.has_genai(attributes_of(value.get("attributes"))) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: a name for what belongs to no session; sessions are named by the items."""
        return info.stem or "telemetry"

    def read(self, reading: Reading) -> None:
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
            # Keep metrics: each by its name, its unit and what its points say.
            lines: list[str] = []
            for resource in items(members(value, "resourceMetrics")):
                for group in items(members(mapping(resource), "scopeMetrics")):
                    for metric in items(mapping(group).get("metrics")):
                        lines.append(flatten([text(mapping(metric).get("name")), text(mapping(metric).get("unit"))]))
                        lines += [_point(point) for point in _points(mapping(metric))[:_MAX_POINTS]]
            reading.kept("metrics", "\n".join(filter(None, lines)))
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
    """Emit the events of some items, in the order in which things happened."""
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
