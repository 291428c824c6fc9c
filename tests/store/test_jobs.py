"""The durable queue: at least once, never twice at a time, nothing lost to a crash or to a clock that jumps."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import StoreLocked
from recollect.store.connection import open_database
from recollect.store.jobs import LONGEST_WAIT_US, MAX_ATTEMPTS, Job
from recollect.store.learnings import LearningStore, open_learning_store

NOW = 1_800_000_000_000_000
LEASE = 60_000_000
DAY = 86_400_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LearningStore]:
    with open_learning_store(tmp_path) as opened:
        yield opened


def model_job(name: str, *, due_at: int = NOW, made_at: int = NOW) -> Job:
    return Job(f"model:{name}", "model", f"claude:{name}", b'{"turns":[1]}', made_at, due_at)


def claim(store: LearningStore, *, holder: str = "one", now: int = NOW) -> Job | None:
    with store.transaction():
        return store.queue.claim("model", holder=holder, now_us=now, lease_us=LEASE)


def add(store: LearningStore, *jobs: Job) -> int:
    with store.transaction():
        return store.queue.add(jobs)


def state(home: Path, key: str) -> tuple[str, int, str]:
    db = open_database(home, "read")
    try:
        row: tuple[str, int, str] = db.execute(
            "SELECT state, attempts, reason FROM job WHERE key = ?", (key,)
        ).fetchone()  # type: ignore[assignment]
    finally:
        db.close()
    return row


def test_work_is_given_out_oldest_first_and_only_when_it_is_due(store: LearningStore) -> None:
    later = model_job("later", due_at=NOW + 5)
    assert add(store, later, model_job("second", made_at=NOW + 1), model_job("first")) == 3
    assert [job and job.session_uid for job in (claim(store), claim(store), claim(store))] == [
        "claude:first",
        "claude:second",
        None,
    ]
    found = claim(store, now=NOW + 5)
    assert found is not None
    assert (found.key, found.data, found.attempts) == (later.key, later.data, 1)


def test_work_that_is_known_is_not_added_again_whatever_became_of_it(store: LearningStore) -> None:
    add(store, *(model_job(name) for name in "abcd"))
    done, dead, parked = claim(store), claim(store), claim(store)
    assert done is not None
    assert dead is not None
    assert parked is not None
    with store.transaction():
        assert store.queue.finish(done, holder="one")
        store.queue.give_up(dead, holder="one", reason="refused")
        store.queue.park(parked, holder="one", reason="no budget")
    assert add(store, *(model_job(name) for name in "abcde")) == 1
    assert [job and job.session_uid[-1] for job in (claim(store), claim(store), claim(store))] == ["d", "e", None]


def test_a_lease_that_ends_gives_the_work_to_another_and_the_first_keeps_nothing(store: LearningStore) -> None:
    add(store, model_job("a"))
    first = claim(store, holder="slow")
    assert first is not None
    assert claim(store, holder="quick", now=NOW + LEASE - 1) is None
    second = claim(store, holder="quick", now=NOW + LEASE)
    assert second is not None
    assert second.attempts == 2
    with store.transaction():
        assert not store.queue.finish(first, holder="slow")
        assert store.queue.finish(second, holder="quick")


def test_work_that_kills_its_worker_is_given_up_in_the_end_and_holds_nothing_up(
    store: LearningStore, tmp_path: Path
) -> None:
    add(store, model_job("poison"), model_job("well", made_at=NOW + 1))
    now = NOW
    for _ in range(MAX_ATTEMPTS):
        job = claim(store, now=now)
        assert job is not None
        assert job.session_uid == "claude:poison"
        now += LEASE
    found = claim(store, now=now)
    assert found is not None
    assert found.session_uid == "claude:well"
    assert state(tmp_path, "model:poison") == ("dead", MAX_ATTEMPTS, "it was begun 5 times and never ended")


def test_what_fails_waits_and_is_given_up_with_the_reason(store: LearningStore, tmp_path: Path) -> None:
    add(store, model_job("a"))
    for attempt in range(1, MAX_ATTEMPTS + 1):
        job = claim(store, now=NOW + attempt)
        assert job is not None
        with store.transaction():
            store.queue.retry(job, holder="one", due_at=NOW + attempt + 1, reason=f"failure {attempt}")
    assert claim(store, now=NOW + 100) is None
    assert state(tmp_path, "model:a") == ("dead", MAX_ATTEMPTS, f"failure {MAX_ATTEMPTS}")


def test_failures_that_do_not_count_never_end_the_work(store: LearningStore, tmp_path: Path) -> None:
    add(store, model_job("a"))
    for attempt in range(50):
        job = claim(store, now=NOW + attempt)
        assert job is not None
        with store.transaction():
            store.queue.retry(job, holder="one", due_at=NOW + attempt, reason="gone", is_counted=False)
    assert state(tmp_path, "model:a") == ("waiting", 0, "gone")


def test_what_is_parked_waits_for_another_configuration_as_if_never_tried(store: LearningStore, tmp_path: Path) -> None:
    add(store, model_job("a"))
    job = claim(store)
    assert job is not None
    with store.transaction():
        store.queue.park(job, holder="one", reason="the session's budget is spent")
    assert claim(store, now=NOW + 365 * DAY) is None
    with store.transaction():
        assert store.queue.unpark("model", now_us=NOW) == 1
    again = claim(store)
    assert again is not None
    assert again.attempts == 1


@pytest.mark.parametrize("jump", [-30 * DAY, -DAY, -2 * LONGEST_WAIT_US, DAY, 400 * DAY])
def test_a_clock_that_jumps_loses_no_work(store: LearningStore, jump: int) -> None:
    add(store, model_job("taken"), model_job("waits", made_at=NOW + 1))
    taken, waiting = claim(store), claim(store)
    assert taken is not None
    assert waiting is not None
    with store.transaction():
        store.queue.retry(waiting, holder="one", due_at=NOW + LEASE, reason="busy")
    then = NOW + jump
    found = {job.session_uid for job in (claim(store, now=then), claim(store, now=then)) if job is not None}
    assert found == {"claude:taken", "claude:waits"}
    assert claim(store, now=then) is None


def test_wanting_work_again_takes_the_earlier_time_and_forgives_old_failures(store: LearningStore) -> None:
    relate = Job("relate:demo", "relate", "", made_at=0, due_at=NOW + DAY)
    with store.transaction():
        store.queue.want(relate)
        store.queue.want(msgspec.structs.replace(relate, due_at=NOW))
        store.queue.want(msgspec.structs.replace(relate, due_at=NOW + 2 * DAY))
        job = store.queue.claim("relate", holder="one", now_us=NOW, lease_us=LEASE)
        assert job is not None
        assert store.queue.finish(job, holder="one")
        assert store.queue.next_due_at(("relate",), now_us=NOW) is None


def test_two_workers_at_once_take_every_piece_of_work_once(store: LearningStore, tmp_path: Path) -> None:
    add(store, *(model_job(f"{number:03}", made_at=NOW + number) for number in range(150)))
    taken: dict[str, list[str]] = {"one": [], "two": [], "three": []}

    def work(holder: str) -> None:
        with open_learning_store(tmp_path) as own:
            while (job := claim(own, holder=holder)) is not None:
                with own.transaction():
                    assert own.queue.finish(job, holder=holder)
                taken[holder].append(job.key)

    workers = [threading.Thread(target=work, args=(holder,)) for holder in taken]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(key for keys in taken.values() for key in keys) == [f"model:{number:03}" for number in range(150)]


def test_many_that_wait_are_claimed_by_an_index_and_never_held_in_memory(store: LearningStore, tmp_path: Path) -> None:
    assert add(store, *(model_job(f"{number:05}", made_at=NOW + number) for number in range(20_000))) == 20_000
    db = open_database(tmp_path, "read")
    plan = " ".join(
        str(row[-1])
        for row in db.execute(
            "EXPLAIN QUERY PLAN SELECT key FROM job WHERE kind = 'model' AND state = 'waiting' AND due_at <= 1 "
            "ORDER BY due_at, made_at LIMIT 1"
        )
    )
    db.close()
    assert "job_due" in plan
    assert "SCAN" not in plan
    assert "TEMP B-TREE" not in plan
    for number in range(3):
        job = claim(store)
        assert job is not None
        assert job.key == f"model:{number:05}"
    assert len(store.queue.due_sessions("model", now_us=NOW)) == 19_997


def test_what_goes_wrong_inside_a_transaction_leaves_the_queue_as_it_was(store: LearningStore, tmp_path: Path) -> None:
    add(store, model_job("a"))

    def end_and_fail() -> None:
        with store.transaction():
            job = store.queue.claim("model", holder="one", now_us=NOW, lease_us=LEASE)
            assert job is not None
            store.queue.finish(job, holder="one")
            raise RuntimeError("no space")

    with pytest.raises(RuntimeError, match="no space"):
        end_and_fail()
    assert state(tmp_path, "model:a") == ("waiting", 0, "")
    assert claim(store) is not None


def test_while_another_writes_for_long_nothing_is_claimed_and_that_is_said(tmp_path: Path) -> None:
    with open_learning_store(tmp_path) as store:
        add(store, model_job("a"))
        other = apsw.Connection(str(tmp_path / "memory.db"))
        other.execute("BEGIN IMMEDIATE")
        store._db.set_busy_timeout(10)  # a person waits five seconds, a test does not
        with pytest.raises(StoreLocked):
            claim(store)
        other.execute("ROLLBACK")
        other.close()
        assert claim(store) is not None


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), workers=st.integers(1, 4))
def test_whatever_becomes_of_its_workers_every_piece_of_work_is_ended_once(
    tmp_path_factory: pytest.TempPathFactory, seed: int, workers: int
) -> None:
    """A random walk of claims, ends, crashes and clocks: work ends once, and none is left."""
    chance = random.Random(seed)
    ended: list[str] = []
    with open_learning_store(tmp_path_factory.mktemp("queue")) as store:
        add(store, *(model_job(str(number), made_at=NOW + number) for number in range(12)))
        held: dict[str, Job] = {}
        now = NOW
        for step in range(400):
            now += chance.choice([1, 1_000_000, LEASE, -DAY, DAY])
            holder = f"w{chance.randrange(workers)}-{step}"
            job = claim(store, holder=holder, now=now)
            if job is not None:
                held[holder] = job
            for name in list(held):
                fate = chance.random()
                if fate < 0.5:
                    with store.transaction():
                        mine = held.pop(name)
                        if store.queue.finish(mine, holder=name):
                            ended.append(mine.key)
                elif fate < 0.6:
                    del held[name]  # killed: its lease must end by itself
        counts = dict(store._db.execute("SELECT state, count(*) FROM job GROUP BY state").fetchall())
    assert counts.get("done", 0) == len(ended) == len(set(ended))
    assert counts.get("done", 0) + counts.get("dead", 0) + counts.get("running", 0) == 12
