"""Messages between a machine and its team's server. Pure data; both sides validate it.

A machine sends numbered batches. The server takes batch n+1 only after batch n, in one transaction with the rows and
the position in the machine's change log, so a batch that comes twice or late changes nothing.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from recollect.model.insights.nodes import Link
from recollect.model.payloads import Json
from recollect.model.sessions import Outcome

PROTOCOL = 1
"""Grows when a message changes so that the other side could misread it."""
PROTOCOL_HEADER = "recollect-protocol"
MAX_TEXT_CHARS = 65_536
"""Of an event's text; a search of one memory reads no more of it either."""
VECTOR_DIMENSIONS = 256
"""Of the built-in model, which alone is shared: every memory has it."""

Level = Literal["figures", "distilled", "full"]
LEVELS: tuple[Level, ...] = ("figures", "distilled", "full")
"""What of a repository is shared, each with what those before it share: counts, cost and outcome; then titles, digests
and decisions; then the redacted events."""
TeamRole = Literal["member", "lead", "auditor", "owner"]
ROLES: tuple[TeamRole, ...] = ("member", "lead", "auditor", "owner")

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Uid = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT_CHARS)]
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
Moment = Annotated[int, msgspec.Meta(gt=-(1 << 62), lt=1 << 62)]
"""UTC microseconds."""


Vector = Annotated[bytes, msgspec.Meta(min_length=VECTOR_DIMENSIONS, max_length=VECTOR_DIMENSIONS)]
"""A direction in whole numbers of -127 to 127, a signed byte each."""


class SharedUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens and cost of one session with one model."""

    model: Annotated[str, msgspec.Meta(max_length=200)]
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_tokens: Count = 0
    responses: Count = 0
    cost_usd: float | None = None
    cache_write_5m_tokens: Count = 0
    cache_write_1h_tokens: Count = 0
    """These two are counted in cache_tokens too."""
    reasoning_tokens: Count = 0


class SharedDecision(msgspec.Struct, frozen=True, omit_defaults=True):
    """A decision as it was distilled; body: the node as JSON. links: to older decisions that it follows."""

    node_id: Uid
    body: dict[str, Json]
    links: tuple[Link, ...] = ()


class SharedLearning(msgspec.Struct, frozen=True):
    """What was learned of a repository, with short quotes; body: the learning as JSON. stamp: another one, another
    content."""

    learning_id: Uid
    stamp: Moment
    repo: Name
    kind: Name
    body: dict[str, Json]


class SharedSession(msgspec.Struct, frozen=True, omit_defaults=True):
    """One session at its level. stamp: another one, another content.

    is_last: all of its events at this level are with the server after this batch.
    """

    session_uid: Uid
    level: Level
    stamp: Moment
    agent: Name
    repo: Name
    is_last: bool = False
    outcome: Outcome = "unknown"
    started_at: Moment | None = None
    ended_at: Moment | None = None
    event_count: Count = 0
    turn_count: Count = 0
    usage: tuple[SharedUsage, ...] = ()
    title: Text = ""
    """This and what follows only from the level "distilled" on."""
    branch: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    digest: dict[str, Json] | None = None
    decisions: tuple[SharedDecision, ...] = ()


class SharedEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event, redacted. seq: its number on that machine, where a span of its session is replaced."""

    event_id: Uid
    part: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
    seq: Annotated[int, msgspec.Meta(ge=0, lt=1 << 24)]
    kind: Name
    role: Annotated[str, msgspec.Meta(max_length=20)] = "system"
    ts: Moment | None = None
    turn_index: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] = 0
    tool: Annotated[str, msgspec.Meta(max_length=200)] = ""
    summary: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    text: Text = ""
    paths: tuple[str, ...] = ()
    is_undone: bool = False
    vectors: Annotated[tuple[Vector, ...], msgspec.Meta(max_length=64)] = ()
    """What its pieces mean, by the model of the batch."""


class EventSpan(msgspec.Struct, frozen=True):
    """Events first_seq..last_seq of a session: these are all; what else lies between them is gone."""

    session_uid: Uid
    first_seq: Annotated[int, msgspec.Meta(ge=0, lt=1 << 24)]
    last_seq: Annotated[int, msgspec.Meta(ge=0, lt=1 << 24)]
    events: tuple[SharedEvent, ...]


class Batch(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the server takes in one transaction, in this order: shares, withdrawn, sessions, spans, learnings, position.

    derivation_id: of the memory that the numbers of events belong to. restarts: the server forgets how far it was and
    takes the position; what it has stays until it is sent anew or withdrawn. retired: learnings that are not shared any
    more. model: of the vectors.
    """

    number: Count
    derivation_id: Name
    position: Count | None = None
    """How far in the machine's change log the server is after this batch; None: where it was."""
    restarts: bool = False
    shares: dict[Name, Level] | None = None
    """The repositories that the machine shares from now on."""
    withdrawn: tuple[Uid, ...] = ()
    sessions: tuple[SharedSession, ...] = ()
    spans: tuple[EventSpan, ...] = ()
    retired: tuple[Uid, ...] = ()
    learnings: tuple[SharedLearning, ...] = ()
    model: Annotated[str, msgspec.Meta(max_length=200)] = ""


class HeldSession(msgspec.Struct, frozen=True):
    """A session that the server has whole from this machine."""

    session_uid: str
    level: Level
    stamp: int


class Standing(msgspec.Struct, frozen=True):
    """How far the server is with a machine. number: of the last batch that it took. known: every session that it has
    anything of, whole or not. learnings: their stamps by id. kept_between: when a session must have been at work last
    for the team to keep it, UTC microseconds; None: always."""

    team: str
    person: str
    machine: str
    role: TeamRole
    expires_at: int
    number: int
    derivation_id: str
    position: int | None
    shares: dict[str, Level]
    known: tuple[str, ...]
    held: tuple[HeldSession, ...]
    learnings: dict[str, int] = {}
    kept_between: tuple[int, int] | None = None


class JoinRequest(msgspec.Struct, frozen=True):
    """A person's machine joins with an invitation that is good once."""

    code: Annotated[str, msgspec.Meta(min_length=10, max_length=200)]
    machine: Name


class Joined(msgspec.Struct, frozen=True):
    """The token is shown this once; the server keeps its hash."""

    team: str
    person: str
    machine: str
    token: str
    expires_at: int


class Taken(msgspec.Struct, frozen=True):
    """The number of the last batch that the server has. is_new: this was that batch, and it changed something."""

    number: int
    is_new: bool


class TeamQuestion(msgspec.Struct, frozen=True):
    """A query in the language of docs/query-language.md. zone_offset_s: where its days begin, east of UTC. vector: what
    it means, by a model; without one it is answered by words."""

    query: Annotated[str, msgspec.Meta(max_length=20_000)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 10
    zone_offset_s: Annotated[int, msgspec.Meta(gt=-86_400, lt=86_400)] = 0
    model: Annotated[str, msgspec.Meta(max_length=200)] = ""
    vector: Annotated[bytes, msgspec.Meta(max_length=4096)] = b""


Names = Annotated[tuple[Annotated[str, msgspec.Meta(max_length=1000)], ...], msgspec.Meta(max_length=64)]
TeamUsageBy = Literal["repo", "model", "agent", "group", "week", "total"]
TEAM_USAGE_BY: tuple[TeamUsageBy, ...] = ("repo", "model", "agent", "group", "week", "total")


class TeamSessionsQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which sessions, newest first; as in `Memory.sessions`."""

    agents: Names = ()
    repos: Names = ()
    after: Moment | None = None
    before: Moment | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20
    offset: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] = 0


class TeamShowQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A citation of a session, whose uid may be cut to a unique prefix, or of an event; events from number `first`
    on, or as many around the event."""

    cited: Annotated[str, msgspec.Meta(max_length=5000)]
    first: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class TeamUsageQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which figures. Those of a team are of whole weeks: after and before choose those that lie between them."""

    by: TeamUsageBy = "repo"
    agents: Names = ()
    repos: Names = ()
    after: Moment | None = None
    before: Moment | None = None


class MemberView(msgspec.Struct, frozen=True):
    """A member, and the machines whose tokens hold. shares: what each machine shares, as far as the asker may know."""

    person: str
    role: TeamRole
    is_revoked: bool
    machines: tuple[str, ...]
    group: str = ""
    shares: dict[str, dict[str, Level]] = {}


class MembersPage(msgspec.Struct, frozen=True):
    """Every member, those too that are out."""

    members: tuple[MemberView, ...]


class AuditLine(msgspec.Struct, frozen=True):
    """Who asked what, and whose session an answer showed; at in UTC microseconds."""

    at: int
    person: str
    action: str
    subject: str
    session_uid: str
    detail: str


class AuditPage(msgspec.Struct, frozen=True):
    """The newest lines first."""

    lines: tuple[AuditLine, ...]
