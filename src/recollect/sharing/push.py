"""Sends a team what this memory shares, and withdraws what it does not share any more.

The server says how far it is; what is missing follows from that and the change log. So a push that was killed, on
either side, is simply begun again: batches are numbered, each is one transaction of the server, and a session is whole
there only once its last batch is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack

import msgspec

from recollect.endpoints.team_client import TeamClient
from recollect.errors import StoreLocked
from recollect.ingest.home import OpenHome
from recollect.model.team_messages import HeldSession
from recollect.sharing.content import LocalSession, shared_events, shared_session
from recollect.sharing.membership import Membership
from recollect.sharing.outbox import Outbox
from recollect.store.feed import ChangeFollower, SessionNews, TextFeed
from recollect.store.keys import ENTRY_BASE, SEQ_BITS
from recollect.store.lock import IngestLock
from recollect.store.rows import EventFilter
from recollect.store.store import Store
from recollect.visible import without_hidden

CONSUMER = "team"
LOCK = "team.lock"
LAST_SEQ = (1 << SEQ_BITS) - 1

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
        outbox = Outbox(self._client, self._show, standing.number, derivation_id)
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

    def _sessions(self) -> list[LocalSession]:
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
                found.append(LocalSession(number, uid, key.session_uid, level, _stamp(at, key.event_count)))
        return sorted(found, key=lambda one: (-one.stamp, one.uid))

    def _changed(self, position: int) -> dict[int, list[SeqRange]]:
        found: dict[int, list[SeqRange]] = {}
        while changes := self._feed.changes_since(position):
            for change in changes:
                found.setdefault(change.session, []).append((change.first_seq, change.last_seq))
            position = changes[-1].id
        return {number: _merged(ranges) for number, ranges in found.items()}

    def _put(self, outbox: Outbox, one: LocalSession, held: HeldSession | None, changed: list[SeqRange]) -> int:
        """Send what the server lacks of a session; return 1 where that is anything."""
        # What was forgotten of a session is not in the change log: another stamp sends the session whole.
        is_as_held = held is not None and held.level == "full" and held.stamp == one.stamp
        is_whole = one.level == "full" and not is_as_held
        spans = [(0, LAST_SEQ)] if is_whole else changed if one.level == "full" else []
        if not spans and held is not None and held.stamp == one.stamp and held.level == one.level:
            return 0
        row = shared_session(self._home, self._store.reader, one)
        if row is None:
            return 0
        outbox.open(row)
        for first, last in spans:
            base = one.number << SEQ_BITS
            outbox.put(one.uid, first, last, shared_events(self._feed.events_between(base + first, base + last)))
        outbox.close()
        return 1


def _stamp(at: SessionNews, event_count: int) -> int:
    """Return a number that is another one when a session changed, was analysed, or lost events."""
    return max(at.ingested_at, at.analyzed_at) * 1009 + event_count % 1009


def _merged(ranges: Iterable[SeqRange]) -> list[SeqRange]:
    found: list[SeqRange] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
