"""Learnings: facts, patterns, corrections, preferences and actions, extracted from events.

Kinds, ids and states: docs/explanation/learnings.md. A learning is named by its content, so that the same thing heard
twice is one learning with more evidence.
"""

# No `annotations` of the future: annotations that are texts would be read, one by one, when a decoder is made.

from typing import Literal

import msgspec

from recollect.model.insights.nodes import Status

LEARNING_SCHEMA_VERSION = 1
EXTRACTOR = "rules@11"
"""Name and version of the rules that find learnings; raised whenever the same events would give others. It is here
because a sync compares it, and to load the rules takes longer than most syncs do."""

LearningKind = Literal["fact", "pattern", "correction", "preference", "action"]
Scope = Literal["user", "repo", "path"]
"""user: holds wherever the person works; repo: in one repository; path: for a file or folder of it."""
LearningState = Literal["active", "confirmed", "retired", "superseded", "done", "expired", "undone", "quarantined"]
"""quarantined: kept and shown on demand, never given to an agent. done, expired: of actions. undone: said or seen only
in branches that a rewind left behind."""
Author = Literal["user", "assistant", "tool", "web"]
"""Who wrote the evidence. Only what `user` and `assistant` wrote may become a preference or an action."""
Priority = Literal["", "high", "urgent"]

LEARNING_KINDS: tuple[LearningKind, ...] = ("fact", "pattern", "correction", "preference", "action")
"""In the order in which a context shows them."""
GIVEN_STATES: tuple[LearningState, ...] = ("active", "confirmed")
"""The states of what agents are given."""


class LearningEvidence(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An event that a learning rests on. `quote`: at most 300 characters of redacted text. `seq` is for display."""

    session_uid: str
    event_id: str
    part: int
    author: Author
    seq: int = 0
    ts: int | None = None
    quote: str = ""


class Learning(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One learning. Times in UTC microseconds.

    repo: "" for scope user. path: "/"-separated, relative to the repository, for scope path. agent: slug of the agent
    that it applies to, "" for all. confidence: 0 to 1, the sum of `features` (name → contribution). valid_to,
    expires_at: exclusive; None: open. extractor: `name@version`. superseded_by: id of the learning that replaces it.
    batch: the run that made it, see `recollect undo`.
    """

    id: str
    kind: LearningKind
    text: str
    scope: Scope
    repo: str = ""
    path: str = ""
    agent: str = ""
    status: Status = "derived"
    state: LearningState = "active"
    confidence: float = 0.5
    features: dict[str, float] = {}
    valid_from: int | None = None
    valid_to: int | None = None
    recorded_at: int = 0
    updated_at: int = 0
    evidence: tuple[LearningEvidence, ...] = ()
    extractor: str = ""
    priority: Priority = ""
    expires_at: int | None = None
    done_at: int | None = None
    superseded_by: str = ""
    batch: str = ""
    schema_version: int = LEARNING_SCHEMA_VERSION
