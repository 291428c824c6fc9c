"""The digest: the small, durable summary of one session, as stable JSON (design, section 7)."""

from __future__ import annotations

import msgspec

from recollect.model.sessions import Outcome

DIGEST_SCHEMA_VERSION = 1


class Cost(msgspec.Struct, frozen=True):
    """What a session took. Tokens are its own: each response once by its dedupe key, as `recollect usage` counts."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_tokens: int = 0
    wall_clock_s: float = 0.0
    turns: int = 0
    retries: int = 0


class ErrorSnippet(msgspec.Struct, frozen=True):
    """One kind of error: its fingerprint, one redacted sample, how often, and the tool that met it first."""

    fingerprint: str
    sample: str
    count: int
    tool: str


class TaskRef(msgspec.Struct, frozen=True):
    """What the session worked on, as a tracker names it ("ABC-123", "#42"), and where that stood."""

    ref: str
    found_in: str
    """branch, title, first_prompt, commit or path."""
    evidence: str
    """The text that it was found in, at most 160 characters."""


class Digest(msgspec.Struct, frozen=True):
    """One session in short. Times in UTC microseconds. Every key is always there; a change needs a new
    `schema_version`."""

    session_uid: str
    flavor: str
    """The agent's slug."""
    repo: str
    domain: str
    model: str
    started_at: int | None
    ended_at: int | None
    outcome: Outcome
    outcome_reasons: tuple[str, ...]
    """Why, strongest first, each a short sentence; never empty."""
    cost: Cost
    tool_histogram: dict[str, int]
    """Calls by tool, as the agent names it, most frequent first."""
    event_count: int
    kind_counts: dict[str, int]
    markers: dict[str, int]
    """Rules of the gate that fired in the session, by rule."""
    signals: dict[str, int]
    """Signals by kind."""
    first_prompt: str
    last_assistant: str
    error_snippets: tuple[ErrorSnippet, ...]
    task_ref: TaskRef | None
    schema_version: int = DIGEST_SCHEMA_VERSION
