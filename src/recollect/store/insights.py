"""What distilling reads and keeps: typed protocols and plain data, implemented by each backend.

Apart from `store.ports`: it serves one pass after taking in, and questions about what it made. A session is named by
its uid, a node by its id; what was distilled outlives the events that it was made of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from recollect.model.events import Event, SourceLocation
from recollect.model.insights.digests import Digest
from recollect.model.insights.nodes import Binding, Decision, Episode, Link, Node
from recollect.model.insights.signals import Signal
from recollect.model.sessions import Session

CONSUMER = "distill"
"""The name under which distilling follows the change log."""


class Due(NamedTuple):
    """Which sessions have something to analyse. uids: those that have ended or are idle, the newest first.

    under_way: how many more wait until they are. oldest_us: since when the longest waiting one of `uids` has been idle,
    UTC microseconds, None where none waits.
    """

    uids: list[str]
    under_way: int
    oldest_us: int | None


class Base(NamedTuple):
    """What a session came to up to `through_seq`, before which its events are gone or not whole any more (evicted).

    digest None: they went before they were analysed.
    """

    through_seq: int
    digest: Digest | None
    signals: list[Signal]
    nodes: list[Node]
    recorded_at: dict[str, int]


class OfSession(Protocol):
    """One session as distilling reads it: light events first, and whole ones where a stage asks for them."""

    @property
    def session(self) -> Session:
        """What is known of it, without what depends on when and where it was taken in."""
        ...

    @property
    def events(self) -> list[Event]:
        """Its visible events in canonical order, none of our own.

        Where several sources tell a session, those of the best lane stand as they came, what others add stands by its
        time among them, without a time at the end. Strings of 2,048 characters and more of tools and edits are "",
        `summary` and `parent_id` are not given, and `location.record_sha256` is the beginning that the store keeps.
        """
        ...

    @property
    def left_out(self) -> int:
        """How many events of a very long session stand between the first and the last of `events`, and are not read."""
        ...

    @property
    def base(self) -> Base | None:
        """What it came to before; then `events` are only those since. None for a session that is whole."""
        ...

    @property
    def change_id(self) -> int:
        """The newest change that it takes account of."""
        ...

    def load(self, event: Event) -> Event:
        """Return one of the events with its whole payload. An event that lacks nothing costs nothing."""
        ...

    def completed(self, locations: Collection[SourceLocation]) -> dict[SourceLocation, SourceLocation]:
        """Return locations with the whole hash of their record, read again from the archive.

        A record that cannot be read any more keeps the beginning of its hash.
        """
        ...

    def observed_at(self, locations: Collection[SourceLocation]) -> int:
        """Return when the last of the locations was first seen, UTC microseconds."""
        ...


class SessionFeed(Protocol):
    """Gives sessions to distil. One thread's."""

    def due(self, *, scheme: int, now_us: int, idle_us: int) -> Due:
        """Return the sessions that changed since their analysis, have none, or one of another scheme."""
        ...

    def read(self, uid: str) -> OfSession | None:
        """Return a session by its exact uid; None where there is none."""
        ...


class AnalysisDraft(NamedTuple):
    """What one session gave, ready to be kept.

    digest None: the session holds nothing that could be analysed (all of it is our own, or hidden). recorded_at: by
    node id, when its evidence was first seen, UTC microseconds. change_id: how far in the change log it looked.
    """

    session: Session
    scheme: int
    digest: Digest | None
    signals: Sequence[Signal]
    nodes: Sequence[Node]
    recorded_at: Mapping[str, int]
    change_id: int
    event_count: int


class SavedCounts(NamedTuple):
    """What keeping an analysis changed."""

    new: int = 0
    changed: int = 0
    revoked: int = 0


class DistilledWriter(Protocol):
    """The side of the one ingester that keeps what was distilled. Inside its transactions."""

    def has_changes(self) -> bool:
        """Tell whether the change log says something since the last time. Outside of a transaction too."""
        ...

    def note_changes(self) -> None:
        """Take what the change log says since the last time, so that it need not keep it for distilling."""
        ...

    def save(self, draft: AnalysisDraft, *, now_us: int) -> SavedCounts:
        """Keep an analysis: digest, signals, nodes, the session's outcome and `analyzed_at`, all or nothing.

        A node that the session does not give any more stays and is marked revoked. The same analysis again changes
        nothing but `analyzed_at`.
        """
        ...

    def touched_repos(self) -> list[str]:
        """Return the repositories of which an analysis changed decisions or episodes since they were related."""
        ...

    def relate(
        self, repo: str, links: Sequence[Link], bindings: Sequence[Binding], *, recorded_at: Mapping[str, int],
        now_us: int,
    ) -> SavedCounts:  # fmt: skip
        """Keep how a repository's decisions and episodes hang together, in place of what was kept of that."""
        ...


class KeptNode(NamedTuple):
    """A node as it is kept.

    recorded_at: when its evidence was first seen; revoked_at: since when its session does not give it any more, None
    for one that holds. Both UTC microseconds.
    """

    node: Node
    repo: str
    recorded_at: int
    revoked_at: int | None = None


class KeptLink(NamedTuple):
    """A link between decisions as it is kept; times as in `KeptNode`."""

    link: Link
    recorded_at: int
    revoked_at: int | None = None


class KeptDecision(NamedTuple):
    """A decision as it is kept, what it has to do with others, and the ids of the episodes that it led to."""

    decision: Decision
    repo: str
    recorded_at: int
    revoked_at: int | None = None
    links: tuple[KeptLink, ...] = ()
    episodes: tuple[str, ...] = ()


class RepoNodes(NamedTuple):
    """What relating reads of one repository. lineage: (parent, root) uids by session."""

    decisions: list[Decision]
    episodes: list[Episode]
    lineage: dict[str, tuple[str, str]]
    recorded_at: dict[str, int]


class NodeFilter(NamedTuple):
    """Which nodes are asked for. Empty: all that are not revoked.

    repos: as in `EventFilter`. sessions: exact uids. after/before: UTC microseconds, [after, before).
    """

    kinds: tuple[str, ...] = ()
    repos: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    after: int | None = None
    before: int | None = None
    with_revoked: bool = False


class AnalysisCounts(NamedTuple):
    """How far distilling is. unfit: analyses of another scheme than asked for. sessions: that have an analysis."""

    sessions: int
    unfit: int
    nodes: int
    revoked: int


class KeptSignals(NamedTuple):
    """The signals of one kind of one session."""

    session_uid: str
    repo: str
    signals: list[Signal]


class DistilledReader(Protocol):
    """Asks for what was distilled. Never blocked by the writer; safe from many threads."""

    def digest(self, uid: str) -> Digest | None:
        """Return the digest of a session by uid or a unique beginning of it."""
        ...

    def digests(self, uids: Iterable[str]) -> Iterator[Digest]:
        """Yield the digests of sessions by exact uid, in that order, unknown ones left out."""
        ...

    def signals(self, kinds: Iterable[str], where: NodeFilter) -> Iterator[KeptSignals]:
        """Yield signals by kind, session by session. Of the filter `repos` and `sessions` count."""
        ...

    def nodes(self, where: NodeFilter, *, limit: int | None = None) -> Iterator[KeptNode]:
        """Yield nodes: session by session in order of uid, each session's in canonical order."""
        ...

    def episodes_with(self, file_name: str) -> list[KeptNode]:
        """Return the episodes that changed a file so called, in whatever folder; nothing revoked."""
        ...

    def decisions(
        self, *, repos: tuple[str, ...] = (), sessions: tuple[str, ...] = (), words: tuple[str, ...] = ()
    ) -> list[KeptDecision]:
        """Return decisions with their links, revoked ones too, in order of id.

        words: each must stand in the statement, the options or the reasons, in any case.
        """
        ...

    def paths_of(self, episodes: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the paths of episodes by id."""
        ...

    def repo_nodes(self, repo: str) -> RepoNodes:
        """Return what relating needs of a repository, nothing revoked, added decisions too."""
        ...

    def counts(self, scheme: int) -> AnalysisCounts:
        """Return how far distilling is."""
        ...

    def close(self) -> None:
        """Close every connection."""
        ...
