"""One vocabulary for the attributes of several conventions: GenAI of any age, OpenLLMetry, OpenInference.

Names that were renamed are read under the newest name; values that were spread over numbered names
(`gen_ai.prompt.0.content`, `llm.input_messages.0.message.role`) become lists again.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import mapping, text
from recollect.agents.otel.wire import Item
from recollect.model.payloads import Json

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
    | frozenset(
        """gen_ai.operation.name gen_ai.agent.id gen_ai.agent.description gen_ai.agent.version gen_ai.workflow.name
        gen_ai.response.id gen_ai.response.finish_reasons gen_ai.response.finish_reason gen_ai.token.type
        gen_ai.tool.type gen_ai.tool.definitions gen_ai.tool.result.status gen_ai.output.type gen_ai.data_source.id
        gen_ai.evaluation.name gen_ai.cli.user_prompt gen_ai.response.time_to_first_chunk
        gen_ai.embeddings.dimension.count gen_ai.conversation.compacted gen_ai.compaction.replaced_message_ids
        gen_ai.prompt.name gen_ai.prompt.version""".split()
    )
)
"""The names of the GenAI conventions, of any age."""
_OPEN = (
    "gen_ai.request.", "gen_ai.usage.", "gen_ai.prompt.", "gen_ai.completion.", "gen_ai.openai.", "gen_ai.azure.",
    "gen_ai.evaluation.", "gen_ai.retrieval.", "gen_ai.anthropic.", "gen_ai.response.", "gen_ai.memory.",
)  # fmt: skip
"""Groups of names that go on growing."""


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
        _plain_values(found)
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


def _plain_values(found: dict[str, Json]) -> None:
    """OpenInference gives what went in and out as plain values where it gives no messages."""
    for name, plain in ((INPUT, "input.value"), (OUTPUT, "output.value")):
        if name not in found and text(found.get(plain)):
            found[name] = found.pop(plain)
        elif plain in found:
            del found[plain]


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
