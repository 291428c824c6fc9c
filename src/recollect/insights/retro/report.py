"""The result of a retrospective, as data for text, plots and JSON.

Every line names its evidence: citations `session_uid#seq`, or a bare `session_uid` where the whole session is meant, at
most `EVIDENCE` of them. Lists are cut; `unlisted` says what was left out, so that lines and totals add up.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from recollect.model.insights.nodes import DecisionState, Polarity, Relation, Speaker
from recollect.model.sessions import Outcome
from recollect.model.usage import UsageRow, UsageTotals
from recollect.units import count, plural

RETRO_SCHEMA_VERSION = 1
EVIDENCE = 3
"""Citations a line."""
MAX_LINES = 50
"""Of each list; of sessions and decisions `MAX_SESSIONS`."""
MAX_SESSIONS = 200

MAX_DAYS = 3_660
"""A span of so many days is listed day by day; of a longer one, the days from the first to the last with something."""

Standing = Outcome | Literal["not analysed"]
"""How a session came out; of one that nobody analysed yet, that."""
STANDINGS: tuple[Standing, ...] = ("success", "fail", "abandoned", "unknown", "not analysed")
How = Literal["edit", "command", "read", "call", "again"]
"""What came between a failure and the success of the same call: an edit, a command, a look at the same target, the call
itself put otherwise, or nothing but another try."""
FIXED_BY: dict[How, str] = {
    "edit": "an edit of",
    "command": "running",
    "read": "reading",
    "call": "calling it otherwise:",
    "again": "trying again:",
}
"""How each is told."""
RELATIONS: dict[Relation, str] = {
    "supersedes": "superseded",
    "reverses": "reversed",
    "contradicts": "contradicted",
    "produced": "led to",
}
"""What a newer decision did with an older one."""
INTERVENTIONS = {
    "interrupt": "interrupted the agent",
    "denied": "denied a permission",
    "message": "wrote while the agent worked",
}
"""What a person did, by reason."""


class Totals(msgspec.Struct, frozen=True):
    """Everything in the span, listed or not. wall_clock_s: of each session from begin to end, summed."""

    sessions: int = 0
    subagent_sessions: int = 0
    turns: int = 0
    wall_clock_s: float = 0.0
    errors: int = 0
    errors_fixed: int = 0
    retries: int = 0
    loops: int = 0
    interventions: int = 0
    compactions: int = 0
    edits: int = 0
    files: int = 0
    test_runs: int = 0
    decisions: int = 0


class OutcomeLine(msgspec.Struct, frozen=True):
    """How many sessions came out so."""

    outcome: Standing
    sessions: int
    evidence: tuple[str, ...] = ()


class DayLine(msgspec.Struct, frozen=True):
    """One day, as `recollect usage` counts days. sessions: by outcome, on the day of their last event in the span;
    the rest: what happened on that day."""

    day: str
    sessions: dict[str, int]
    errors: int = 0
    retries: int = 0
    interventions: int = 0
    edits: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_tokens: int = 0
    cost_usd: float | None = None


class SessionLine(msgspec.Struct, frozen=True):
    """One session. Counts and tokens are of the span; outcome, turns and times of the whole session."""

    session_uid: str
    agent: str
    repo: str
    title: str
    started_at: int | None
    ended_at: int | None
    is_subagent: bool
    outcome: Standing
    reason: str
    turns: int
    wall_clock_s: float
    input_tokens: int
    output_tokens: int
    cache_tokens: int
    cost_usd: float | None
    errors: int
    retries: int
    interventions: int
    edits: int
    test_runs: int
    task_ref: str
    evidence: tuple[str, ...]


class GroupLine(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions that have something in common. sessions: by outcome; the counts and totals are of the span."""

    sessions: dict[str, int]
    errors: int = 0
    retries: int = 0
    interventions: int = 0
    edits: int = 0
    totals: UsageTotals = UsageTotals()
    unpriced_models: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


class AgentLine(GroupLine, frozen=True, kw_only=True):
    """The sessions of one agent."""

    agent: str


class DomainLine(GroupLine, frozen=True, kw_only=True):
    """The sessions of one domain, "" for those of none."""

    domain: str


class RepoLine(GroupLine, frozen=True, kw_only=True):
    """The sessions of one repository, "" for those of none."""

    repo: str


class PreviousPeriod(msgspec.Struct, frozen=True):
    """The span of the same length just before: [since, until). sessions: by outcome; spent: tokens and cost."""

    since: int
    until: int
    totals: Totals
    sessions: dict[str, int]
    spent: UsageTotals

    @property
    def is_empty(self) -> bool:
        """True when nothing happened in it."""
        return not self.totals.sessions and not self.spent.responses and not self.totals.decisions


class Spent(msgspec.Struct, frozen=True):
    """Tokens and cost of the responses in the span, as `recollect usage` counts. prices_on: date of the prices."""

    total: UsageTotals = UsageTotals()
    by_model: tuple[UsageRow, ...] = ()
    prices_on: str = ""
    notes: tuple[str, ...] = ()


class FixLine(msgspec.Struct, frozen=True):
    """What came between a failure and the success of the same call. what: the path, the command, or the call.

    evidence: that edit, command or call; failed, worked: the failed result and the call that then worked.
    """

    how: How
    what: str
    evidence: str
    failed: str
    worked: str


class ErrorLine(msgspec.Struct, frozen=True):
    """Errors of one fingerprint. fixed: after how many of them the same call worked in the same session."""

    fingerprint: str
    sample: str
    tool: str
    count: int
    sessions: int
    fixed: int
    first_at: int | None
    last_at: int | None
    fixes: tuple[FixLine, ...]
    evidence: tuple[str, ...]


class RetryLine(msgspec.Struct, frozen=True):
    """The same call made again after an error. tool "": the agent's own. worked, failed: as far as recorded."""

    tool: str
    target: str
    count: int
    worked: int
    failed: int
    sessions: int
    evidence: tuple[str, ...]


class LoopLine(msgspec.Struct, frozen=True):
    """The same failing call at least three times in a row."""

    tool: str
    target: str
    calls: int
    evidence: tuple[str, ...]


class InterventionLine(msgspec.Struct, frozen=True):
    """A person stepped in: interrupt, denied, message."""

    reason: str
    count: int
    sessions: int
    evidence: tuple[str, ...]


class FileLine(msgspec.Struct, frozen=True):
    """An edited file. path: relative to its repository's root, or as written outside of it."""

    repo: str
    path: str
    edits: int
    sessions: int
    evidence: tuple[str, ...]


class RunsLine(msgspec.Struct, frozen=True):
    """Runs of one test framework. unsaid: nobody said how they ended. evidence: failing runs first."""

    framework: str
    runs: int
    passing: int
    failing: int
    unsaid: int
    sessions: int
    evidence: tuple[str, ...]


class DecisionLine(msgspec.Struct, frozen=True):
    """A decision of the period. state: the present one."""

    id: str
    ts: int | None
    repo: str
    speaker: Speaker
    polarity: Polarity
    statement: str
    chosen: tuple[str, ...]
    rejected: tuple[str, ...]
    state: DecisionState
    evidence: tuple[str, ...]


class ChangeLine(msgspec.Struct, frozen=True):
    """In the span, `newer` superseded, reversed or contradicted `older`. Statements verbatim."""

    relation: Relation
    since: int | None
    repo: str
    newer: str
    older: str
    evidence: tuple[str, ...]


class Decided(msgspec.Struct, frozen=True):
    """Decisions of the span. Counts are of everything; the lists are cut. revoked: made in the span, and no longer
    given by their session; these count in nothing else. uncertain: made in the span, but too unsure to be counted."""

    made: int = 0
    superseded: int = 0
    reversed: int = 0
    contradicted: int = 0
    revoked: int = 0
    decisions: tuple[DecisionLine, ...] = ()
    changes: tuple[ChangeLine, ...] = ()
    uncertain: int = 0


class ToolLine(msgspec.Struct, frozen=True):
    """Calls of one tool, as its agent names it."""

    tool: str
    calls: int
    sessions: int
    evidence: tuple[str, ...]


class Overhead(msgspec.Struct, frozen=True):
    """Calls of tools that count as infrastructure (`[infra] tools`) among all calls of the sessions, whole sessions.

    share: 0 to 1, 0 for no calls. tools: those that count.
    """

    calls: int = 0
    infra_calls: int = 0
    share: float = 0.0
    tools: tuple[ToolLine, ...] = ()

    @property
    def told(self) -> tuple[str, str]:
        """How much went to infrastructure, and what the word means."""
        lead = f"{count(self.infra_calls)} of {plural(self.calls, 'call')} ({self.share:.1%}) went to infrastructure"
        what = "infrastructure means calls to MCP servers, and to the other tools that the setting infra.tools lists"
        return lead, what


class Unlisted(msgspec.Struct, frozen=True):
    """What a list leaves out: so many lines, and what they count together."""

    lines: int
    count: int


class Retro(msgspec.Struct, frozen=True):
    """A span in retrospect: [since, until), UTC microseconds.

    A session belongs to it when it has a moment in it; errors, retries, edits, decisions and responses when they
    happened in it (without a time of their own: when their session began). repos: as in `EventFilter`, empty: all.
    """

    since: int
    until: int
    repos: tuple[str, ...]
    totals: Totals
    outcomes: tuple[OutcomeLine, ...]
    spent: Spent
    days: tuple[DayLine, ...]
    agents: tuple[AgentLine, ...]
    domains: tuple[DomainLine, ...]
    repositories: tuple[RepoLine, ...]
    sessions: tuple[SessionLine, ...]
    errors: tuple[ErrorLine, ...]
    retries: tuple[RetryLine, ...]
    loops: tuple[LoopLine, ...]
    interventions: tuple[InterventionLine, ...]
    files: tuple[FileLine, ...]
    tests: tuple[RunsLine, ...]
    decided: Decided
    overhead: Overhead
    unlisted: dict[str, Unlisted]
    """By name of the list."""
    previous: PreviousPeriod | None = None
    notes: tuple[str, ...] = ()
    schema_version: int = RETRO_SCHEMA_VERSION
    corrections: int = 0
    """Learnings that hold of what a person corrected in the span, by what they said between turns."""

    @property
    def corrected(self) -> str:
        """What a person corrected between turns, in words; "" for nothing."""
        return f"{plural(self.corrections, 'correction')} that a person made between turns" if self.corrections else ""

    @property
    def is_empty(self) -> bool:
        """True when nothing happened in the span."""
        return not self.totals.sessions and not self.spent.total.responses and not self.decided.made
