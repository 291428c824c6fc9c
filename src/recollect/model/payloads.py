"""The payload of each event kind, in one form for all agents.

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

    type: "image", "file", "audio" …, in the agent's words. For an image `sha256` is the hash of the decoded bytes and
    `bytes` their number; the bytes stay in the archive.
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
    """Text with the user's role. Only the origins human, queued and command start a turn."""

    text: str = ""
    origin: Origin = "human"
    parts: tuple[Part, ...] = ()


class AssistantMessage(_Payload, frozen=True, tag="assistant_message"):
    """Text of the model."""

    text: str = ""
    model: str = ""
    stop_reason: str = ""
    message_id: str = ""
    """The model API's own message id, shared by all events of one response."""
    parts: tuple[Part, ...] = ()


class Thinking(_Payload, frozen=True, tag="thinking"):
    """Reasoning that the agent recorded. Opaque or encrypted reasoning stays in the archive only."""

    text: str = ""
    message_id: str = ""
    is_encrypted: bool = False


class ToolCall(_Payload, frozen=True, tag="tool_call"):
    """The model called a tool."""

    call_id: str = ""
    name: str = ""
    canonical: str = ""
    """shell, read, edit, search, fetch, task, todo, mcp, or other: see `model.tools.canonical_tool`."""
    arguments: Json = None
    message_id: str = ""


class ToolResult(_Payload, frozen=True, tag="tool_result"):
    """The result of a tool call. `ok` is None if the agent does not record it."""

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
    """A file was created, modified, deleted or renamed; `checkpoint` is a copy that the agent keeps."""

    path: str = ""
    operation: Literal["create", "modify", "delete", "rename", "checkpoint"] = "modify"
    before: str | None = None
    after: str | None = None
    diff: str = ""
    """Unified hunks, where before and after are not given whole."""
    new_path: str = ""
    call_id: str = ""
    backup: str = ""
    """Name of the agent's own backup copy of the state before, if there is one."""


class TokenUsage(_Payload, frozen=True, tag="token_usage"):
    """Tokens of one model response. `input_tokens` never includes cached ones.

    `dedupe_key` identifies the response in all files that repeat it; only additive sightings are summed. Sightings with
    the same key count once: the one with the most output tokens.
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
    """Native id of the record where the session continues."""


class Rewind(_Payload, frozen=True, tag="rewind"):
    """The user went back. What it undid stays in the memory.

    It comes after what it undoes and before the first event of the new branch. It undoes everything between `to_event`
    and itself. to_event: the event id of the last kept event, by the parser's native id, with all its parts. "" with
    `turns_dropped` counts human turns from the end; "" without it: unknown. turns_dropped: how many human turns it
    undid.
    """

    to_event: str = ""
    turns_dropped: int | None = None


class Lifecycle(_Payload, frozen=True, tag="lifecycle"):
    """Something happened around the conversation.

    name: snake_case; known names: title, mode, model, cwd, branch, permission, turn_started, turn_ended, turn_aborted,
    interrupted, api_error, retry, hook, todo, task, pr_link, checkpoint, tag, subagent. `cwd`, `branch`, `model` and
    `title` are set if the event changes them (they update the session).
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
    """The session ended, if the agent records it."""

    reason: str = ""


class Instructions(_Payload, frozen=True, tag="instructions"):
    """System or developer prompts and loaded instruction files; never a human turn."""

    text: str = ""
    source: str = ""


class Unknown(_Payload, frozen=True, tag="unknown"):
    """An unknown record. `type` as written; `text` is its readable part."""

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
