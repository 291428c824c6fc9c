"""Sends a team what this memory shares, and withdraws what it does not share any more.

The server says how far it is; what is missing follows from that and the change log. So a push that was killed, on
either side, is simply begun again: batches are numbered, each is one transaction of the server, and a session is whole
there only once its last batch is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC
from typing import NamedTuple

import msgspec
import zstandard

from recollect.endpoints.team import TeamClient
from recollect.errors import StoreLocked, TeamRefused
from recollect.ingest.home import OpenHome
from recollect.model.events import Event
from recollect.model.payloads import ToolCall, ToolResult
from recollect.model.team import (
    MAX_TEXT_CHARS,
    Batch,
    HeldSession,
    Level,
    SharedDecision,
    SharedEvent,
    SharedSession,
    SharedUsage,
    Span,
)
from recollect.model.text import searchable
from recollect.sharing.membership import Membership
from recollect.store.feed import ChangeFollower, TextFeed
from recollect.store.insights import NodeFilter
from recollect.store.keys import ENTRY_BASE, SEQ_BITS
from recollect.store.lock import IngestLock
from recollect.store.rows import EventFilter
from recollect.store.store import Store
from recollect.visible import safe_json, without_hidden

CONSUMER = "team"
LOCK = "team.lock"
LAST_SEQ = (1 << SEQ_BITS) - 1
PLAIN_BYTES = 3 * 1024 * 1024
"""Of a batch before it is compressed, so that it keeps to its limit whatever it holds."""
_MAX_PATHS, _MAX_PATH_CHARS = 100, 4096
_MAX_NAME_CHARS = 200

SeqRange = tuple[int, int]


class PushReport(msgspec.Struct, frozen=True):
    """What was sent, or would be. restarted: the server was to forget how far it was, and got everything anew."""

    team: str
    is_dry_run: bool
    batches: int
    sessions: int
    events: int
    withdrawn: tuple[str, ...]
    sent_bytes: int
    restarted: bool


class _Shared(NamedTuple):
    """A local session that is shared. uid: as others see it; stored_uid: as it is stored."""

    number: int
    uid: str
    stored_uid: str
    level: Level
    stamp: int


def push(
    home: OpenHome, membership: Membership, client: TeamClient, *, show: Callable[[bytes], None] | None = None
) -> PushReport:
    """Bring the server up to date. show: nothing is sent; it is given each batch as JSON instead.

    Raises TeamUnavailable, TeamRefused, TeamForbidden; StoreLocked while another process pushes; StoreError.
    """
    home.reader()
    with ExitStack() as stack:
        if show is None:
            stack.callback(IngestLock(home.home, name=LOCK, work="pushing from").release)
        store = stack.enter_context(Store.open(home.home, home.config.privacy))
        one = _Push(home, store, membership, client, show)
        return one.run()


class _Push:
    def __init__(
        self, home: OpenHome, store: Store, membership: Membership, client: TeamClient,
        show: Callable[[bytes], None] | None,
    ) -> None:  # fmt: skip
        self._home = home
        self._store = store
        self._feed: TextFeed = store.feed
        self._membership = membership
        self._client = client
        self._show = show

    def run(self) -> PushReport:
        standing = self._client.standing()
        derivation_id = self._feed.derivation_id()
        last = self._feed.last_change()  # before anything is read: what comes meanwhile is sent next time
        restarts = (
            standing.derivation_id != derivation_id
            or standing.position is None
            or standing.position > last
            or standing.position < self._feed.position(CONSUMER)
        )
        if restarts and self._show is None:
            self._acknowledge(last, derivation_id)  # from here on the log keeps what changes
        sessions = self._sessions()
        outbox = _Outbox(self._client, self._show, standing.number, derivation_id)
        gone = tuple(sorted(set(standing.known) - {one.uid for one in sessions}))
        if restarts or gone or standing.shares != self._membership.shares:
            outbox.begin(self._membership.shares, gone, restarts=restarts, position=last if restarts else None)
        changed = {} if restarts else self._changed(standing.position or 0)
        held = {} if restarts else {one.session_uid: one for one in standing.held}
        count = 0
        for one in sessions:
            count += self._put(outbox, one, held.get(one.uid), changed.get(one.number, []))
        outbox.flush(position=last if standing.position != last and not restarts else None)
        if self._show is None:
            self._acknowledge(last, derivation_id)
        return PushReport(
            standing.team, self._show is not None, outbox.batches, count, outbox.events, gone, outbox.sent_bytes,
            restarts,
        )  # fmt: skip

    def _acknowledge(self, position: int, derivation_id: str) -> None:
        try:
            self._feed.acknowledge(CONSUMER, position, derivation_id=derivation_id)
        except StoreLocked:
            if not self._feed.position(CONSUMER):
                raise  # the log would not keep what this consumer has not taken

    def _sessions(self) -> list[_Shared]:
        """Return the sessions of shared repositories, those that changed last first."""
        with_level = {repo.casefold(): level for repo, level in self._membership.shares.items()}
        if not with_level:
            return []
        reader = self._store.reader
        where = EventFilter(repos=tuple(f"={repo}" for repo in with_level))
        keys = reader.session_keys(number for number in reader.session_numbers(where) if number < ENTRY_BASE)
        follower = ChangeFollower(self._home.home)
        try:
            news = {one.uid: one for one in follower.sessions_since(0)}
        finally:
            follower.close()
        found = []
        for number, key in keys.items():
            at = news.get(key.session_uid)
            level = with_level.get(key.repo.casefold())
            if at is not None and level is not None:
                uid = without_hidden(key.session_uid)
                found.append(_Shared(number, uid, key.session_uid, level, max(at.ingested_at, at.analyzed_at)))
        return sorted(found, key=lambda one: (-one.stamp, one.uid))

    def _changed(self, position: int) -> dict[int, list[SeqRange]]:
        found: dict[int, list[SeqRange]] = {}
        while changes := self._feed.changes_since(position):
            for change in changes:
                found.setdefault(change.session, []).append((change.first_seq, change.last_seq))
            position = changes[-1].id
        return {number: _merged(ranges) for number, ranges in found.items()}

    def _put(self, outbox: _Outbox, one: _Shared, held: HeldSession | None, changed: list[SeqRange]) -> int:
        """Send what the server lacks of a session; return 1 where that is anything."""
        is_whole = one.level == "full" and (held is None or held.level != "full")
        spans = [(0, LAST_SEQ)] if is_whole else changed if one.level == "full" else []
        if not spans and held is not None and held.stamp == one.stamp and held.level == one.level:
            return 0
        row = self._row(one)
        if row is None:
            return 0
        outbox.open(row)
        for first, last in spans:
            base = one.number << SEQ_BITS
            outbox.put(one.uid, first, last, _shared_events(self._feed.events_between(base + first, base + last)))
        outbox.close()
        return 1

    def _row(self, one: _Shared) -> SharedSession | None:
        """Return what is said of a session at its level; None where it has gone meanwhile."""
        session = self._store.reader.session(one.stored_uid)
        if session is None:
            return None
        where = EventFilter(sessions=(one.stored_uid,))
        usage = self._store.reader.usage(by="model", where=where, after=None, before=None, zone=UTC)
        figures = SharedSession(
            session_uid=one.uid,
            level=one.level,
            stamp=one.stamp,
            agent=session.agent[:_MAX_NAME_CHARS],
            repo=session.repo[:_MAX_NAME_CHARS],
            outcome=session.outcome,
            started_at=session.started_at,
            ended_at=session.ended_at,
            event_count=session.event_count,
            turn_count=session.turn_count,
            usage=tuple(
                SharedUsage(
                    row.key[:_MAX_NAME_CHARS],
                    row.totals.input_tokens,
                    row.totals.output_tokens,
                    row.totals.cache_read_tokens + row.totals.cache_write_5m_tokens + row.totals.cache_write_1h_tokens,
                    row.totals.responses,
                    row.totals.cost_usd,
                )
                for row in usage.rows
            ),
        )
        if one.level == "figures":
            return figures
        distilled = self._home.distilled()
        digest = distilled.digest(one.stored_uid)
        nodes = distilled.nodes(NodeFilter(kinds=("decision",), sessions=(one.stored_uid,)))
        return msgspec.structs.replace(
            figures,
            title=session.title[:MAX_TEXT_CHARS],
            branch=session.git_branch[:1000],
            digest=None if digest is None else msgspec.to_builtins(digest),
            decisions=tuple(SharedDecision(kept.node.id, msgspec.to_builtins(kept.node)) for kept in nodes),
        )


class _Outbox:
    """Fills batches and sends them in order. What belongs to one session may take several."""

    def __init__(
        self, client: TeamClient, show: Callable[[bytes], None] | None, number: int, derivation_id: str
    ) -> None:
        self.batches = 0
        self.events = 0
        self.sent_bytes = 0
        self._client = client
        self._show = show
        self._number = number
        self._derivation_id = derivation_id
        self._row: SharedSession | None = None
        self._rows: list[SharedSession] = []
        self._spans: list[Span] = []
        self._plain = 0

    def begin(self, shares: dict[str, Level], gone: tuple[str, ...], *, restarts: bool, position: int | None) -> None:
        """Say first what is shared and what is not any more."""
        self._send(self._batch(shares=shares, withdrawn=gone, restarts=restarts, position=position))

    def open(self, row: SharedSession) -> None:
        """Begin with a session."""
        self._row = row
        self._plain += len(msgspec.json.encode(row))

    def put(self, uid: str, first: int, last: int, events: Iterable[SharedEvent]) -> None:
        """Add a span of the session, cut where a batch is full."""
        gathered: list[SharedEvent] = []
        for event in events:
            size = len(msgspec.json.encode(event))
            if self._plain + size > PLAIN_BYTES and (gathered or self._spans or self._rows):
                if gathered:
                    self._spans.append(Span(uid, first, gathered[-1].seq, tuple(gathered)))
                    first, gathered = gathered[-1].seq + 1, []
                self._flush_open()
            gathered.append(event)
            self._plain += size
            self.events += 1
        self._spans.append(Span(uid, first, last, tuple(gathered)))

    def close(self) -> None:
        """End the session: with this batch the server has it whole."""
        assert self._row is not None
        self._rows.append(msgspec.structs.replace(self._row, is_last=True))
        self._row = None
        if self._plain > PLAIN_BYTES:
            self.flush()

    def flush(self, *, position: int | None = None) -> None:
        """Send what was gathered. position: how far the server is with it."""
        if self._rows or self._spans or position is not None:
            batch = self._batch(position=position)
            self._rows, self._spans, self._plain = [], [], 0
            self._send(batch)

    def _flush_open(self) -> None:
        assert self._row is not None
        self._rows.append(self._row)
        self.flush()
        self._plain = len(msgspec.json.encode(self._row))

    def _batch(
        self, *, shares: dict[str, Level] | None = None, withdrawn: tuple[str, ...] = (), restarts: bool = False,
        position: int | None = None,
    ) -> Batch:  # fmt: skip
        return Batch(
            number=self._number + 1, derivation_id=self._derivation_id, position=position, restarts=restarts,
            shares=shares, withdrawn=withdrawn, sessions=tuple(self._rows), spans=tuple(self._spans),
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


def _shared_events(events: Iterable[Event]) -> Iterator[SharedEvent]:
    for event in events:
        _class, text, paths = searchable(event.payload)
        payload = event.payload
        yield SharedEvent(
            event_id=event.event_id,
            part=event.part,
            seq=event.seq,
            kind=event.kind,
            role=event.role,
            ts=event.ts,
            turn_index=event.turn_index,
            tool=payload.name[:_MAX_NAME_CHARS] if isinstance(payload, ToolCall | ToolResult) else "",
            summary=event.summary,
            text=text[:MAX_TEXT_CHARS],
            paths=tuple(path[:_MAX_PATH_CHARS] for path in paths[:_MAX_PATHS]),
            is_undone=event.is_undone,
        )


def _merged(ranges: Iterable[SeqRange]) -> list[SeqRange]:
    found: list[SeqRange] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
