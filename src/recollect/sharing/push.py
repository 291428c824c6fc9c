"""Pushes what this memory shares, and withdraws what it no longer shares.

The server says how far it is; what is missing follows from that and the change log. So a push that was killed, on
either side, is simply begun again: batches are numbered, each is one transaction of the server, and a session is whole
there only once its last batch is in.

Old transcripts go the same way, without a memory that keeps them. A part of them is a function of its files: the
workers of an ingest read them into a memory that lives as long as the part takes, and a push from there gives the
batches. So everything is redacted, at its level, before it leaves the process.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec
import zstandard

from recollect.agents.base import Adapter
from recollect.agents.registry import adapters_with, define, for_role
from recollect.archive.keys import load_or_create_keys
from recollect.capture.detect_agents import sort_out
from recollect.capture.discover import FoundSource
from recollect.capture.expand import expand
from recollect.capture.replay import is_rows
from recollect.capture.sources import read_head
from recollect.config import Config
from recollect.endpoints.team_client import TeamClient
from recollect.errors import SourceUnavailable, StoreLocked, TeamRefused
from recollect.ingest.open_home import OpenHome
from recollect.ingest.operations import take_found
from recollect.model.records import SourceInfo
from recollect.model.team_messages import (
    Batch,
    EventSpan,
    HeldSession,
    Level,
    SharedDecision,
    SharedEvent,
    SharedLearning,
    SharedSession,
    Standing,
    Taken,
)
from recollect.privacy.redact import detectors_in_force
from recollect.sharing.content import (
    LocalSession,
    SharedMeaning,
    known_repositories,
    level_of,
    shared_decision,
    shared_events,
    shared_learnings,
    shared_session,
    told,
)
from recollect.sharing.membership import Membership
from recollect.store.change_feed import ChangeFollower, TextFeed
from recollect.store.home import Home, Store, make_home
from recollect.store.learnings import LearningReader
from recollect.store.lock import IngestLock
from recollect.store.row_keys import SEQ_BITS, merged
from recollect.store.rows import EventFilter
from recollect.visible import safe_json, without_hidden

BATCH_BYTES = 3 * 1024 * 1024
"""Of a batch before it is compressed, so that it keeps to its limit whatever it holds."""


class Outbox:
    """Fills batches and sends them in order. What belongs to one session may take several."""

    def __init__(
        self, client: TeamClient, show: Callable[[bytes], None] | None, number: int, derivation_id: str, model: str
    ) -> None:
        """model: of the vectors of events."""
        self.batches = 0
        self.events = 0
        self.sent_bytes = 0
        self._client = client
        self._show = show
        self._number = number
        self._derivation_id = derivation_id
        self._model = model
        self._row: SharedSession | None = None
        self._rows: list[SharedSession] = []
        self._spans: list[EventSpan] = []
        self._learnings: list[SharedLearning] = []
        self._plain = 0

    def begin(
        self, shares: dict[str, Level], gone: tuple[str, ...], retired: tuple[str, ...], *, restarts: bool,
        position: int | None,
    ) -> None:  # fmt: skip
        """Say first what is shared and what is not any more."""
        self._send(self._batch(shares=shares, withdrawn=gone, retired=retired, restarts=restarts, position=position))

    def open(self, row: SharedSession) -> None:
        """Begin with a session."""
        self._row = row
        self._plain += len(msgspec.json.encode(row))

    def put(self, uid: str, first: int, last: int, events: Iterable[SharedEvent]) -> None:
        """Add a span of the session, cut where a batch is full."""
        gathered: list[SharedEvent] = []
        for event in events:
            size = len(msgspec.json.encode(event))
            if self._plain + size > BATCH_BYTES and (gathered or self._spans or self._rows):
                if gathered:
                    self._spans.append(EventSpan(uid, first, gathered[-1].seq, tuple(gathered)))
                    first, gathered = gathered[-1].seq + 1, []
                self._flush_open()
            gathered.append(event)
            self._plain += size
            self.events += 1
        self._spans.append(EventSpan(uid, first, last, tuple(gathered)))

    def close(self) -> None:
        """End the session: with this batch the server has it whole."""
        assert self._row is not None
        self._rows.append(msgspec.structs.replace(self._row, is_last=True))
        self._row = None
        if self._plain > BATCH_BYTES:
            self.flush()

    def learn(self, learning: SharedLearning) -> None:
        """Add what was learned."""
        self._learnings.append(learning)
        self._plain += len(msgspec.json.encode(learning))
        if self._plain > BATCH_BYTES:
            self.flush()

    def flush(self, *, position: int | None = None) -> None:
        """Send what was gathered. position: how far the server is with it."""
        if self._rows or self._spans or self._learnings or position is not None:
            batch = self._batch(position=position)
            self._rows, self._spans, self._learnings, self._plain = [], [], [], 0
            self._send(batch)

    def _flush_open(self) -> None:
        assert self._row is not None
        self._rows.append(self._row)
        self.flush()
        self._plain = len(msgspec.json.encode(self._row))

    def _batch(
        self, *, shares: dict[str, Level] | None = None, withdrawn: tuple[str, ...] = (),
        retired: tuple[str, ...] = (), restarts: bool = False, position: int | None = None,
    ) -> Batch:  # fmt: skip
        return Batch(
            number=self._number + 1, derivation_id=self._derivation_id, position=position, restarts=restarts,
            shares=shares, withdrawn=withdrawn, sessions=tuple(self._rows), spans=tuple(self._spans), retired=retired,
            learnings=tuple(self._learnings), model=self._model if self._spans else "",
        )  # fmt: skip

    def _send(self, batch: Batch) -> None:
        plain = safe_json(msgspec.json.encode(batch))
        self.batches += 1
        self._number += 1
        if self._show is not None:
            self._show(plain)
            return
        body = zstandard.ZstdCompressor(level=6).compress(plain)
        taken = self._client.send(body)
        if taken.number != batch.number:
            raise TeamRefused(
                f"the server is at batch {taken.number}, not {batch.number}: another copy of this memory pushes too",
                hint="push again; have each copy join by itself",
            )
        self.sent_bytes += len(body)


CONSUMER = "team"
LOCK = "team.lock"
LAST_SEQ = (1 << SEQ_BITS) - 1

SeqRange = tuple[int, int]


class PushReport(msgspec.Struct, frozen=True):
    """What was sent, or would be. withdrawn: sessions; retired: learnings that are withdrawn. restarted: the server was
    to forget how far it was, and got everything again."""

    team: str
    is_dry_run: bool
    batches: int
    sessions: int
    events: int
    learnings: int
    withdrawn: tuple[str, ...]
    retired: tuple[str, ...]
    sent_bytes: int
    restarted: bool


def push(
    home: OpenHome, membership: Membership, client: TeamClient, *, show: Callable[[bytes], None] | None = None
) -> PushReport:
    """Bring the server up to date. show: nothing is sent; it is given each batch as JSON instead.

    Raises TeamUnavailable, TeamRefused, TeamForbidden; StoreLocked while another process pushes; StoreError.
    """
    with ExitStack() as stack:
        if show is None:
            stack.callback(IngestLock(home.home, name=LOCK, work="pushing from").release)
        return stack.enter_context(_opened(home, membership, client, show)).run()


def waiting_sessions(home: OpenHome, membership: Membership, standing: Standing | None) -> int:
    """Return how many sessions a push would send or withdraw; with no word from the server, how many changed since
    the last push. Raises TeamRefused, StoreError."""
    with _opened(home, membership) as one:
        return one.waiting(standing)


@contextmanager
def _opened(
    home: OpenHome, membership: Membership, client: TeamClient | None = None,
    show: Callable[[bytes], None] | None = None,
) -> Iterator[_Push]:  # fmt: skip
    home.reader()
    with Store.open(home.home, home.config.privacy) as store:
        yield _Push(home, store, membership, client, show)


class _Difference(NamedTuple):
    """What the server lacks. position: of the change log with it. gone: what it has and must not."""

    restarts: bool
    position: int
    gone: tuple[str, ...]
    sessions: list[tuple[LocalSession, list[SeqRange]]]


class _Push:
    def __init__(
        self, home: OpenHome, store: Store, membership: Membership, client: TeamClient | None,
        show: Callable[[bytes], None] | None,
    ) -> None:  # fmt: skip
        self._home = home
        self._store = store
        self._feed: TextFeed = store.feed
        self._shares = membership.shares
        self._client = client
        self._show = show
        self._derivation_id = self._feed.derivation_id()
        self._meaning = SharedMeaning(home)
        self._repositories = known_repositories(store.reader.session_places()) if self._shares else []
        self._levels = [(one, level_of(one, self._shares)) for one in self._repositories]
        self._shared: list[LocalSession] = []

    def run(self) -> PushReport:
        assert self._client is not None
        told_id = self._told_id()
        standing = self._client.standing()
        lacks = self._difference(standing, told_id)
        learned = {one.learning_id: one for one in self._learnings()}
        retired = tuple(sorted(standing.learnings.keys() - learned))
        position = lacks.position
        if lacks.restarts and self._show is None:
            self._acknowledge(position)  # from here on the log keeps what changes
        outbox = Outbox(self._client, self._show, standing.number, told_id, self._meaning.model)
        shares = told(self._shares, self._repositories)
        if lacks.restarts or lacks.gone or retired or standing.shares != shares:
            at = position if lacks.restarts else None
            outbox.begin(shares, lacks.gone, retired, restarts=lacks.restarts, position=at)
        count = sum(self._put(outbox, one, spans) for one, spans in lacks.sessions)
        new = [one for one in learned.values() if standing.learnings.get(one.learning_id) != one.stamp]
        for learning in new:
            outbox.learn(learning)
        outbox.flush(position=position if standing.position != position and not lacks.restarts else None)
        if self._show is None:
            self._acknowledge(position)
        return PushReport(
            standing.team, self._show is not None, outbox.batches, count, outbox.events, len(new), lacks.gone, retired,
            outbox.sent_bytes, lacks.restarts,
        )  # fmt: skip

    def waiting(self, standing: Standing | None) -> int:
        if standing is not None:
            lacks = self._difference(standing, self._told_id())
            return len(lacks.gone) + len(lacks.sessions)
        numbers = {one.number for one in self._sessions(None)}
        position = self._feed.position(CONSUMER)
        return len(numbers.intersection(self._changed(position)) if position else numbers)

    def _difference(self, standing: Standing, told_id: str) -> _Difference:
        position = self._feed.last_change()  # before anything is read: what comes meanwhile is sent next time
        restarts = (
            standing.derivation_id != told_id
            or standing.position is None
            or standing.position > position
            or standing.position < self._feed.position(CONSUMER)
        )
        sessions = self._shared = self._sessions(standing.kept_between)
        gone = tuple(sorted(set(standing.known) - {one.uid for one in sessions}))
        changed = {} if restarts else self._changed(standing.position or 0)
        held = {} if restarts else {one.session_uid: one for one in standing.held}
        lacking = [(one, _spans(one, held.get(one.uid), changed.get(one.number, []))) for one in sessions]
        return _Difference(restarts, position, gone, [(one, spans) for one, spans in lacking if spans is not None])

    def _told_id(self) -> str:
        """Return what tells this memory, what it takes for a secret, and its model: with others all is sent again.
        Raises TeamRefused where what is stored was redacted by others than those in force."""
        wanted = detectors_in_force(self._home.config.privacy)
        if self._feed.detectors() != wanted and self._feed.last_change():
            raise TeamRefused("what is a secret is told otherwise than when this was stored", hint="`recollect sync`")
        return blake2b(repr((self._derivation_id, wanted, self._meaning.model)).encode(), digest_size=16).hexdigest()

    def _acknowledge(self, position: int) -> None:
        try:
            self._feed.acknowledge(CONSUMER, position, derivation_id=self._derivation_id)
        except StoreLocked:
            if not self._feed.position(CONSUMER):
                raise  # the log would not keep what this consumer has not taken

    def _sessions(self, kept_between: tuple[int, int] | None) -> list[LocalSession]:
        """Return the sessions of shared repositories, those that changed last first. kept_between: see `Standing`."""
        levels = {number: level for one, level in self._levels if level is not None for number in one.numbers}
        names = {f"={one.name}" for one, level in self._levels if level not in (None, "figures")}
        decisions: dict[str, list[SharedDecision]] = {}
        for kept in self._home.distilled().decisions(repos=tuple(sorted(names))) if names else ():
            if kept.over_at is None:
                decisions.setdefault(kept.decision.session_uid, []).append(shared_decision(kept))
        with ChangeFollower(self._home.home) as follower:
            news = {one.uid: one for one in follower.sessions_since(0)} if levels else {}
        found = []
        for number, key in self._store.reader.session_keys(levels).items():
            at, uid, level = news.get(key.session_uid), key.session_uid, levels[number]
            last = key.ended_at or key.started_at or 0
            if at is not None and (kept_between is None or kept_between[0] <= last <= kept_between[1]):
                said = () if level == "figures" else tuple(decisions.get(uid, ()))
                changed_at = max(at.ingested_at, at.analyzed_at)
                found.append(LocalSession(number, without_hidden(uid), uid, level, changed_at, said))
        return sorted(found, key=lambda one: (-one.changed_at, one.uid))

    def _learnings(self) -> list[SharedLearning]:
        """Return what was learned of the repositories that are shared with their text."""
        sessions = {one.stored_uid for one in self._shared if one.level != "figures"}
        counts = Counter(one.name.casefold() for one in self._repositories)
        repos = {
            one.name: counts[one.name.casefold()] == 1 for one, level in self._levels if level not in (None, "figures")
        }
        with closing(LearningReader(self._home.home)) as reader:
            return shared_learnings(reader, repos, sessions)

    def _changed(self, position: int) -> dict[int, list[SeqRange]]:
        found: dict[int, list[SeqRange]] = {}
        while changes := self._feed.changes_since(position):
            for change in changes:
                found.setdefault(change.session, []).append((change.first_seq, change.last_seq))
            position = changes[-1].id
        return {number: merged(ranges) for number, ranges in found.items()}

    def _put(self, outbox: Outbox, one: LocalSession, spans: list[SeqRange]) -> bool:
        """Send what the server lacks of a session; return False for one that has gone meanwhile."""
        row = shared_session(self._home, self._store.reader, one)
        if row is None:
            return False
        outbox.open(row)
        for first, last in spans:
            base = one.number << SEQ_BITS
            outbox.put(
                one.uid, first, last, shared_events(self._feed.events_between(base + first, base + last), self._meaning)
            )
        outbox.close()
        return True


def _spans(one: LocalSession, held: HeldSession | None, changed: list[SeqRange]) -> list[SeqRange] | None:
    """Return the spans of events to send of a session; None where the server has all of it."""
    if held is None or held.level != one.level:
        return [(0, LAST_SEQ)] if one.level == "full" else []
    if held.stamp == one.stamp and not changed:
        return None
    return changed if one.level == "full" else []


PART_BYTES = 16 << 20
_ALL = 10_000_000


class ArchivePart(msgspec.Struct, frozen=True):
    """Sources that one process reads into a memory of its own: whole sessions. number: its place among the parts.

    data_key: of every such memory, so that a secret has the same marker in all of them. repos: empty: all.
    """

    number: int
    found: dict[str, list[FoundSource]]
    level: Level
    repos: tuple[str, ...]
    data_key: bytes
    config: Config

    @property
    def size(self) -> int:
        """How many bytes its sources have."""
        return sum(map(_size_of, (one for of_one in self.found.values() for one in of_one)))


class PartBatches(msgspec.Struct, frozen=True):
    """What a part came to: compressed batches, in order. unnamed: sessions of no repository, which cannot be shared.
    skipped: lines on sources that could not be read."""

    number: int
    batches: tuple[bytes, ...]
    sessions: int
    events: int
    unnamed: int
    skipped: tuple[str, ...]


class FoundArchives(msgspec.Struct):
    """What folders hold. left_out: sources that only repeat what other files say, such as histories of prompts."""

    groups: list[dict[str, list[FoundSource]]]
    left_out: int


def find_archives(folders: Sequence[Path], config: Config) -> FoundArchives:
    """Return the sources below folders; those of one session are together. Raises SourceUnavailable."""
    known = adapters_with(config.formats())
    groups: dict[tuple[str, str], dict[str, FoundSource]] = {}
    left_out = 0
    for folder in folders:
        if not folder.exists():
            raise SourceUnavailable(f"{folder} does not exist")
        found = sort_out(str(folder.absolute()), known, known={}, read_head=read_head)
        for slug, files in found.sources.items():
            has_rows = any(is_rows(place.container) for place in known[slug].facts.places)
            for source in expand(files, ()).sources if has_rows else files:
                session = _session_of(source, known[slug])
                if not session and source.place.lane:
                    left_out += 1
                    continue
                groups.setdefault((slug, session or source.path), {})[source.path] = source
    ordered = sorted(groups.items())
    return FoundArchives([{slug: list(of_one.values())} for (slug, _session), of_one in ordered], left_out)


def parts_of(
    found: FoundArchives, *, level: Level, repos: Sequence[str], data_key: bytes, config: Config
) -> Iterator[ArchivePart]:
    """Yield parts of about PART_BYTES; a session is never parted."""
    gathered: dict[str, list[FoundSource]] = {}
    size = number = 0
    for group in found.groups:
        for slug, sources in group.items():
            gathered.setdefault(slug, []).extend(sources)
            size += sum(map(_size_of, sources))
        if size >= PART_BYTES:
            yield ArchivePart(number, gathered, level, tuple(repos), data_key, config)
            gathered, size, number = {}, 0, number + 1
    if gathered:
        yield ArchivePart(number, gathered, level, tuple(repos), data_key, config)


def redacted_batches(part: ArchivePart) -> PartBatches:
    """Read a part and return its batches. The same part gives the same content, wherever and however often it runs."""
    define(part.config.formats())
    with tempfile.TemporaryDirectory(prefix="recollect-part-") as folder:
        home = Path(folder) / "home"
        make_home(home)
        load_or_create_keys(Home(home).keys, data_key=part.data_key)
        with closing(OpenHome(home, part.config, {"HOME": folder})) as opened:
            report = take_found(opened, part.found)
            reader = opened.reader()
            wanted = {name.casefold() for name in part.repos}
            shares: dict[str, Level] = {
                name: part.level for name in reader.names("repo") if name and (not wanted or name.casefold() in wanted)
            }
            client = _GatheringClient()
            done = push(opened, Membership("", "", "", "", "", 0, shares), client)
            sessions, _total = reader.sessions(EventFilter(), limit=_ALL)
            unnamed = sum(1 for one in sessions if not one.repo)
    skipped = tuple(f"{one.path}: {one.reason}" for line in report.agents.values() for one in line.skipped)
    return PartBatches(part.number, tuple(client.batches), done.sessions, done.events, unnamed, skipped)


class _GatheringClient(TeamClient):
    """Keeps the batches of a push. It stands for a server that has nothing yet."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1")
        self.batches: list[bytes] = []

    def standing(self) -> Standing:
        """See `TeamClient.standing`."""
        return Standing(
            team="", person="", machine="", role="member", expires_at=0, number=0, derivation_id="", position=None,
            shares={}, known=(), held=(),
        )  # fmt: skip

    def send(self, body: bytes) -> Taken:
        """See `TeamClient.send`."""
        self.batches.append(body)
        return Taken(len(self.batches), is_new=True)


def _session_of(source: FoundSource, adapter: Adapter) -> str:
    reader = for_role(adapter, source.place.role)
    info = SourceInfo.of(source.agent, source.place.role, source.relative)
    if source.document is not None:
        return source.path
    try:
        return reader.identify(info, read_head(source.path))
    except Exception:  # noqa: BLE001 - a file that no parser can read is told where it is read
        return source.path


def _size_of(source: FoundSource) -> int:
    return source.size if source.share_bytes < 0 else source.share_bytes
