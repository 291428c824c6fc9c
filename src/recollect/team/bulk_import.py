"""Imports old archives into a team's database: Dask has parts of them read and redacted, COPY loads what comes back.

A part is a function of its files and is loaded in one transaction that first removes what was there of its sessions. So
a part that is computed twice, or loaded again by another run, leaves the same rows; one that was not loaded is asked
for again, from whatever scheduler is there then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import date
from typing import TYPE_CHECKING, Any

import msgspec
import psycopg
from psycopg import sql

from recollect.errors import TeamRefused, TeamUnavailable, UsageError
from recollect.memory import ArchivePart, PartBatches, redacted_batches
from recollect.team.accept import ADD_SHARE, EVENT_COLUMNS, WITHDRAW, apply, unpacked
from recollect.team.database import AdministratorDatabase, Connection, credential, enter, new_token
from recollect.team.reports import BulkReport

if TYPE_CHECKING:
    from distributed import Client

SUFFIX = " archives"
"""Of the name of the machine that owns what was imported: no push from the member's own machine withdraws it."""
RECONNECT_S = 120.0
"""A scheduler that went away is waited for so long."""
AHEAD = 3
"""Parts given out to each worker at a time: what comes back waits in memory to be loaded."""
_ASK_S = 1.0

_MEMBER = "SELECT member_id, name FROM recollect.machine WHERE team_id = %s AND token_hash = %s AND revoked_at IS NULL"
_KNOWN = "SELECT machine_id FROM recollect.machine WHERE team_id = %s AND member_id = %s AND name = %s"
_RENEW = (
    "UPDATE recollect.machine SET token_hash = %s, expires_at = now() + interval '30 days', revoked_at = NULL "
    "WHERE team_id = %s AND machine_id = %s"
)
_ADD = (
    "INSERT INTO recollect.machine (team_id, member_id, name, token_hash, expires_at) "
    "VALUES (%s, %s, %s, %s, now() + interval '30 days')"
)
_END = "UPDATE recollect.machine SET expires_at = now() WHERE team_id = %s AND token_hash = %s"
_COPY = sql.SQL("COPY recollect.event (team_id, month, session_id, machine_id, member_id, {}) FROM STDIN").format(
    sql.SQL(", ").join(map(sql.Identifier, EVENT_COLUMNS))
)
_PRESENT = "SELECT recollect.present_team(), recollect.present_machine(), recollect.present_member()"


class BulkLoader:
    """Loads parts as the archives of one member. Each part is one transaction."""

    def __init__(self, database: AdministratorDatabase, token: str) -> None:
        """token: of the member's machine. Raises TeamForbidden, TeamRefused."""
        self._db = database.connection
        member = credential(token)
        with self._db.transaction():
            enter(self._db, member)  # refuses a token that is not known, or has expired
            found = self._db.execute(_MEMBER, member).fetchone()
            assert found is not None
            member_id, name = found
            self.machine = f"{name}{SUFFIX}"
            self._own = credential(new_token(member.team_id)[0])
            known = self._db.execute(_KNOWN, (member.team_id, member_id, self.machine)).fetchone()
            if known is None:
                self._db.execute(_ADD, (member.team_id, member_id, self.machine, self._own.hashed))
            else:
                self._db.execute(_RENEW, (self._own.hashed, member.team_id, known[0]))
        self._events: dict[str, tuple[int, int]] = {}

    def close(self) -> None:
        """End the machine's token."""
        with suppress(psycopg.Error):
            self._db.execute(_END, (self._own.team_id, self._own.hashed))

    def load(self, part: PartBatches) -> tuple[int, int]:
        """Put a part's sessions in the place of what was there of them; return how many sessions and events.

        A session that another part has too is taken from the one that has more of it. Raises TeamUnavailable,
        TeamRefused; nothing of the part is then kept.
        """
        batches = [unpacked(body) for body in part.batches]
        sizes = {row.session_uid: (row.event_count, -part.number) for batch in batches for row in batch.sessions}
        wanted = {uid for uid, size in sizes.items() if size > self._events.get(uid, (-1, 0))}
        count = 0
        try:
            self._db.execute("SELECT recollect.make_month()")
            with self._db.transaction():
                enter(self._db, self._own)
                self._db.execute(WITHDRAW, (sorted(wanted),))
                shares = (share for batch in batches for share in (batch.shares or {}).items())
                # What was learned needs a share of its repository.
                self._db.cursor().executemany(ADD_SHARE, [share for share in shares if share[1] != "figures"])
                for batch in batches:
                    sessions = tuple(row for row in batch.sessions if row.session_uid in wanted)
                    spans = tuple(span for span in batch.spans if span.session_uid in wanted)
                    shown = msgspec.structs.replace(batch, restarts=False, shares=None, sessions=sessions, spans=spans)
                    apply(self._db, shown, put_events=copy_events)
                    count += sum(len(span.events) for span in spans)
        except psycopg.OperationalError as error:
            raise TeamUnavailable(f"the database cannot be reached: {str(error).partition(chr(10))[0]}") from error
        except psycopg.Error as error:
            raise TeamRefused(f"a part cannot be stored: {str(error).partition(chr(10))[0]}") from error
        self._events.update((uid, sizes[uid]) for uid in wanted)
        return len(wanted), count


def copy_events(db: Connection, session: tuple[int, date], rows: list[tuple[object, ...]]) -> None:
    """Write events of a session that has none yet. The role must be one that row-level security does not hold."""
    found = db.execute(_PRESENT).fetchone()
    assert found is not None
    team_id, machine_id, member_id = found
    first = (team_id, session[1], session[0], machine_id, member_id)
    with db.cursor().copy(_COPY) as copy:
        for row in rows:
            copy.write_row((*first, *row))


def import_archives(
    loader: BulkLoader, parts: Sequence[ArchivePart], report: BulkReport, *, scheduler: str, workers: int,
    progress: Callable[[int, int], None],
) -> None:  # fmt: skip
    """Have parts read on a Dask cluster, and load what comes back. scheduler: its address; "": a cluster on this
    machine, with so many workers.

    Raises TeamUnavailable where the database, or the scheduler for two minutes, cannot be reached; TeamRefused. What
    was loaded stays, and another run leaves the same.
    """
    started, total = time.perf_counter(), sum(part.size for part in parts)
    waiting = {part.number: part for part in parts}
    gave_up_at = time.monotonic() + RECONNECT_S
    while waiting:
        try:
            with _client(scheduler, workers) as client:
                for done in _computed(client, waiting):
                    _take(loader, done, waiting, report)
                    gave_up_at = time.monotonic() + RECONNECT_S
                    progress(report.bytes, total)
        except _LOST as error:
            if not scheduler or time.monotonic() > gave_up_at:
                raise TeamUnavailable(f"the scheduler cannot be reached: {error or type(error).__name__}") from error
            time.sleep(_ASK_S)
    report.seconds = time.perf_counter() - started


_LOST = (OSError, TimeoutError)
"""What Dask raises where its scheduler went away: its own kinds are among these."""


def _take(
    loader: BulkLoader, done: tuple[int, PartBatches | Exception], waiting: dict[int, ArchivePart], report: BulkReport
) -> None:
    number, found = done
    if isinstance(found, Exception):
        report.failed.append(f"part {number + 1}: {type(found).__name__}: {str(found).partition(chr(10))[0][:200]}")
    else:
        sessions, events = loader.load(found)
        report.sessions += sessions
        report.events += events
        report.unnamed += found.unnamed
        report.skipped += found.skipped
    report.bytes += waiting.pop(number).size


def _computed(client: Client, waiting: dict[int, ArchivePart]) -> Iterator[tuple[int, PartBatches | Exception]]:
    """Yield parts as they come back, in any order. Few are given out at a time. Raises _LOST."""
    from distributed import CancelledError, as_completed

    ahead = iter(list(waiting.values()))
    under_way: dict[Any, int] = {}
    coming = as_completed()

    def give_out() -> None:
        part = next(ahead, None)
        if part is not None:
            future = client.submit(redacted_batches, part, key=f"recollect-part-{part.number}", pure=False, retries=3)
            under_way[future] = part.number
            coming.add(future)

    for _ in range(AHEAD * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))):
        give_out()
    for future in coming:
        number = under_way.pop(future)
        try:
            found: PartBatches | Exception = future.result()
        except CancelledError as error:  # the scheduler forgot it: it was started again
            raise ConnectionError("it was started again") from error
        except _LOST:
            raise
        except Exception as error:  # noqa: BLE001 - one part must not keep all others out; it is told
            found = error
        future.release()
        yield number, found
        give_out()


@contextmanager
def _client(scheduler: str, workers: int) -> Iterator[Client]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise TeamRefused("an import needs Dask", hint="pip install 'recollect[team]'") from error
    try:
        if scheduler:
            client = Client(scheduler, timeout=10)
        else:
            # Whoever reaches a scheduler can run code: other users of this machine need its certificate.
            client = Client(
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", security=True)
            )
    except ValueError as error:
        raise UsageError(f"{scheduler!r} is no address of a scheduler: {error}", hint="tcp://HOST:8786") from error
    cluster = client.cluster
    try:
        with closing(client):
            yield client
    finally:
        if cluster is not None and not scheduler:
            cluster.close()
