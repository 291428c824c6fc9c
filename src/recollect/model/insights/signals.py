"""Signals: deterministic observations over the events of one session. Rules: docs/development/insight-rules.md."""

from __future__ import annotations

from typing import Any, Literal, Self

import msgspec

from recollect.model.events import Event
from recollect.model.insights.nodes import Evidence


class _Signal(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="signal", kw_only=True):
    """What every signal has: the session, the event where it is seen first, and the time of that (UTC microseconds).

    evidence: the event itself first, then those that explain it (the failed call before a retry …).
    """

    session_uid: str
    ts: int | None = None
    turn_index: int = 0
    evidence: tuple[Evidence, ...] = ()

    @classmethod
    def at(cls, event: Event, *evidence: Evidence, **said: Any) -> Self:
        """Return the signal that is seen first at an event."""
        return cls(session_uid=event.session_uid, ts=event.ts, turn_index=event.turn_index, evidence=evidence, **said)


class TestRun(_Signal, frozen=True, tag="test_run"):
    """A test run. framework: "pytest", "jest", "cargo" …, "" if only the command identifies it; counts as printed."""

    framework: str = ""
    command: str = ""
    ok: bool | None = None
    passed: int | None = None
    failed: int | None = None
    errors: int | None = None
    skipped: int | None = None


class ErrorSeen(_Signal, frozen=True, tag="error"):
    """A failed result, a non-zero exit, an API error or a failed update.

    fingerprint: 16 hex digits, equal for errors that differ only in numbers, paths, ids and times; sample: the
    significant line, verbatim.
    """

    fingerprint: str = ""
    sample: str = ""
    tool: str = ""
    source: Literal["result", "exit", "api", "update"] = "result"
    exit_code: int | None = None


class Retry(_Signal, frozen=True, tag="retry"):
    """The same canonical tool on the same target after an error, or the agent's own retry event (target "")."""

    tool: str = ""
    target: str = ""
    attempt: int = 2
    ok: bool | None = None


class HumanIntervention(_Signal, frozen=True, tag="human_intervention"):
    """An interrupt, a denied permission, or a human message to a working agent."""

    reason: Literal["interrupt", "denied", "message"] = "message"


class EditSeen(_Signal, frozen=True, tag="edit"):
    """A file was edited, successfully as far as known."""

    path: str = ""
    operation: str = ""


class Completion(_Signal, frozen=True, tag="completion"):
    """The agent completed a request: a reply that ends a turn in which it worked."""


class Abandoned(_Signal, frozen=True, tag="abandoned"):
    """The session ended in the middle of the work. reason: what was left open."""

    reason: str = ""


class ContextPressure(_Signal, frozen=True, tag="context_pressure"):
    """The context was compacted, or reported as nearly full."""

    trigger: str = ""
    tokens_before: int | None = None


class Loop(_Signal, frozen=True, tag="loop"):
    """The same failing call repeatedly: `count` times in a row without any success in between."""

    tool: str = ""
    target: str = ""
    count: int = 3
    fingerprint: str = ""


class Retraction(_Signal, frozen=True, tag="retraction"):
    """Of analyses before scheme 17 only, which are read until they are made anew."""

    statement: str = ""


Signal = (
    TestRun | ErrorSeen | Retry | HumanIntervention | EditSeen | Completion | Abandoned | ContextPressure | Loop
    | Retraction
)  # fmt: skip
"""The tagged union of all signals."""

SIGNAL_KINDS: tuple[str, ...] = (
    "test_run", "error", "retry", "human_intervention", "edit", "completion", "abandoned", "context_pressure", "loop",
    "retraction",
)  # fmt: skip
"""Every kind; the position is the stored code, so the order never changes and new kinds go to the end."""


def kind_of_signal(signal: Signal) -> str:
    """Return the kind of a signal, for example "retry"."""
    return str(signal.__struct_config__.tag)
