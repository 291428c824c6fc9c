"""Client of OpenAI's Chat Completions API, which many servers offer.

Evidence: OpenAI's API reference, "Create chat completion" and "Structured outputs" (2026-10): `max_completion_tokens`
replaces `max_tokens`, which other servers know; a model that reasons can be told not to; a refusal stands in the
message.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.endpoints.chat_interface import ChatPrompt, OptionalFields, Reply, Stop
from recollect.endpoints.http import Poster
from recollect.errors import EndpointUnusable


class _Said(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Said
    finish_reason: str | None = None


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str = ""
    usage: _Usage | None = None


class Completions:
    """Asks `POST /chat/completions`."""

    def __init__(self, model: str, *, is_openai: bool) -> None:
        """is_openai: at OpenAI's own address, where newer fields are known."""
        self._model = model
        words = {
            "json_schema": ("response_format", "json_schema", "schema"),
            "json_object": ("response_format", "json_object"),
        }
        if is_openai:
            new = {
                "no reasoning": ("reasoning_effort", "reasoning"),
                "max_completion_tokens": ("max_completion_tokens",),
            }
            self._fields = OptionalFields({**new, **words})
        else:
            self._fields = OptionalFields({"max_tokens": ("max_tokens",), **words})
        self._length_fields = (
            ("max_completion_tokens", "max_tokens") if is_openai else ("max_tokens", "max_completion_tokens")
        )

    def ask(self, poster: Poster, prompt: ChatPrompt) -> Reply:
        """See `Interface.ask`."""
        found = self._fields.post(poster, "/chat/completions", lambda: self._question(prompt), _Completion)
        if not found.choices:
            raise EndpointUnusable("the model's answer holds no choice")
        choice, usage = found.choices[0], found.usage or _Usage()
        has_refused = bool(choice.message.refusal) or choice.finish_reason == "content_filter"
        stop: Stop = "refusal" if has_refused else "length" if choice.finish_reason == "length" else "done"
        return Reply(
            text=choice.message.content or choice.message.refusal or "",
            input_tokens=max(0, usage.prompt_tokens),
            output_tokens=max(0, usage.completion_tokens),
            model=found.model or self._model,
            stop=stop,
        )

    def _question(self, prompt: ChatPrompt) -> dict[str, Any]:
        fields, (first, second) = self._fields, self._length_fields
        asked: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            first if first in fields else second: prompt.max_output_tokens,
        }
        if "no reasoning" in fields:
            asked["reasoning_effort"] = "none"
        if "json_schema" in fields:
            named = {"name": "answer", "strict": True, "schema": prompt.schema}
            asked["response_format"] = {"type": "json_schema", "json_schema": named}
        elif "json_object" in fields:
            asked["response_format"] = {"type": "json_object"}
        return asked
