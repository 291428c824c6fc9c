"""The payload of each event kind: what happened, in one normal form for every agent.

Source of the kinds: docs/reference/data-model.md. Every payload is a frozen struct tagged by its kind, so that
JSON carries `{"kind": "tool_call", ...}`. Fields that an agent does not give stay at their default.
"""

# No `annotations` of the future: annotations that are texts would be read, one by one, when a decoder is made.

from typing import Any, Literal

import msgspec

Json = Any
"""Decoded JSON: None, bool, int, float, str, list or dict with str keys."""

Origin = Literal["human", "injected", "queued", "command"]
TURN_ORIGINS: tuple[Origin, ...] = ("human", "queued", "command")
"""Of the user messages that start a turn."""
"""Who wrote a user message: a person (also while the agent worked: queued; or as a /command), or the harness."""


class _Payload(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag_field="kind"):
    """Base of all payloads."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A piece of a message that is not plain text.

    type: "image", "file", "audio" … as the agent names it. For an image `sha256` is the hash of the
    decoded bytes and `bytes` their number; the bytes themselves stay in the archive.
    """

    type: str
    sha256: str = ""
    media_type: str = ""
    bytes: int = 0
    path: str = ""
    url: str = ""


class SessionStart(_Payload, frozen=True, tag="session_start"):
    """The session begins, or a later record corrects what is known about it."""

    cwd: str = ""
    repo_root: str = ""
    git_branch: str = ""
    git_commit: str = ""
    git_remote: str = ""
    model: str = ""
    tool_version: str = ""
    originator: str = ""
    resumed_from: str = ""
    forked_from: str = ""
    parent_session: str = ""
    """Native ids of other sessions of the same agent; `parent_session` makes this one a subagent."""
    agent_name: str = ""
    """The subagent's type or nickname."""


class UserMessage(_Payload, frozen=True, tag="user_message"):
    """Text in the user's role. Only origin human, queued and command start a turn."""

    text: str = ""
    origin: Origin = "human"
    parts: tuple[Part, ...] = ()


class AssistantMessage(_Payload, frozen=True, tag="assistant_message"):
    """Text that the model said."""

    text: str = ""
    model: str = ""
    stop_reason: str = ""
    message_id: str = ""
    """The model API's own message id, shared by all events of one response."""
    parts: tuple[Part, ...] = ()


class Thinking(_Payload, frozen=True, tag="thinking"):
    """Reasoning that the agent wrote down. Opaque or encrypted reasoning stays in the archive only."""

    text: str = ""
    message_id: str = ""
    is_encrypted: bool = False


class ToolCall(_Payload, frozen=True, tag="tool_call"):
    """The model asked for a tool."""

    call_id: str = ""
    name: str = ""
    canonical: str = ""
    """shell, read, edit, search, fetch, task, todo, mcp, or other: see `model.tools.canonical_tool`."""
    arguments: Json = None
    message_id: str = ""


class ToolResult(_Payload, frozen=True, tag="tool_result"):
    """What a tool gave back. `ok` is None where the agent does not say."""

    call_id: str = ""
    name: str = ""
    ok: bool | None = None
    exit_code: int | None = None
    text: str = ""
    structured: Json = None
    """The agent's own structured output, without what `text` or a `file_edit` already holds."""
    duration_ms: int | None = None
    parts: tuple[Part, ...] = ()


class FileEdit(_Payload, frozen=True, tag="file_edit"):
    """A file was created, modified, deleted or renamed; `checkpoint` is a copy kept by the agent."""

    path: str = ""
    operation: Literal["create", "modify", "delete", "rename", "checkpoint"] = "modify"
    before: str | None = None
    after: str | None = None
    diff: str = ""
    """Unified hunks, where before and after are not given whole."""
    new_path: str = ""
    call_id: str = ""
    backup: str = ""
    """Name of the agent's own backup copy of the state before, where there is one."""


class TokenUsage(_Payload, frozen=True, tag="token_usage"):
    """Tokens of one model response. `input_tokens` never includes cached ones.

    `dedupe_key` names the response over all files that repeat it; only additive sightings are summed.
    Sightings with the same key count once: the one with the most output tokens.
    """

    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    """Part of output_tokens, never added to them."""
    cost_usd: float | None = None
    """Only where the agent states it."""
    dedupe_key: str = ""
    is_additive: bool = True


class Compaction(_Payload, frozen=True, tag="compaction"):
    """The agent shortened its context. History is marked, never removed."""

    trigger: str = ""
    summary: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    continues_at: str = ""
    """Native id of the record where the session goes on."""


class Rewind(_Payload, frozen=True, tag="rewind"):
    """The user went back. What was left behind stays in the memory.

    It stands behind what it undoes and before the first event of the new branch. Everything between `to_event` and the
    rewind is undone.

    to_event: the event id of the last event that is kept: the native id that the parser gave it, with all its parts.
    "" with `turns_dropped` counts human turns from the end; "" without it: what was left behind is not known.
    turns_dropped: how many human turns were left behind.
    """

    to_event: str = ""
    turns_dropped: int | None = None


class Lifecycle(_Payload, frozen=True, tag="lifecycle"):
    """Something happened around the conversation.

    name: snake_case; known ones: title, mode, model, cwd, branch, permission, turn_started, turn_ended,
    turn_aborted, interrupted, api_error, retry, hook, todo, task, pr_link, checkpoint, tag, subagent.
    `cwd`, `branch`, `model`, `title` are set where the event changes them (they update the session).
    """

    name: str = ""
    text: str = ""
    detail: Json = None
    cwd: str = ""
    branch: str = ""
    model: str = ""
    title: str = ""
    call_id: str = ""


class SessionEnd(_Payload, frozen=True, tag="session_end"):
    """The session ended, where the agent says so."""

    reason: str = ""


class Instructions(_Payload, frozen=True, tag="instructions"):
    """System or developer prompts and loaded instruction files; never a human turn."""

    text: str = ""
    source: str = ""


class Unknown(_Payload, frozen=True, tag="unknown"):
    """A record we do not know. `type` as written; `text` is what can be read of it."""

    type: str = ""
    text: str = ""


Payload = (
    SessionStart
    | UserMessage
    | AssistantMessage
    | Thinking
    | ToolCall
    | ToolResult
    | FileEdit
    | TokenUsage
    | Compaction
    | Rewind
    | Lifecycle
    | SessionEnd
    | Instructions
    | Unknown
)
"""The tagged union of all payloads."""

KINDS: tuple[str, ...] = (
    "session_start",
    "user_message",
    "assistant_message",
    "thinking",
    "tool_call",
    "tool_result",
    "file_edit",
    "token_usage",
    "compaction",
    "rewind",
    "lifecycle",
    "session_end",
    "instructions",
    "unknown",
)
"""Every kind; the position is the stored code, so the order never changes and new kinds go to the end."""


def kind_of(payload: Payload) -> str:
    """Return the kind of a payload, for example "tool_call"."""
    return str(payload.__struct_config__.tag)
