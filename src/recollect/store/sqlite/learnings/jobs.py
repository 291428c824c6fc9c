# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Implements `store.learnings.JobQueue`: work that survives whoever does it.

Times are of the wall clock, which may be set back and forth: a lease or a wait that ends later than any could is over.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw
import msgspec

from recollect.store.keys import SEQ_BITS
from recollect.store.learnings import CONSUMER, TURN_GOES_ON, TURN_IS_OVER, Job, JobCounts, JobKind
from recollect.store.sqlite.bits import HIDDEN, kind_of_bits
from recollect.store.sqlite.common_reads import last_change, take_note
from recollect.store.sqlite.connection import store_errors

MAX_ATTEMPTS = 5
LONGEST_WAIT_US = 3_600_000_000
"""No `rules` or `model` job waits longer: a later time is from a clock that was wrong."""
US_PER_EVENT = 2_000
"""After a session of so many events was read it is not read again for this long for each: reading one event takes about
30 µs, so that no more than one part in sixty of the time goes into a session that grows."""
FREE_EVENTS = 2_000
"""So many don't count: to read them takes a moment."""
NEWEST = 16
"""Events looked at from the end, to tell whether the newest turn is over."""
MOST_AGAIN = 20
"""Sessions that are read again for an action that became known after they were read."""
HASTENED = 64
"""Sessions looked at to tell that, in one go."""
_END_OF_SESSION = (1 << SEQ_BITS) - 1
_COLUMNS = "key, kind, session_uid, json, made_at, due_at, attempts, reason"


class SqliteJobQueue:
    """Durable work. See `store.learnings.JobQueue`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def has_changes(self) -> bool:
        """Tell whether the change log says something since the last time."""
        with store_errors():
            return last_change(self._db) > self._position()

    def note_changes(self, *, now_us: int, least_wait_us: int) -> None:
        """Make a `rules` job of every session that changed."""
        with store_errors():
            last, position = last_change(self._db), self._position()
            if last > position:
                wait = _not_before("?2", str(int(least_wait_us)))
                self._add_sessions("SELECT DISTINCT session FROM change WHERE id > ?1", position, now_us, wait)
                take_note(self._db, CONSUMER, last)

    def add_all_sessions(self, *, now_us: int) -> None:
        """Make a `rules` job of every session there is."""
        with store_errors():
            self._add_sessions("SELECT number AS session FROM session WHERE number > ?1", -1, now_us, "0")

    def add_older_sessions(self, *, since: int, after: int | None, before: int | None, now_us: int) -> int:
        """Make an `older` job of every session that began before `since`, the newest done first; see `JobQueue`."""
        with store_errors():
            known = self._db.total_changes()
            self._db.execute(
                "INSERT OR IGNORE INTO job SELECT 'older:' || uid, 'older', uid, 'waiting', -coalesce(started_at, 0), "
                "?1, 0, '', 0, '', '{}' FROM session WHERE coalesce(started_at, 0) < min(?2, coalesce(?3, ?2)) "
                "AND coalesce(started_at, 0) >= coalesce(?4, 0)",
                (now_us, since, before, after),
            )
            return self._db.total_changes() - known

    def want_sessions(self, repo: str, *, after: int, but: str, now_us: int) -> None:
        """Have the newest sessions of a repository read again that went on after a time, but for one."""
        with store_errors():
            self._db.execute(
                "UPDATE job SET state = 'waiting', due_at = ?1, attempts = 0, reason = '' WHERE state = 'done' "
                "AND key IN (SELECT 'rules:' || uid FROM session WHERE repo = ?2 AND ended_at > ?3 AND uid <> ?4 "
                "ORDER BY ended_at DESC LIMIT ?5)",
                (now_us, repo, after, but, MOST_AGAIN),
            )

    def hasten(self, *, now_us: int) -> None:
        """Have sessions of which the newest turn is over due as soon as their size allows."""
        with store_errors():
            rows: list[Any] = self._db.execute(
                "SELECT job.key, number, next_seq FROM job JOIN session ON session.uid = job.session_uid "
                "WHERE job.kind = 'rules' AND job.state = 'waiting' AND job.due_at > ? ORDER BY job.due_at LIMIT ?",
                (now_us, HASTENED),
            ).fetchall()
            over = [(key, now_us) for key, number, next_seq in rows if self._is_turn_over(number, next_seq)]
            self._db.executemany(f"UPDATE job SET due_at = min(due_at, {_not_before('?2', '0')}) WHERE key = ?1", over)

    def add(self, jobs: Iterable[Job]) -> int:
        """Keep jobs that are not known by key; return how many those are."""
        with store_errors():
            before = self._db.total_changes()
            self._db.executemany(
                "INSERT OR IGNORE INTO job VALUES (?, ?, ?, 'waiting', ?, ?, 0, '', 0, '', ?)",
                [(j.key, j.kind, j.session_uid, j.made_at, j.due_at, j.data.decode()) for j in jobs],
            )
            return self._db.total_changes() - before

    def want(self, job: Job) -> None:
        """Keep a job, or have the one of this key wait again, due at `due_at` or earlier."""
        with store_errors():
            self._db.execute(
                "INSERT INTO job VALUES (?, ?, ?, 'waiting', ?, ?, 0, '', 0, '', ?) ON CONFLICT (key) DO UPDATE SET "
                "due_at = CASE state WHEN 'waiting' THEN min(due_at, excluded.due_at) ELSE excluded.due_at END, "
                "attempts = CASE state WHEN 'waiting' THEN attempts ELSE 0 END, state = 'waiting', holder = '', "
                "reason = ''",
                (job.key, job.kind, job.session_uid, job.made_at, job.due_at, job.data.decode()),
            )

    def claim(self, kind: JobKind, *, holder: str, now_us: int, lease_us: int) -> Job | None:
        """Take the job that has waited longest; None where none is due."""
        with store_errors():
            self._end_leases(kind, now_us, lease_us)
            while True:
                row: Any = self._db.execute(
                    f"SELECT {_COLUMNS} FROM job WHERE kind = ? AND state = 'waiting' AND due_at <= ? "
                    "ORDER BY due_at, made_at LIMIT 1",
                    (kind, now_us),
                ).fetchone() or self._too_far(kind, now_us)
                if row is None:
                    return None
                job = _job(row)
                if job.attempts < MAX_ATTEMPTS:
                    break
                self._settle(job, "dead", job.reason or f"it was begun {job.attempts} times and never ended")
            self._db.execute(
                "UPDATE job SET state = 'running', holder = ?, lease_until = ?, attempts = attempts + 1 WHERE key = ?",
                (holder, now_us + lease_us, job.key),
            )
            return msgspec.structs.replace(job, attempts=job.attempts + 1)

    def release(self, kind: JobKind, *, now_us: int) -> None:
        """Have jobs of a kind that somebody took wait again."""
        with store_errors():
            self._db.execute(
                "UPDATE job SET state = 'waiting', holder = '', due_at = min(due_at, ?) "
                "WHERE kind = ? AND state = 'running'",
                (now_us, kind),
            )

    def finish(self, job: Job, *, holder: str, data: bytes = b"{}") -> bool:
        """Mark a job as done; False where another holder has it by now. One to compare learnings leaves no row."""
        with store_errors():
            if job.kind == "relate":
                self._db.execute(
                    "DELETE FROM job WHERE key = ? AND holder = ? AND state = 'running'", (job.key, holder)
                )
                return self._db.changes() == 1
            self._db.execute(
                "UPDATE job SET state = 'done', holder = '', attempts = 0, reason = '', json = ? "
                "WHERE key = ? AND holder = ? AND state = 'running'",
                (data.decode(), job.key, holder),
            )
            return self._db.changes() == 1

    def retry(self, job: Job, *, holder: str, due_at: int, reason: str, is_counted: bool = True) -> None:
        """Have a job wait until `due_at`; after `MAX_ATTEMPTS` that count it is given up."""
        with store_errors():
            state = "dead" if is_counted and job.attempts >= MAX_ATTEMPTS else "waiting"
            self._db.execute(
                "UPDATE job SET state = ?, holder = '', due_at = ?, reason = ?, attempts = attempts - ? "
                "WHERE key = ? AND holder = ? AND state = 'running'",
                (state, due_at, reason, not is_counted, job.key, holder),
            )

    def give_up(self, job: Job, *, holder: str, reason: str) -> None:
        """Keep a job as dead."""
        with store_errors():
            self._settle(job, "dead", reason, holder=holder)

    def park(self, job: Job, *, holder: str, reason: str) -> None:
        """Keep a job until `unpark`, as if it had not been tried."""
        with store_errors():
            self._settle(job, "parked", reason, holder=holder)

    def unpark(self, kind: JobKind, *, now_us: int) -> int:
        """Have the parked jobs of a kind wait again, and all that wait due at once; return how many were parked."""
        with store_errors():
            self._db.execute(
                "UPDATE job SET due_at = ? WHERE kind = ? AND state = 'waiting' AND due_at > ?", (now_us, kind, now_us)
            )
            self._db.execute(
                "UPDATE job SET state = 'waiting', attempts = 0, reason = '', due_at = ? "
                "WHERE kind = ? AND state = 'parked'",
                (now_us, kind),
            )
            return self._db.changes()

    def next_due_at(self, kinds: Iterable[JobKind], *, now_us: int) -> int | None:
        """Return when the first job is due, 0 where one is taken, None where there is none to do."""
        with store_errors():
            return min((at for kind in kinds if (at := self._first_due(kind, now_us)) is not None), default=None)

    def count_due(self, kind: JobKind, *, now_us: int) -> int:
        """Return how many waiting jobs of a kind are due."""
        with store_errors():
            return int(
                self._db.execute(
                    "SELECT count(*) FROM job WHERE kind = ? AND state = 'waiting' AND due_at <= ?", (kind, now_us)
                ).get
            )

    def _first_due(self, kind: JobKind, now_us: int) -> int | None:
        if self._db.execute("SELECT EXISTS (SELECT 1 FROM job WHERE kind = ? AND state = 'running')", (kind,)).get:
            return 0
        found: int | None = self._db.execute(
            "SELECT min(due_at) FROM job WHERE kind = ? AND state = 'waiting'", (kind,)
        ).get
        return 0 if found is not None and found > now_us + LONGEST_WAIT_US and kind != "relate" else found

    def _position(self) -> int:
        found = self._db.execute("SELECT position FROM consumer WHERE name = ?", (CONSUMER,)).get
        return int(found or 0)

    def _add_sessions(self, sessions: str, after: int, now_us: int, not_before: str) -> None:
        due_at = f"max(?2, {not_before})"
        # What is older comes first, so that what was said later is seen to be later.
        self._db.execute(
            "INSERT INTO job SELECT 'rules:' || uid, 'rules', uid, 'waiting', coalesce(started_at, ?2), ?2, 0, '', "
            f"0, '', '{{}}' FROM ({sessions}) AS wanted JOIN session ON session.number = wanted.session WHERE true "
            f"ON CONFLICT (key) DO UPDATE SET due_at = CASE state WHEN 'waiting' THEN min(due_at, {due_at}) "
            f"ELSE {due_at} END, state = 'waiting', holder = '', attempts = 0, reason = ''",
            (after, now_us),
        )

    def _is_turn_over(self, number: int, next_seq: int) -> bool:
        first = (number << SEQ_BITS) + max(0, next_seq - NEWEST)
        rows: Iterable[Any] = self._db.execute(
            "SELECT bits FROM event WHERE key BETWEEN ? AND ? AND NOT bits & ? ORDER BY key DESC",
            (first, (number << SEQ_BITS) + _END_OF_SESSION, HIDDEN),
        )
        for (bits,) in rows:
            kind = kind_of_bits(bits)
            if kind in TURN_IS_OVER:
                return True
            if kind in TURN_GOES_ON:
                return False
        return False

    def _end_leases(self, kind: JobKind, now_us: int, lease_us: int) -> None:
        self._db.execute(
            "UPDATE job SET state = 'waiting', holder = '', due_at = min(due_at, ?1) "
            "WHERE kind = ?2 AND state = 'running' AND NOT lease_until BETWEEN ?1 + 1 AND ?1 + ?3",
            (now_us, kind, lease_us),
        )

    def _too_far(self, kind: JobKind, now_us: int) -> Any:
        if kind == "relate":  # waits for the day on which an action expires
            return None
        return self._db.execute(
            f"SELECT {_COLUMNS} FROM job WHERE kind = ? AND state = 'waiting' AND due_at > ? LIMIT 1",
            (kind, now_us + LONGEST_WAIT_US),
        ).fetchone()

    def _settle(self, job: Job, state: str, reason: str, *, holder: str = "") -> None:
        attempts = job.attempts - 1 if state == "parked" else job.attempts
        self._db.execute(
            "UPDATE job SET state = ?, holder = '', reason = ?, attempts = ? WHERE key = ? AND holder = ?",
            (state, reason, attempts, job.key, holder),
        )


def _not_before(now: str, least: str) -> str:
    """Return when a session may be read again by what is noted of it, as SQL. now, least: SQL, microseconds."""
    ran_at = f"min({now}, json_extract(job.json, '$.ran_at'))"  # not later than now, whatever the clock was then
    for_size = f"(json_extract(job.json, '$.events') - {FREE_EVENTS}) * {US_PER_EVENT}"
    waits = f"max({least}, min({for_size}, {LONGEST_WAIT_US // 2}))"
    return f"coalesce({ran_at} + {waits}, 0)"


def count_jobs(db: apsw.Connection) -> JobCounts:
    """Return how many jobs there are by kind and state, and since when the oldest one waits."""
    rows: list[Any] = db.execute("SELECT kind, state, count(*), min(due_at) FROM job GROUP BY kind, state").fetchall()
    waiting = [due_at for kind, state, _, due_at in rows if state == "waiting" and kind != "relate"]
    return JobCounts({(kind, state): count for kind, state, count, _ in rows}, min(waiting, default=None))


def read_dead(db: apsw.Connection, limit: int) -> list[Job]:
    """Return jobs that were given up, the newest first."""
    rows: list[Any] = db.execute(
        f"SELECT {_COLUMNS} FROM job WHERE state = 'dead' ORDER BY due_at DESC, key LIMIT ?",
        (limit,),
    ).fetchall()
    return [_job(row) for row in rows]


def _job(row: Any) -> Job:
    key, kind, session_uid, text, made_at, due_at, attempts, reason = row
    return Job(key, kind, session_uid, text.encode(), made_at, due_at, attempts, reason)
