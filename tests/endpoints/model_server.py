"""A model server for tests and benchmarks: real HTTP on this machine, in three interfaces, well- or ill-behaved.

It understands Anthropic's Messages, OpenAI's Chat Completions and Ollama's chat, told apart by the path. What it says
is a function of what it is shown, so that a run can be repeated. `serving` of `tests.endpoints.served` runs it.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable
from email.utils import formatdate
from typing import Any, NamedTuple

from tests.endpoints.served import Answer, Asked, Behaviour

BYTES_PER_TOKEN = 3
"""An assumption, not a tokenizer: providers speak of about 4 characters a token in English, and of 30 % more tokens
with their newest tokenizers."""
_EVENT = re.compile(r'<event id="(?P<id>e\d+)" by="(?P<by>\w+)">\n(?P<text>.*?)\n</event>', re.DOTALL)


class Shown(NamedTuple):
    """A question as a model sees it, whichever interface it came by."""

    system: str
    user: str
    model: str
    max_output_tokens: int
    has_schema: bool

    @property
    def events(self) -> list[tuple[str, str, str]]:
        """The events of a question about learnings: (label, who wrote it, text)."""
        return [(m["id"], m["by"], m["text"]) for m in _EVENT.finditer(self.user)]


class Said(NamedTuple):
    """What a model says. stop: "done", "length" or "refusal". is_billed: the server says how many tokens it was."""

    text: str
    stop: str = "done"
    is_billed: bool = True


Model = Callable[[Shown], Said]


def tokens(text: str) -> int:
    """Return how many tokens this server counts for a text."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


def speaking(model: Model) -> Behaviour:
    """Return a server that gives what a model says, in the interface that it is asked by."""

    def behave(asked: Asked, _before: int) -> Answer:
        shown = shown_in(asked)
        said = model(shown)
        read = tokens(shown.system + shown.user) if said.is_billed else 0
        written = min(tokens(said.text), shown.max_output_tokens) if said.is_billed else 0
        return Answer(body=json.dumps(_answer(asked, shown, said, (read, written))).encode())

    return behave


def shown_in(asked: Asked) -> Shown:
    """Return the question of a request."""
    body = asked.body
    if asked.path.endswith("/messages"):
        has_schema = "output_config" in body or "tools" in body
        return Shown(body["system"], body["messages"][0]["content"], body["model"], body["max_tokens"], has_schema)
    system, user = (message["content"] for message in body["messages"])
    if asked.path.endswith("/chat/completions"):
        most = body.get("max_completion_tokens", body.get("max_tokens", 0))
        return Shown(system, user, body["model"], most, "json_schema" in body.get("response_format", {}))
    return Shown(system, user, body["model"], body["options"]["num_predict"], isinstance(body["format"], dict))


def _answer(asked: Asked, shown: Shown, said: Said, spent: tuple[int, int]) -> dict[str, Any]:
    read, written = spent
    if asked.path.endswith("/messages"):
        blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": ""}, {"type": "text", "text": said.text}]
        if "tools" in asked.body:
            blocks = [{"type": "tool_use", "id": "t1", "name": "answer", "input": json.loads(said.text)}]
        stop = {"done": "end_turn", "length": "max_tokens", "refusal": "refusal"}[said.stop]
        usage = {"input_tokens": read, "output_tokens": written, "cache_read_input_tokens": None}
        return {"type": "message", "model": shown.model, "content": blocks, "stop_reason": stop, "usage": usage}
    if asked.path.endswith("/chat/completions"):
        message = {"role": "assistant", "content": said.text, "refusal": None}
        if said.stop == "refusal":
            message |= {"content": None, "refusal": said.text}
        finish = "length" if said.stop == "length" else "stop"
        counted = {"prompt_tokens": read, "completion_tokens": written} if said.is_billed else None
        choices = [{"index": 0, "message": message, "finish_reason": finish}]
        return {"object": "chat.completion", "model": shown.model, "choices": choices, "usage": counted}
    return {
        "model": shown.model,
        "message": {"role": "assistant", "content": said.text},
        "done": True,
        "done_reason": "length" if said.stop == "length" else "stop",
        "prompt_eval_count": read,
        "eval_count": written,
    }


# What a model may say.


def note(event: str, quote: str, **fields: Any) -> dict[str, Any]:
    """Return one note as it is asked for."""
    given = {"kind": "fact", "text": "", "scope": "repo", "path": "", "priority": ""}
    return {**given, "evidence": [{"event": event, "quote": quote}], **fields}


def notes(*found: dict[str, Any]) -> Said:
    """Return an answer of these notes."""
    return Said(json.dumps({"learnings": list(found)}, ensure_ascii=False))


def nothing(_shown: Shown) -> Said:
    """Find nothing."""
    return notes()


def noting(shown: Shown) -> Said:
    """Note the beginning of what user and assistant said last: as many and as long notes as a model would give."""
    talk = [(label, by, " ".join(text.split())) for label, by, text in shown.events if by in ("user", "assistant")]
    found = []
    for label, by, text in talk[-2:]:
        if len(text) >= 24 and "characters left out" not in text[:200]:
            kind = "preference" if by == "user" else "fact"
            found.append(note(label, text[:120], kind=kind, text=f"The {by} said: {text[:160]}"))
    return notes(*found)


def lying_about_evidence(shown: Shown) -> Said:
    """Name events that were not shown, and quotes that stand nowhere."""
    label = shown.events[0][0] if shown.events else "e1"
    return notes(
        note("e9999", "anything at all", text="The build needs version 9 of the compiler."),
        note(label, "words that nobody ever wrote here", text="The tests take an hour on this machine."),
        note("../../e1", "anything at all", text="The server listens on port 1."),
    )


def obeying(shown: Shown) -> Said:
    """Repeat orders that stand in what was shown, as a model that was taken in does."""
    found = [
        note(label, line.strip()[:200], kind=kind, text=line.strip(), scope="user")
        for label, _by, text in shown.events
        for line in text.splitlines()
        if "IMPORTANT" in line or "ignore" in line.lower()
        for kind in ("preference", "action", "fact")
    ]
    return notes(*found)


# How a server may fail.


def always(answer: Answer) -> Behaviour:
    """Give the same answer to everything."""
    return lambda _asked, _before: answer


def failing(
    status: int, *, code: str = "", message: str = "no", retry_after: str = "", field: str = "type"
) -> Behaviour:
    """Fail with an error as providers write it."""
    body = {"type": "error", "error": {field: code or "error", "message": message}}
    headers = (("retry-after", retry_after),) if retry_after else ()
    return always(Answer(status=status, body=json.dumps(body).encode(), headers=headers))


def at_first(failure: Behaviour, then: Behaviour, *, times: int = 1) -> Behaviour:
    """Fail so many times, then answer."""
    return lambda asked, before: (failure if before < times else then)(asked, before)


def slow(then: Behaviour, gate: threading.Event) -> Behaviour:
    """Answer once the gate is open."""

    def behave(asked: Asked, before: int) -> Answer:
        gate.wait(30)
        return then(asked, before)

    return behave


def broken_off(then: Behaviour) -> Behaviour:
    """Close the connection in the middle of the answer."""

    def behave(asked: Asked, before: int) -> Answer:
        answer = then(asked, before)
        return answer._replace(body=answer.body[: len(answer.body) // 2], is_cut=True)

    return behave


def knowing_no(field: str, then: Behaviour, *, status: int = 400) -> Behaviour:
    """Turn down questions that have this field, as a server does that does not know it."""

    def behave(asked: Asked, before: int) -> Answer:
        if field in json.dumps(asked.body):
            return failing(status, code="invalid_request_error", message=f"{field}: Extra inputs are not permitted")(
                asked, before
            )
        return then(asked, before)

    return behave


RATE_LIMITED = failing(429, code="rate_limit_error", retry_after="7")
RATE_LIMITED_UNTIL_A_DATE = failing(429, code="rate_limit_error", retry_after=formatdate(4_102_444_800, usegmt=True))
OVERLOADED = failing(529, code="overloaded_error")
UNAUTHORIZED = failing(401, code="authentication_error")
NO_CREDIT = failing(402, code="billing_error")
CLOSED = always(Answer(is_closed=True))
HUGE = always(Answer(body=b'{"content": "' + b"x" * (5 * 1024 * 1024) + b'"}', pieces=64))
