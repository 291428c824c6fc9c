"""Chat interfaces: the question and the answer, and how each kind of server is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from recollect.endpoints.http import Poster
from recollect.errors import EndpointRefused, EndpointUnusable

Answer = TypeVar("Answer")

Stop = Literal["done", "length", "refusal"]
"""done: it said all it wanted. length: cut off at the most it may say. refusal: it does not want to."""


class ChatPrompt(NamedTuple):
    """One question. schema: JSON Schema of the answer, an object. input_tokens: how large the question may be at most,
    for a server that must be told how much room to make."""

    system: str
    user: str
    schema: Mapping[str, Any]
    max_output_tokens: int
    input_tokens: int = 0


class Reply(NamedTuple):
    """An answer as an interface gives it. Tokens are 0 where the server does not say."""

    text: str
    input_tokens: int
    output_tokens: int
    model: str
    stop: Stop


class ChatAnswer(NamedTuple):
    """What a model answered.

    data: its text as JSON, None where it is none. model: as the server names it. cost_micro_dollars: millionths of a
    US dollar; None where the server does not say how much was read and written.
    """

    text: str
    data: Any
    input_tokens: int
    output_tokens: int
    model: str
    cost_micro_dollars: int | None
    stop: Stop = "done"


class ChatInterface(Protocol):
    """One way of asking. Knows what its server turned down, so that it is asked for that only once."""

    def ask(self, poster: Poster, prompt: ChatPrompt) -> Reply:
        """Ask once. Raises as `Poster.post`."""
        ...


class OptionalFields:
    """What a question asks for beside its text, and servers may not know; a field that is turned down is dropped.

    Not a second try of a question that failed: the server said that it did not take it, and at which word.
    """

    def __init__(self, marks: Mapping[str, tuple[str, ...]]) -> None:
        """marks: by field, the words by which a refusal names it. Earlier fields are dropped first."""
        self._marks = dict(marks)

    def __contains__(self, field: str) -> bool:
        return field in self._marks

    def post(
        self, poster: Poster, path: str, question: Callable[[], Mapping[str, Any]], answer: type[Answer]
    ) -> Answer:
        """Post what `question` gives, again without a field that was turned down. Raises as `Poster.post`."""
        while True:
            try:
                return poster.post(path, question(), answer)
            except EndpointRefused as refused:
                if refused.kind != "request" or refused.status not in (400, 422) or not self._drop(str(refused)):
                    raise

    def _drop(self, said: str) -> bool:
        text = said.lower()
        for field, marks in self._marks.items():
            if any(mark in text for mark in marks):
                del self._marks[field]
                return True
        return False


def json_in(text: str) -> Any:
    """Return the JSON value that a text is, or that stands in it between fences or other words; None without one."""
    for candidate in (text, _between(text, "```json", "```"), _between(text, "{", "}", keep=True)):
        try:
            return msgspec.json.decode(candidate.strip().encode("utf-8", "surrogatepass"))
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            continue
    return None


def _between(text: str, start: str, end: str, *, keep: bool = False) -> str:
    first, last = text.find(start), text.rfind(end)
    if first < 0 or last <= first:
        return ""
    return text[first : last + len(end)] if keep else text[first + len(start) : last]


_LEAST_CONTEXT_TOKENS = 4096


class _OllamaText(msgspec.Struct):
    content: str = ""


class _OllamaAnswer(msgspec.Struct):
    message: _OllamaText
    model: str = ""
    done_reason: str = ""
    prompt_eval_count: int = 0
    eval_count: int = 0


class OllamaChat:
    """Ollama: asks `POST /api/chat`.

    Evidence: Ollama's docs/api.md, "Generate a chat completion" and "Structured outputs": `format` takes a schema;
    without `num_ctx` a longer question is cut off at its beginning and nothing says so.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._fields = OptionalFields(
            {"no thinking": ("think",), "schema": ("format", "schema", "unmarshal", "grammar")}
        )

    def ask(self, poster: Poster, prompt: ChatPrompt) -> Reply:
        """See `Interface.ask`."""
        found = self._fields.post(poster, "/api/chat", lambda: self._question(prompt), _OllamaAnswer)
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


class _OpenAiText(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _OpenAiText
    finish_reason: str | None = None


class _OpenAiUsage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str = ""
    usage: _OpenAiUsage | None = None


class Completions:
    """OpenAI, and the many servers that speak as it does: asks `POST /chat/completions`.

    Evidence: OpenAI's API reference, "Create chat completion" and "Structured outputs" (2026-10):
    `max_completion_tokens` replaces `max_tokens`, which other servers know; a model that reasons can be told not to; a
    refusal stands in the message.
    """

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
        choice, usage = found.choices[0], found.usage or _OpenAiUsage()
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


class _AnthropicUsage(msgspec.Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0


class _Message(msgspec.Struct):
    content: list[_Block]
    model: str = ""
    stop_reason: str | None = None
    usage: _AnthropicUsage = _AnthropicUsage()


class AnthropicMessages:
    """Anthropic: asks `POST /v1/messages`.

    Evidence: platform.claude.com, "Messages", "Structured outputs" and "Claude Haiku 5.5 migration guide" (2026-10):
    `output_config.format` holds the schema since Claude 4.5; newer models think unless told not to, and turn down
    temperature; a refusal is a `stop_reason`. Servers that speak this interface and older models know tools only.
    """

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
            text=_text_of(found.content),
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


def _text_of(blocks: list[_Block]) -> str:
    """Return what the model says: the tool's input where it took it, else its text. Thinking is no answer."""
    for block in blocks:
        if block.type == "tool_use":
            return bytes(block.input).decode("utf-8", "replace")
    return "".join(block.text for block in blocks if block.type == "text")
