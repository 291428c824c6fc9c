"""Client of Anthropic's Messages API.

Evidence: platform.claude.com, "Messages", "Structured outputs" and "Claude Haiku 5.5 migration guide" (2026-10):
`output_config.format` holds the schema since Claude 4.5; newer models think unless told not to, and turn down
temperature; a refusal is a `stop_reason`. Servers that speak this interface and older models know tools only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from recollect.endpoints.chat_interface import ChatPrompt, OptionalFields, Reply, Stop
from recollect.endpoints.http import Poster

VERSION = "2023-06-01"
"""The value of the `anthropic-version` header."""
_TOOL = "answer"
_STOPS: Mapping[str, Stop] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    input: msgspec.Raw = msgspec.Raw(b"")


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0


class _Message(msgspec.Struct):
    content: list[_Block]
    model: str = ""
    stop_reason: str | None = None
    usage: _Usage = _Usage()


class AnthropicMessages:
    """Asks `POST /v1/messages`."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._fields = OptionalFields(
            {
                "no thinking": ("thinking",),
                "format": ("output_config", "output_format", "json_schema", "structured output", "schema"),
                "tool": ("tool",),
            }
        )

    def ask(self, poster: Poster, prompt: ChatPrompt) -> Reply:
        """See `Interface.ask`."""
        found = self._fields.post(poster, "/v1/messages", lambda: self._question(prompt), _Message)
        usage = found.usage
        cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        return Reply(
            text=_text(found.content),
            input_tokens=max(0, usage.input_tokens + cached),
            output_tokens=max(0, usage.output_tokens),
            model=found.model or self._model,
            stop=_STOPS.get(found.stop_reason or "", "done"),
        )

    def _question(self, prompt: ChatPrompt) -> dict[str, Any]:
        asked: dict[str, Any] = {
            "model": self._model,
            "max_tokens": prompt.max_output_tokens,
            "system": prompt.system,
            "messages": [{"role": "user", "content": prompt.user}],
        }
        is_silent = "no thinking" in self._fields
        if is_silent:
            asked["thinking"] = {"type": "disabled"}
        if "format" in self._fields:
            asked["output_config"] = {"format": {"type": "json_schema", "schema": prompt.schema}}
        elif "tool" in self._fields:
            asked["tools"] = [{"name": _TOOL, "description": "Give the answer.", "input_schema": prompt.schema}]
            # A model that thinks cannot be made to take a tool.
            asked["tool_choice"] = {"type": "tool", "name": _TOOL} if is_silent else {"type": "auto"}
        return asked


def _text(blocks: list[_Block]) -> str:
    """Return what the model says: the tool's input where it took it, else its text. Thinking is no answer."""
    for block in blocks:
        if block.type == "tool_use":
            return bytes(block.input).decode("utf-8", "replace")
    return "".join(block.text for block in blocks if block.type == "text")
