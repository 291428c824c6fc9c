# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Durable jobs, and the ledger of model costs.

Times are of the wall clock, which may be set back and forth: a lease or a wait that ends later than any could is over.
Costs are booked before a question is sent and corrected when its answer is there: a process that dies in between leaves
the most that the question can have cost, never less.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw
import msgspec

from recollect.model.learnings.spending import Amounts, Exceeded, Limits, Spender
from recollect.store.connection import RaisesStoreErrors, open_database, open_to_read, store_errors, transaction
from recollect.store.sources import last_change, newest_kind, position_of, take_note

CONSUMER = "learn"
"""The name under which learning follows the change log."""
TURN_GOES_ON = frozenset({"user_message", "thinking", "tool_call", "tool_result", "file_edit"})
TURN_IS_OVER = frozenset({"assistant_message", "session_end"})
"""Kinds of events: the last one that is of either says whether the newest turn of a session is over."""
JobKind = Literal["rules", "model", "relate", "older", "past"]
"""rules: the extractor reads one session. model: a model is asked about some turns. relate: the learnings of one
repository are compared with each other. older: a model is to be asked about a session from before it was configured;
past: about some turns of such a session."""
QUESTIONS: tuple[JobKind, ...] = ("model", "past", "older")
"""Kinds of jobs that a model is asked for, in the order in which it is."""
JobState = Literal["waiting", "running", "parked", "done", "dead"]
"""parked: until the configuration changes; dead: given up, with the reason."""


class Job(msgspec.Struct, frozen=True):
    """One piece of work. data: what its kind needs, JSON. attempts: with the present one. Times in UTC microseconds."""

    key: str
    kind: JobKind
    session_uid: str
    data: bytes = b"{}"
    made_at: int = 0
    due_at: int = 0
    attempts: int = 0
    reason: str = ""


class JobCounts(NamedTuple):
    """How many jobs there are by kind and state, and since when the oldest one that is due waits."""

    counts: dict[tuple[JobKind, JobState], int]
    oldest_due_at: int | None


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
JOB_COLUMNS = "key, kind, session_uid, json, made_at, due_at, attempts, reason"


class JobQueue(RaisesStoreErrors):
    """Durable work, at least once. Claims and completions happen inside a transaction of the `LearningStore` that the
    queue belongs to, so that a job's results and its end are one."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def has_changes(self) -> bool:
        """Return whether the change log has news since the last time. Outside of a transaction too."""
        return last_change(self._db) > position_of(self._db, CONSUMER)

    def note_changes(self, *, now_us: int, least_wait_us: int) -> None:
        """Make a `rules` job of every session that changed, so that the change log need not keep it for learning.

        A session that was read is due again after the time that its size asks for, `least_wait_us` at least.
        """
        last, position = last_change(self._db), position_of(self._db, CONSUMER)
        if last > position:
            wait = _not_before("?2", str(int(least_wait_us)))
            self._add_sessions("SELECT DISTINCT session FROM change WHERE id > ?1", position, now_us, wait)
            take_note(self._db, CONSUMER, last)

    def add_all_sessions(self, *, now_us: int) -> None:
        """Make a `rules` job of every session there is."""
        self._add_sessions("SELECT number AS session FROM session WHERE number > ?1", -1, now_us, "0")

    def add_older_sessions(self, *, since: int, after: int | None, before: int | None, now_us: int) -> int:
        """Make an `older` job of every session that began before `since`, and in a period if one is given; the newest
        are done first. Return how many were not known. Times in UTC microseconds."""
        known = self._db.total_changes()
        self._db.execute(
            "INSERT OR IGNORE INTO job SELECT 'older:' || uid, 'older', uid, 'waiting', -coalesce(started_at, 0), "
            "?1, 0, '', 0, '', '{}' FROM session WHERE coalesce(started_at, 0) < min(?2, coalesce(?3, ?2)) "
            "AND coalesce(started_at, 0) >= coalesce(?4, 0)",
            (now_us, since, before, after),
        )
        return self._db.total_changes() - known

    def want_sessions(self, repo: str, *, after: int, but: str, now_us: int) -> None:
        """Schedule the newest sessions of a repository that continued after a time (UTC microseconds), except one,
        for another reading: something new may make them say more.
        """
        self._db.execute(
            "UPDATE job SET state = 'waiting', due_at = ?1, attempts = 0, reason = '' WHERE state = 'done' "
            "AND key IN (SELECT 'rules:' || uid FROM session WHERE repo = ?2 AND ended_at > ?3 AND uid <> ?4 "
            "ORDER BY ended_at DESC LIMIT ?5)",
            (now_us, repo, after, but, MOST_AGAIN),
        )

    def hasten(self, *, now_us: int) -> None:
        """Make sessions whose newest turn is over due as soon as their size allows."""
        rows: list[Any] = self._db.execute(
            "SELECT job.key, number, next_seq FROM job JOIN session ON session.uid = job.session_uid "
            "WHERE job.kind = 'rules' AND job.state = 'waiting' AND job.due_at > ? ORDER BY job.due_at LIMIT ?",
            (now_us, HASTENED),
        ).fetchall()
        over = [(key, now_us) for key, number, next_seq in rows if self._is_turn_over(number, next_seq)]
        self._db.executemany(f"UPDATE job SET due_at = min(due_at, {_not_before('?2', '0')}) WHERE key = ?1", over)

    def add(self, jobs: Iterable[Job]) -> int:
        """Keep jobs that are not known by key; return how many those are. Done, parked and dead ones stay so."""
        before = self._db.total_changes()
        self._db.executemany(
            "INSERT OR IGNORE INTO job VALUES (?, ?, ?, 'waiting', ?, ?, 0, '', 0, '', ?)",
            [(j.key, j.kind, j.session_uid, j.made_at, j.due_at, j.data.decode()) for j in jobs],
        )
        return self._db.total_changes() - before

    def want(self, job: Job) -> None:
        """Keep a job, or have the one of this key wait again, due at `due_at` or earlier."""
        self._db.execute(
            "INSERT INTO job VALUES (?, ?, ?, 'waiting', ?, ?, 0, '', 0, '', ?) ON CONFLICT (key) DO UPDATE SET "
            "due_at = CASE state WHEN 'waiting' THEN min(due_at, excluded.due_at) ELSE excluded.due_at END, "
            "attempts = CASE state WHEN 'waiting' THEN attempts ELSE 0 END, state = 'waiting', holder = '', "
            "reason = ''",
            (job.key, job.kind, job.session_uid, job.made_at, job.due_at, job.data.decode()),
        )

    def claim(self, kind: JobKind, *, holder: str, now_us: int, lease_us: int) -> Job | None:
        """Take the job that has waited longest; None if none is due.

        It belongs to the holder until `now_us + lease_us`; then it is given out again, and after its last attempt it is
        given up. lease_us: the same for all of a kind.
        """
        self._end_leases(kind, now_us, lease_us)
        while True:
            row: Any = self._db.execute(
                f"SELECT {JOB_COLUMNS} FROM job WHERE kind = ? AND state = 'waiting' AND due_at <= ? "
                "ORDER BY due_at, made_at LIMIT 1",
                (kind, now_us),
            ).fetchone() or self._too_far(kind, now_us)
            if row is None:
                return None
            job = job_of(row)
            if job.attempts < MAX_ATTEMPTS:
                break
            self._settle(job, "dead", job.reason or f"it was begun {job.attempts} times and never ended")
        self._db.execute(
            "UPDATE job SET state = 'running', holder = ?, lease_until = ?, attempts = attempts + 1 WHERE key = ?",
            (holder, now_us + lease_us, job.key),
        )
        return msgspec.structs.replace(job, attempts=job.attempts + 1)

    def release(self, kind: JobKind, *, now_us: int) -> None:
        """Have jobs of a kind that somebody took wait again: for who knows that nobody else is at work."""
        self._db.execute(
            "UPDATE job SET state = 'waiting', holder = '', due_at = min(due_at, ?) "
            "WHERE kind = ? AND state = 'running'",
            (now_us, kind),
        )

    def finish(self, job: Job, *, holder: str, data: bytes = b"{}") -> bool:
        """Mark a job as done; False where another holder has it by now. One to compare learnings leaves no row."""
        if job.kind == "relate":
            self._db.execute("DELETE FROM job WHERE key = ? AND holder = ? AND state = 'running'", (job.key, holder))
            return self._db.changes() == 1
        self._db.execute(
            "UPDATE job SET state = 'done', holder = '', attempts = 0, reason = '', json = ? "
            "WHERE key = ? AND holder = ? AND state = 'running'",
            (data.decode(), job.key, holder),
        )
        return self._db.changes() == 1

    def retry(self, job: Job, *, holder: str, due_at: int, reason: str, is_counted: bool = True) -> None:
        """Make a job wait until `due_at`; after its last counted attempt it is given up. reason: of the failure."""
        state = "dead" if is_counted and job.attempts >= MAX_ATTEMPTS else "waiting"
        self._db.execute(
            "UPDATE job SET state = ?, holder = '', due_at = ?, reason = ?, attempts = attempts - ? "
            "WHERE key = ? AND holder = ? AND state = 'running'",
            (state, due_at, reason, not is_counted, job.key, holder),
        )

    def give_up(self, job: Job, *, holder: str, reason: str) -> None:
        """Keep a job as dead."""
        self._settle(job, "dead", reason, holder=holder)

    def park(self, job: Job, *, holder: str, reason: str) -> None:
        """Keep a job until `unpark`, as if it had not been tried."""
        self._settle(job, "parked", reason, holder=holder)

    def unpark(self, kind: JobKind, *, now_us: int) -> int:
        """Return parked jobs of a kind to the queue and make all of them due at once; return how many were parked."""
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
        """Return when the first job is due, 0 if one is taken, None without jobs."""
        return min((at for kind in kinds if (at := self._first_due(kind, now_us)) is not None), default=None)

    def due_sessions(self, kind: JobKind, *, now_us: int) -> list[str]:
        """Return the sessions of the waiting jobs of a kind that are due, in the order in which they are given out."""
        rows: Iterable[Any] = self._db.execute(
            "SELECT session_uid FROM job WHERE kind = ? AND state = 'waiting' AND due_at <= ? ORDER BY due_at, made_at",
            (kind, now_us),
        )
        return [uid for (uid,) in rows]

    def _first_due(self, kind: JobKind, now_us: int) -> int | None:
        if self._db.execute("SELECT EXISTS (SELECT 1 FROM job WHERE kind = ? AND state = 'running')", (kind,)).get:
            return 0
        found: int | None = self._db.execute(
            "SELECT min(due_at) FROM job WHERE kind = ? AND state = 'waiting'", (kind,)
        ).get
        return 0 if found is not None and found > now_us + LONGEST_WAIT_US and kind != "relate" else found

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
        telling = TURN_GOES_ON | TURN_IS_OVER
        return newest_kind(self._db, number, next_seq, telling, looked_at=NEWEST) in TURN_IS_OVER

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
            f"SELECT {JOB_COLUMNS} FROM job WHERE kind = ? AND state = 'waiting' AND due_at > ? LIMIT 1",
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


def job_of(row: Any) -> Job:
    """Return the job of a row of `JOB_COLUMNS`."""
    key, kind, session_uid, text, made_at, due_at, attempts, reason = row
    return Job(key, kind, session_uid, text.encode(), made_at, due_at, attempts, reason)


_ADD = (
    "INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, session_uid, model) DO UPDATE SET "
    "calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens, "
    "output_tokens = output_tokens + excluded.output_tokens, micro_dollars = micro_dollars + excluded.micro_dollars"
)
_SUM = (
    "SELECT coalesce(sum(calls), 0), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), "
    "coalesce(sum(micro_dollars), 0) FROM spending"
)


class SpendingLedger:
    """Records spending in small writes of its own, beside any other writer. Waits up to the busy timeout, so its
    caller must not hold a transaction. See `insights.learnings.budget.Ledger`.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    def reserve(self, spender: Spender, most: Amounts, limits: Limits) -> Exceeded:
        """Book what a question may cost at most, unless that breaks a limit; return which. Raises StoreError."""
        with self._writing() as db:
            day = _sum(db, "day = ?", spender.day)
            session = _sum(db, "session_uid = ?", spender.session_uid)
            exceeded = limits.exceeded_by(most, session=session, day=day)
            if not exceeded:
                _add(db, spender, most)
            return exceeded

    def correct(self, spender: Spender, difference: Amounts) -> None:
        """Add what a question cost beyond its booked amount; negative if it cost less. Raises StoreError."""
        with self._writing() as db:
            _add(db, spender, difference)

    def spent_on(self, day: int) -> Amounts:
        """Return the spending of a day. Raises StoreError."""
        return self._read("day = ?", day)

    def spent_for(self, session_uid: str) -> Amounts:
        """Return the spending for a session, on all days. Raises StoreError."""
        return self._read("session_uid = ?", session_uid)

    def _read(self, where: str, value: str | int) -> Amounts:
        with open_to_read(self._home) as db:
            return _sum(db, where, value)

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        with closing(open_database(self._home, "write")) as db, store_errors(), transaction(db):
            yield db  # what is read must still hold when it is written


def forget_spending(db: apsw.Connection, uids: Collection[str]) -> None:
    """Take the names of sessions out of the ledger, inside the caller's transaction; the days' sums stay what they are.

    Without that, to forget a session would free the day's budget for another.
    """
    for uid in uids:
        rows: list[Any] = db.execute(
            "DELETE FROM spending WHERE session_uid = ? "
            "RETURNING day, model, calls, input_tokens, output_tokens, micro_dollars",
            (uid,),
        ).fetchall()
        for day, model, *amounts in rows:
            _add(db, Spender(day, "", model), Amounts(*amounts))


def _add(db: apsw.Connection, spender: Spender, amounts: Amounts) -> None:
    db.execute(_ADD, (*spender, *amounts))


def _sum(db: apsw.Connection, where: str, value: str | int) -> Amounts:
    row: Any = db.execute(f"{_SUM} WHERE {where}", (value,)).fetchone()
    return Amounts(*row)
