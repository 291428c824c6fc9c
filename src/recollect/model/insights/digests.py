"""The digest: the small, durable summary of one session, as stable JSON (design, section 7).

`Digest` is what is stored and piped; keys are only added to it. `published` gives schema 2, `as_schema_1` the one of
before.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import msgspec

from recollect.model.sessions import Outcome
from recollect.model.time import to_iso

DIGEST_SCHEMA_VERSION = 1
_CONTRACT_MARKERS = {
    "choice": "decision_verb",
    "preference": "decision_verb",
    "rejection": "rejection",
    "reversal": "rejection",
    "ban": "ban",
    "rule": "memory",
    "confirmation": "confirmation",
}
"""What the contract of digests calls each category of rules (`model.insights.nodes.MarkerCategory`)."""


class Cost(msgspec.Struct, frozen=True):
    """What a session cost. Tokens are its own: each response once by its dedupe key, as `recollect usage` counts.

    wall_clock_s: from its first event to its last. active_s: the same without gaps of more than ten minutes.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_tokens: int = 0
    wall_clock_s: float = 0.0
    turns: int = 0
    retries: int = 0
    active_s: float = 0.0


class ErrorSnippet(msgspec.Struct, frozen=True):
    """One kind of error: its fingerprint, a redacted sample, the count, and the tool that met it first."""

    fingerprint: str
    sample: str
    count: int
    tool: str


class TaskRef(msgspec.Struct, frozen=True):
    """A tracker reference of the session ("ABC-123", "#42") and where it was found."""

    ref: str
    found_in: str
    """branch, title, first_prompt, commit or path."""
    evidence: str
    """The text that it was found in, at most 160 characters."""


class Digest(msgspec.Struct, frozen=True):
    """The summary of one session. Times in UTC microseconds. Every key is always present."""

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
    """Calls by tool, as the agent names it, most frequent first; those of MCP servers as `mcp__<server>__<tool>` where
    the agent runs them all through one tool of its own."""
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
    tool_kinds: dict[str, str] = {}
    """The canonical tool of those of the histogram whose name does not tell it."""


class PublishedDigest(msgspec.Struct, frozen=True):
    """A digest as `recollect digest --json` gives it: schema 2. Times in ISO 8601, UTC."""

    session_uid: str
    flavor: str
    repo: str
    domain: str
    model: str
    started_at: str | None
    ended_at: str | None
    outcome: Outcome
    outcome_reasons: tuple[str, ...]
    cost: Cost
    tool_histogram: dict[str, int]
    infra_overhead_share: float
    """Calls of infrastructure over all calls of the histogram, 0 to 1."""
    event_count: int
    kind_counts: dict[str, int]
    markers: dict[str, int]
    """Rules of the gate that fired, by the contract's name of their category."""
    signals: dict[str, int]
    first_prompt: str
    last_assistant: str
    error_snippets: tuple[ErrorSnippet, ...]
    task_ref: TaskRef | None
    schema_version: Literal[2] = 2


def published(digest: Digest, infra_share: float) -> PublishedDigest:
    """Return a digest in schema 2. infra_share: see `insights.correlation.overhead_share`."""
    named: Counter[str] = Counter()
    for rule, count in digest.markers.items():
        category = (
            rule.split(".")[1] if rule.count(".") > 1 else ""
        )  # <language>.<category>.<name>; own rules have none
        named[_CONTRACT_MARKERS.get(category, rule)] += count
    told = {
        name: value for name in PublishedDigest.__struct_fields__ if (value := getattr(digest, name, None)) is not None
    }
    return PublishedDigest(
        **{
            **told,
            "started_at": None if digest.started_at is None else to_iso(digest.started_at),
            "ended_at": None if digest.ended_at is None else to_iso(digest.ended_at),
            "task_ref": digest.task_ref,
            "markers": dict(sorted(named.items())),
            "infra_overhead_share": round(infra_share, 4),
            "schema_version": 2,
        }
    )


def as_schema_1(digest: Digest) -> dict[str, Any]:
    """Return a digest in schema 1: times in UTC microseconds, markers by rule, and no later fields."""
    told: dict[str, Any] = msgspec.to_builtins(digest)
    del told["tool_kinds"], told["cost"]["active_s"]
    return told
