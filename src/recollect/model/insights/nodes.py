"""Nodes: typed insights of sessions that cite their source.

Kinds, ids and status: docs/development/insight-rules.md. A node is made of events alone; the same events give the same
nodes with the same ids. Ranges are half-open, in characters of the redacted `payload.text` of a message.
"""

# No `annotations` of the future: annotations that are texts would be read, one by one, when a decoder is made.

from collections.abc import Iterator
from typing import Literal

import msgspec

from recollect.model.events import SourceLocation

NODE_SCHEMA_VERSION = 1

Status = Literal["observed", "derived", "ranked", "hypothesis"]
"""observed: verbatim; derived: a pure function of what was observed; ranked: statistical; hypothesis: of a model."""
Polarity = Literal["adopt", "reject", "ban", "reverse", "prefer"]
Speaker = Literal["human", "assistant"]
MarkerCategory = Literal["choice", "rejection", "ban", "preference", "reversal", "rule", "confirmation"]
Strength = Literal["strong", "soft"]
EvidenceRole = Literal["statement", "proposal", "confirmation", "context", "edit", "command", "test", "added"]
Relation = Literal["produced", "supersedes", "contradicts", "reverses"]


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A range of an event that a node rests on. start = end = 0: the whole event. `seq` is for display, in no id."""

    session_uid: str
    event_id: str
    part: int
    role: EvidenceRole
    location: SourceLocation
    seq: int = 0
    start: int = 0
    end: int = 0


class Marker(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A gate rule that matched, its place and words. `language`: of the pack, "" for your own rules."""

    rule: str
    category: MarkerCategory
    strength: Strength
    text: str
    start: int
    end: int
    language: str = ""


class _Node(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="node", kw_only=True):
    """What every node has. `ts` in UTC microseconds; `location` is that of its first evidence.

    confidence: 0 to 1, a sum of `features` (name → contribution) that a function in `distill` documents. is_undone: it
    stands in a branch that a rewind left behind.
    """

    id: str
    session_uid: str
    location: SourceLocation
    ts: int | None = None
    turn_index: int = 0
    status: Status = "derived"
    confidence: float = 1.0
    features: dict[str, float] = {}
    evidence: tuple[Evidence, ...] = ()
    is_undone: bool = False
    schema_version: int = NODE_SCHEMA_VERSION


class Conversation(_Node, frozen=True, tag="conversation"):
    """A verbatim range of talk in which the gate matched; its text is the redacted text, word for word."""

    text: str = ""
    first_turn: int = 0
    last_turn: int = 0
    markers: tuple[Marker, ...] = ()


class Option(msgspec.Struct, frozen=True, gc=False):
    """An option, in the speaker's words."""

    text: str
    is_chosen: bool


class Decision(_Node, frozen=True, gc=False, tag="decision"):
    """What was decided, by whom, among which options, and why.

    statement: the deciding words, verbatim. question: what was to be decided, "" if nobody said it. scope: "session",
    "repo", "user" or "path". conversation: id of the node that it was found in.
    """

    statement: str = ""
    polarity: Polarity = "adopt"
    speaker: Speaker = "human"
    question: str = ""
    options: tuple[Option, ...] = ()
    rationale: str = ""
    consequences: str = ""
    scope: Literal["session", "repo", "user", "path"] = "repo"
    paths: tuple[str, ...] = ()
    language: str = ""
    markers: tuple[Marker, ...] = ()
    conversation: str = ""
    origin: Literal["transcript", "added"] = "transcript"

    @property
    def chosen(self) -> tuple[str, ...]:
        """The chosen options."""
        return tuple(o.text for o in self.options if o.is_chosen)

    @property
    def rejected(self) -> tuple[str, ...]:
        """The rejected or forbidden options."""
        return tuple(o.text for o in self.options if not o.is_chosen)

    @property
    def citation(self) -> str:
        """`session_uid#seq` of its first evidence; without any its session, "" for none."""
        return f"{self.evidence[0].session_uid}#{self.evidence[0].seq}" if self.evidence else self.session_uid

    def said(self) -> tuple[object, ...]:
        """Return what is equal in two decisions if one only repeats the other."""
        return (self.speaker, self.polarity, " ".join(self.statement.split()).casefold(), self.options)


class EditRef(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One edit of an episode; its content stays in the event. added, removed: lines, None if unknown."""

    path: str
    operation: str
    evidence: Evidence
    added: int | None = None
    removed: int | None = None


class CommandRef(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A shell command of an episode, its first line. ok None: unknown."""

    command: str
    evidence: Evidence
    ok: bool | None = None
    exit_code: int | None = None


class RunOfTests(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A test run of an episode; counts are None if the output does not show them."""

    framework: str
    evidence: Evidence
    ok: bool | None = None
    passed: int | None = None
    failed: int | None = None


class Episode(_Node, frozen=True, tag="episode"):
    """A coherent group of edits, with the commands and tests that belong to it and the state of the repository then."""

    paths: tuple[str, ...] = ()
    edits: tuple[EditRef, ...] = ()
    commands: tuple[CommandRef, ...] = ()
    tests: tuple[RunOfTests, ...] = ()
    cwd: str = ""
    repo_root: str = ""
    git_branch: str = ""
    git_commit: str = ""
    started_at: int | None = None
    ended_at: int | None = None
    outcome: Literal["success", "fail", "unknown"] = "unknown"
    outcome_reasons: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    """Hashes of commits made in it, as far as the output of git said."""


class Binding(_Node, frozen=True, tag="binding"):
    """A decision or conversation led to an episode. PROV: used(session, source), was_generated_by(episode, session).

    t_use <= t_gen if both are known; on ties and without times the canonical order holds.
    """

    source: str = ""
    episode: str = ""
    relation: Relation = "produced"
    used_session: str = ""
    generated_session: str = ""
    t_use: int | None = None
    t_gen: int | None = None


Node = Conversation | Decision | Episode | Binding
"""The tagged union of all nodes."""

NODE_KINDS: tuple[str, ...] = ("conversation", "decision", "episode", "binding")
"""Every kind; the position is the stored code, so the order never changes and new kinds go to the end."""


class Link(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A relation between two decisions, mostly of different sessions: `newer` supersedes, reverses or contradicts
    `older`. since: time of the newer one, UTC microseconds.
    """

    newer: str
    older: str
    relation: Relation
    since: int | None = None
    confidence: float = 1.0
    features: dict[str, float] = {}


DecisionState = Literal["holds", "superseded", "reversed", "contradicted", "undone", "revoked"]
"""undone: taken in a branch that a rewind left behind. revoked: its session does not give it any more."""


def evidence_of(node: Node) -> Iterator[Evidence]:
    """Yield everything that a node rests on."""
    yield from node.evidence
    if isinstance(node, Episode):
        refs: tuple[EditRef | CommandRef | RunOfTests, ...] = (*node.edits, *node.commands, *node.tests)
        for ref in refs:
            yield ref.evidence


def locations_of(node: Node) -> Iterator[SourceLocation]:
    """Yield every location that a node names, as often as it does."""
    yield node.location
    for evidence in evidence_of(node):
        yield evidence.location


def kind_of_node(node: Node) -> str:
    """Return the kind of a node, for example "decision"."""
    return str(node.__struct_config__.tag)


def node_id(kind: str, *parts: str | int) -> str:
    """Return `<kind>:<20 hex digits>`: a hash of the kind, the scheme version and the parts (event keys and ranges).

    Never of redacted text, which better detectors may change (design, section 11).
    """
    import hashlib  # brings OpenSSL, which who only reads does not need

    h = hashlib.blake2b(digest_size=10, person=b"recollect.node")
    for item in (kind, NODE_SCHEMA_VERSION, *parts):
        data = str(item).encode("utf-8", "surrogatepass")
        h.update(len(data).to_bytes(4, "big") + data)
    return f"{kind}:{h.hexdigest()}"
