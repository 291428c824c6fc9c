"""Client of Ollama's chat API.

Evidence: Ollama's docs/api.md, "Generate a chat completion" and "Structured outputs": `format` takes a schema; without
`num_ctx` a longer question is cut off at its beginning and nothing says so.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.endpoints.chat_interface import ChatPrompt, OptionalFields, Reply
from recollect.endpoints.http import Poster

_LEAST_CONTEXT_TOKENS = 4096


class _Said(msgspec.Struct):
    content: str = ""


class _Answer(msgspec.Struct):
    message: _Said
    model: str = ""
    done_reason: str = ""
    prompt_eval_count: int = 0
    eval_count: int = 0


class OllamaChat:
    """Asks `POST /api/chat`."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._fields = OptionalFields(
            {"no thinking": ("think",), "schema": ("format", "schema", "unmarshal", "grammar")}
        )

    def ask(self, poster: Poster, prompt: ChatPrompt) -> Reply:
        """See `Interface.ask`."""
        found = self._fields.post(poster, "/api/chat", lambda: self._question(prompt), _Answer)
        return Reply(
            text=found.message.content,
            input_tokens=max(0, found.prompt_eval_count),
            output_tokens=max(0, found.eval_count),
            model=found.model or self._model,
            stop="length" if found.done_reason == "length" else "done",
        )

    def _question(self, prompt: ChatPrompt) -> dict[str, Any]:
        room = max(_LEAST_CONTEXT_TOKENS, prompt.input_tokens + prompt.max_output_tokens)
        asked: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "format": prompt.schema if "schema" in self._fields else "json",
            "stream": False,
            "options": {"temperature": 0, "num_predict": prompt.max_output_tokens, "num_ctx": room},
        }
        if "no thinking" in self._fields:
            asked["think"] = False
        return asked
