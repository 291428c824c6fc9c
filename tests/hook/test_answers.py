"""The answers are exactly what each agent documents, whatever the text is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agent_names import ANSWERS
from recollect.agents.registry import adapters
from recollect.hook.answer import request
from recollect.hook.answer_formats import answer_with, empty_answer, is_valid, shortened, takes_context

EVENTS = ("start", "compact", "prompt", "flush", "end")
PAIRS = [(agent, event) for agent in ANSWERS for event in EVENTS]


def test_every_form_is_an_agents_and_names_its_source() -> None:
    hooks = {slug: a.facts.hooks for slug, a in adapters().items() if a.facts.hooks}
    assert {s: (dict(h.answers), h.silence.encode()) for s, h in hooks.items() if h.answers_source} == ANSWERS
    assert all(h.answers_source for h in hooks.values() if h.answers)


def test_the_documented_forms() -> None:
    start = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "text"}}
    prompt = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "text"}}
    for agent in ("claude", "codex", "qwen"):
        assert json.loads(answer_with(agent, "start", "text")) == start
        assert json.loads(answer_with(agent, "compact", "text")) == start
        assert json.loads(answer_with(agent, "prompt", "text")) == prompt
    assert json.loads(answer_with("gemini", "prompt", "text"))["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    assert json.loads(answer_with("vscode", "start", "text")) == start
    assert json.loads(answer_with("cursor", "start", "text")) == {"additional_context": "text"}
    assert json.loads(answer_with("copilot", "start", "text")) == {"additionalContext": "text"}
    assert json.loads(answer_with("copilot", "start", "text")) == {"additionalContext": "text"}
    for agent in ("kimi", "opencode", "pi"):
        assert answer_with(agent, "prompt", "text") == b"text"


def test_agents_that_read_no_context_get_none() -> None:
    silent = [("cursor", "prompt"), ("vscode", "prompt"), ("kimi", "start"), ("grok", "start"), ("copilot", "prompt"),
              ("codewhale", "prompt"), ("windsurf", "start"), ("nobody", "start")]  # fmt: skip
    for agent, event in silent:
        assert not takes_context(agent, event)
        assert answer_with(agent, event, "text") == empty_answer(agent, event)
    assert not any(takes_context(agent, event) for agent in ANSWERS for event in ("flush", "end"))


@pytest.mark.parametrize(("agent", "event"), PAIRS)
@given(text=st.text())
def test_every_answer_is_valid(agent: str, event: str, text: str) -> None:
    said = answer_with(agent, event, text)
    assert is_valid(agent, event, said)
    assert b"\n" not in said or not said.startswith(b"{")


@given(text=st.text(), limit=st.integers(1, 200))
def test_a_shortened_text_fits_and_keeps_its_last_line(text: str, limit: int) -> None:
    short = shortened(text, limit)
    assert len(short) <= limit or len(text) <= limit
    last = text.rstrip().rpartition("\n")[2]
    if len(text) > limit and "\n" in text.strip() and len(last) + 4 < limit:
        assert short == text or short.endswith(last) or "…" in short


def test_a_block_that_is_too_long_stays_closed() -> None:
    block = "<recollect-memory>\n" + "a line\n" * 5000 + "</recollect-memory>"
    context = json.loads(answer_with("claude", "start", block))["hookSpecificOutput"]["additionalContext"]
    assert len(context) <= 10_000
    assert context.startswith("<recollect-memory>\na line\n")
    assert context.endswith("a line\n…\n</recollect-memory>")


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"{}",
        b"null",
        b"not JSON",
        b'{"decision": "block"}',
        b'{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": 1}}',
        b'{"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "x"}}',
        b'{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "x"}, "continue": false}',
        b'{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "x"}} trailing',
        b"[" * 100_000,
    ],
)
def test_what_is_no_answer_is_known(said: bytes) -> None:
    assert is_valid("codex", "start", said) == (said == b"")


def test_payloads_are_read_in_every_spelling() -> None:
    snake = request(b'{"session_id": "s", "cwd": "/r", "source": "resume", "prompt": "p", "tool_use_id": "t"}')
    camel = request(b'{"sessionId": "s", "workspaceRoot": "/r", "trigger": "resume", "prompt": "p", "toolUseId": "t"}')
    cursor = request(b'{"conversation_id": "s", "workspace_roots": ["/r", "/q"], "source": "resume", "prompt": "p"}')
    for said in (snake, camel, cursor):
        assert (said.session, said.cwd, said.source, said.prompt) == ("s", "/r", "resume", "p")
    assert snake.tool == camel.tool == "t"
    assert request(b'{"prompt": [{"type": "text", "text": "a"}, {"type": "image"}, 3]}').prompt == "a"


@given(payload=st.binary())
def test_no_payload_is_too_odd(payload: bytes) -> None:
    assert isinstance(request(payload).session, str)
