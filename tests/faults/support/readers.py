"""Fifty readers beside one ingester: five processes of ten threads each ask without pause and hold every answer
against what the memory will be in the end. Runs inside a job of the nursery.

In the middle of some of its transactions the ingester waits until every reader has asked another whole round. A reader
that the ingester blocks would never do that, so the two would wait for each other, and the job is told as hung.
"""

from __future__ import annotations

import mmap
import os
import random
import struct
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from recollect.memory import Memory

PROCESSES = 5
THREADS = 10
_ROUNDS = 2
_COUNTER = struct.Struct("<q")
_READERS = PROCESSES * THREADS


class Expected(msgspec.Struct, frozen=True):
    """What the memory is in the end: events by session as (seq, event id), and hits as (session, seq)."""

    events: dict[str, list[tuple[int, str]]]
    hits: dict[str, list[tuple[str, int]]]


class Counters:
    """How many rounds each reader has asked; shared by all processes."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 4096)

    def add(self, reader: int) -> None:
        """One more round."""
        _COUNTER.pack_into(self._memory, reader * _COUNTER.size, self.all()[reader] + 1)

    def all(self) -> list[int]:
        """Return every reader's rounds."""
        return [_COUNTER.unpack_from(self._memory, i * _COUNTER.size)[0] for i in range(_READERS)]

    def end(self) -> None:
        """Let the readers stop."""
        _COUNTER.pack_into(self._memory, _READERS * _COUNTER.size, 1)

    @property
    def is_over(self) -> bool:
        """Whether they should."""
        return bool(_COUNTER.unpack_from(self._memory, _READERS * _COUNTER.size)[0])


def main(home: str, expected_file: str, gates: int) -> None:
    """Ingest with fifty readers beside it; prints the rounds asked. Raises SystemExit when an answer was wrong."""
    expected = msgspec.json.decode(Path(expected_file).read_bytes(), type=Expected)
    counters = Counters()
    readers = [_forked(lambda p=p: _read(home, expected, counters, p)) for p in range(PROCESSES)]
    ingester = _forked(lambda: _ingest(home, counters, gates))
    failed = _code_of(ingester)
    counters.end()
    failed += sum(_code_of(reader) for reader in readers)
    sys.stdout.write(f"rounds {min(counters.all())} to {max(counters.all())}, {sum(counters.all())} in all\n")
    if failed:
        raise SystemExit(3)


def _forked(work: Any) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - a child must never come back into its parent's work
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _code_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _ingest(home: str, counters: Counters, gates: int) -> None:
    from recollect.store.writer import Writer

    transaction = Writer.transaction
    left = gates

    @contextmanager
    def gated(self: Writer) -> Iterator[None]:
        nonlocal left
        with transaction(self):
            yield
            if left and self.last_change():
                left -= 1
                _wait_for_all(counters)

    Writer.transaction = gated  # type: ignore[method-assign]
    with Memory.open(home) as memory:
        report = memory.sync()
    assert report.state == "done", report.notes
    assert left == 0, "too few transactions to wait in"


def _wait_for_all(counters: Counters) -> None:
    before = counters.all()
    while any(now - was < _ROUNDS for now, was in zip(counters.all(), before, strict=True)):
        time.sleep(0.005)


def _read(home: str, expected: Expected, counters: Counters, process: int) -> None:
    while not (Path(home) / "memory.db").exists():  # nothing to read before the first table
        time.sleep(0.005)
    wrong: list[BaseException] = []

    def ask(number: int) -> None:
        reader = _Reader(memory, expected, number)
        try:
            while not (counters.is_over or wrong):
                reader.round()
                counters.add(number)
        except BaseException as error:
            wrong.append(error)
            raise

    with Memory.open(home) as memory:
        threads = [threading.Thread(target=ask, args=(process * THREADS + n,)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if wrong:
        raise wrong[0]


class _Reader:
    """One reader and what it has seen so far: nothing of that may ever be gone again."""

    def __init__(self, memory: Memory, expected: Expected, number: int) -> None:
        self._memory = memory
        self._expected = expected
        self._chance = random.Random(number)
        self._seen: dict[str, int] = {}

    def round(self) -> None:
        """Ask one of each question; raises AssertionError for an answer that is not a part of the final one."""
        sessions = self._memory.sessions(limit=1000, sync=False).sessions
        uids = {s.session_uid for s in sessions}
        assert self._seen.keys() <= uids, "a session is gone"
        if uids:
            uid = self._chance.choice(sorted(uids))
            got = [(e.seq, e.event_id) for e in self._memory.events(uid)]
            assert got == self._expected.events[uid][: len(got)], f"{uid}: other events than in the end"
            assert len(got) >= self._seen.get(uid, 0), f"{uid}: events are gone"
            self._seen[uid] = len(got)
        query = self._chance.choice(sorted(self._expected.hits))
        answer = self._memory.search(query, limit=1000, sync=False)
        known = {tuple(hit) for hit in self._expected.hits[query]}
        assert {(h.session_uid, h.seq) for h in answer.hits} <= known, f"{query}: hits that will not be"
        assert self._memory.stats().sessions >= len(self._seen)
