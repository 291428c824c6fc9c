"""Turns records into items: spans and log records in one form, whoever wrote them.

OTLP's JSON nests items below resources and scopes and wraps every value; SDKs' own exporters write flat spans with
plain attributes; some write nothing but attributes. All of them become `Item`s.
"""

import re
from typing import Any, NamedTuple

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.values import instant, items, mapping, number, text, whole, word_set
from recollect.model.payloads import Json

ROOTS: dict[str, tuple[str, str, str]] = {
    "resourceSpans": ("traces", "scopeSpans", "spans"),
    "resourceLogs": ("logs", "scopeLogs", "logRecords"),
    "resourceMetrics": ("metrics", "scopeMetrics", "metrics"),
}
"""By outermost list: the signal, and the lists inside."""

SPAN_FIELDS = known_fields("otel")["span"]
LOG_FIELDS = known_fields("otel")["log"]
_FLAT_FIELDS = known_fields("otel")["flat"]
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


# One vocabulary for the attributes of several conventions: GenAI of any age, OpenLLMetry, OpenInference.
#
# Names that were renamed are read under the newest name; values that were spread over numbered names
# (`gen_ai.prompt.0.content`, `llm.input_messages.0.message.role`) become lists again.

OPERATION = "gen_ai.operation.name"
CONVERSATION = "gen_ai.conversation.id"
INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"

INFERENCE = frozenset(("chat", "generate_content", "text_completion"))
LEAVES = INFERENCE | {"embeddings"}
"""Operations that call a model themselves; the usage of all others is a sum of theirs."""
AGGREGATES = frozenset(("invoke_agent", "invoke_workflow", "create_agent"))
MARKS = frozenset(("session.start", "session.end", "file_operation"))
"""Operations of flat records that the conventions don't have."""
OPERATIONS = LEAVES | AGGREGATES | MARKS | {"execute_tool", "retrieval"}

_OLD_NAMES: dict[str, tuple[str, ...]] = {
    "gen_ai.provider.name": ("gen_ai.system", "llm.provider", "llm.system", "llm.vendor"),
    "gen_ai.request.model": ("llm.request.model", "llm.model_name", "embedding.model_name"),
    "gen_ai.response.model": ("llm.response.model",),
    CONVERSATION: (
        "conversation.id", "session.id", "session_id", "copilot_chat.session_id", "copilot_chat.chat_session_id",
        "traceloop.association.properties.session_id", "langfuse.session.id",
    ),
    "gen_ai.conversation.parent_id": ("session.parent_id",),
    "gen_ai.agent.name": ("agent.name",),
    "gen_ai.usage.input_tokens": (
        "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens", "llm.token_count.prompt", "input_token_count",
    ),
    "gen_ai.usage.output_tokens": (
        "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens", "llm.token_count.completion",
        "output_token_count",
    ),
    "gen_ai.usage.cache_read.input_tokens": (
        "gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.details.cache_read_tokens",
        "llm.token_count.prompt_details.cache_read", "cached_content_token_count", "cached_token_count",
    ),
    "gen_ai.usage.cache_creation.input_tokens": (
        "gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.details.cache_write_tokens",
        "llm.token_count.prompt_details.cache_write",
    ),
    "gen_ai.usage.reasoning.output_tokens": (
        "gen_ai.usage.reasoning_tokens", "gen_ai.usage.details.reasoning_tokens",
        "llm.token_count.completion_details.reasoning", "thoughts_token_count", "reasoning_token_count",
    ),
    "gen_ai.tool.name": ("tool.name",),
    "gen_ai.tool.call.id": ("tool_call.id", "tool.id"),
    "gen_ai.tool.call.arguments": ("gen_ai.tool.arguments", "tool_call.function.arguments"),
    "gen_ai.tool.call.result": ("gen_ai.tool.result",),
    "gen_ai.tool.description": ("tool.description",),
    "gen_ai.system_instructions": ("gen_ai.system.instructions",),
    INPUT: ("gen_ai.prompt", "gen_ai.content.prompt"),
    OUTPUT: ("gen_ai.completion", "gen_ai.content.completion"),
}  # fmt: skip
_NUMBERED = {
    INPUT: ("gen_ai.prompt.", "llm.prompts.", "llm.input_messages."),
    OUTPUT: ("gen_ai.completion.", "llm.completions.", "llm.output_messages."),
}
_KINDS: dict[str, dict[str, str]] = {
    "openinference.span.kind": {
        "llm": "chat", "tool": "execute_tool", "agent": "invoke_agent", "chain": "invoke_workflow",
        "embedding": "embeddings", "retriever": "retrieval", "reranker": "retrieval",
    },
    "llm.request.type": {
        "chat": "chat", "completion": "text_completion", "embedding": "embeddings", "rerank": "retrieval",
    },
    "traceloop.span.kind": {
        "tool": "execute_tool", "agent": "invoke_agent", "workflow": "invoke_workflow", "task": "invoke_workflow",
    },
}  # fmt: skip
_OLD_OPERATIONS = {
    "completion": "text_completion", "embedding": "embeddings", "messages": "chat", "message": "chat",
    "responses": "chat", "response": "chat", "generate": "generate_content", "tool": "execute_tool",
}  # fmt: skip
_INSIDE_TOOLS = {
    "gen_ai.tool.name": ("traceloop.entity.name",),
    "gen_ai.tool.call.arguments": ("input.value", "traceloop.entity.input", "tool.parameters"),
    "gen_ai.tool.call.result": ("output.value", "traceloop.entity.output"),
}
"""What other conventions call by general names; only in spans of tools does it mean this."""

KNOWN = (
    frozenset(_OLD_NAMES)
    | frozenset(old for names in _OLD_NAMES.values() for old in names)
    | word_set("""
        gen_ai.operation.name gen_ai.agent.id gen_ai.agent.description gen_ai.agent.version gen_ai.workflow.name
        gen_ai.response.id gen_ai.response.finish_reasons gen_ai.response.finish_reason gen_ai.token.type
        gen_ai.tool.type gen_ai.tool.definitions gen_ai.tool.result.status gen_ai.output.type gen_ai.data_source.id
        gen_ai.evaluation.name gen_ai.cli.user_prompt gen_ai.response.time_to_first_chunk
        gen_ai.embeddings.dimension.count gen_ai.conversation.compacted gen_ai.compaction.replaced_message_ids
        gen_ai.prompt.name gen_ai.prompt.version
    """)
)
"""The names of the GenAI conventions, of any age."""
_OPEN = (
    "gen_ai.request.", "gen_ai.usage.", "gen_ai.prompt.", "gen_ai.completion.", "gen_ai.openai.", "gen_ai.azure.",
    "gen_ai.evaluation.", "gen_ai.retrieval.", "gen_ai.anthropic.", "gen_ai.response.", "gen_ai.memory.",
)  # fmt: skip
"""Groups of names that continue growing."""


def is_known(name: str) -> bool:
    """Say whether an attribute is one that GenAI has, or of another convention altogether."""
    return not name.startswith("gen_ai.") or name in KNOWN or name.startswith(_OPEN)


def has_genai(attributes: dict[str, Json]) -> bool:
    """Say whether attributes tell of a model, an agent or a tool at all."""
    return any(
        name.startswith(("gen_ai.", "llm.", "openinference.", "traceloop.", "copilot_chat.")) for name in attributes
    )


def canonical(item: Item) -> dict[str, Json]:
    """Return an item's attributes under the newest names. Old ones that were read are gone, all others stay."""
    found = dict(item.attributes)
    for name, olds in _OLD_NAMES.items():
        _rename(found, name, olds)
    for name, prefixes in _NUMBERED.items():
        for prefix in prefixes:
            numbered = _take_numbered(found, prefix)
            if numbered:
                found.setdefault(name, numbered)
    operation = _operation(item, found)
    if operation:
        found[OPERATION] = operation
    if operation == "execute_tool":
        for name, olds in _INSIDE_TOOLS.items():
            _rename(found, name, olds)
    elif operation in INFERENCE:
        # OpenInference gives what went in and out as plain values where it gives no messages.
        for name, plain in ((INPUT, "input.value"), (OUTPUT, "output.value")):
            if name not in found and text(found.get(plain)):
                found[name] = found.pop(plain)
            elif plain in found:
                del found[plain]
    return found


def _rename(found: dict[str, Json], name: str, olds: tuple[str, ...]) -> None:
    for old in olds:
        if old in found:
            value = found.pop(old)
            if name not in found or found[name] in (None, ""):
                found[name] = value


def _operation(item: Item, found: dict[str, Json]) -> str:
    written = text(found.get(OPERATION))
    if written:
        return _OLD_OPERATIONS.get(written, written)
    for name, kinds in _KINDS.items():
        kind = text(found.get(name)).lower()
        if kind in kinds:
            return kinds[kind]
    first = item.name.partition(" ")[0]
    if first in OPERATIONS and has_genai(found):
        return first
    if "gen_ai.tool.call.id" in found or ("gen_ai.tool.name" in found and item.is_span):
        return "execute_tool"
    # Before 1.27 a call of a model had no operation.
    has_tokens = "gen_ai.usage.output_tokens" in found or "gen_ai.usage.input_tokens" in found
    return "chat" if item.is_span and has_tokens and "gen_ai.request.model" in found else ""


def _take_numbered(found: dict[str, Json], prefix: str) -> list[Json]:
    """Take numbered names out of the attributes and return them as a list of objects."""
    names = [name for name in found if name.startswith(prefix) and name[len(prefix) :].partition(".")[0].isdigit()]
    tree: dict[str, Any] = {}
    for name in names:
        _plant(tree, name[len(prefix) :].split("."), found.pop(name))
    grown = _lists(tree)
    elements = grown if isinstance(grown, list) else []
    return [mapping(e).get("message", e) if isinstance(e, dict) else e for e in elements]


def _plant(tree: dict[str, Any], path: list[str], value: Json) -> None:
    here = tree
    for step in path[:-1]:
        below = here.setdefault(step, {})
        if not isinstance(below, dict):
            below = here[step] = {"": below}
        here = below
    last = path[-1]
    if isinstance(here.get(last), dict):
        here[last][""] = value
    else:
        here[last] = value


def _lists(tree: Any, depth: int = 0) -> Any:
    if not isinstance(tree, dict) or depth > 32:
        return tree
    grown = {key: _lists(value, depth + 1) for key, value in tree.items()}
    if grown and all(key.isdigit() for key in grown):
        return [grown[key] for key in sorted(grown, key=lambda k: (len(k), k))]
    return grown
