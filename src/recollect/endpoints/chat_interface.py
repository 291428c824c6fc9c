"""The contract of a chat interface: the question and the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from recollect.endpoints.http import Poster
from recollect.errors import EndpointRefused

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
