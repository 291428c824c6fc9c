"""Runs workers: in this process for little work, in one process a core for much."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import msgspec

from recollect.archive.keys import HomeKeys
from recollect.errors import BrokenInvariant
from recollect.pipeline.tasks import SourceTask, TaskAnswer
from recollect.pipeline.worker import Worker

SMALL_BYTES = 6_000_000
"""Below this, starting processes (about 0.3 s) costs more than it saves."""
_GROUP_BYTES = 2 * 1024 * 1024
_GROUP_SOURCES = 64

_encode = msgspec.msgpack.Encoder().encode
_decode_tasks = msgspec.msgpack.Decoder(list[SourceTask]).decode
_decode_answer = msgspec.msgpack.Decoder(TaskAnswer).decode
_worker: Worker | None = None


class WorkQueue:
    """Tasks by source: a slice's continuation comes before anything new, so that few sources are open at once."""

    def __init__(self, tasks: list[tuple[SourceTask, int]]) -> None:
        self._fresh = deque(tasks)
        self._going_on: deque[SourceTask] = deque()

    def __bool__(self) -> bool:
        return bool(self._fresh or self._going_on)

    def go_on(self, task: SourceTask) -> None:
        """Queue the next slice of a source."""
        self._going_on.append(task)

    def next_group(self) -> list[SourceTask]:
        """Return tasks worth about 2 MiB: one slice of a large source, or many small sources."""
        if self._going_on:
            return [self._going_on.popleft()]
        group: list[SourceTask] = []
        size = 0
        while self._fresh and size < _GROUP_BYTES and len(group) < _GROUP_SOURCES:
            task, weight = self._fresh[0]
            if group and size + weight > 2 * _GROUP_BYTES:
                break
            self._fresh.popleft()
            group.append(task)
            size += weight
        return group


def run_here(queue: WorkQueue, keys: HomeKeys, archive_folder: Path) -> Iterator[TaskAnswer]:
    """Run every task in this process, one group after the other."""
    worker = Worker(keys, archive_folder)
    while queue:
        answer = worker.run(queue.next_group())
        _requeue(queue, answer)
        yield answer


def run_in_processes(queue: WorkQueue, keys: HomeKeys, archive_folder: Path, *, workers: int) -> Iterator[TaskAnswer]:
    """Run the tasks in worker processes, at most one group more under way than there are workers.

    Raises BrokenInvariant when a worker died; what was yielded before is complete.
    """
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(keys, str(archive_folder))
    )
    under_way: set[Future[bytes]] = set()
    try:
        while queue or under_way:
            while queue and len(under_way) < workers + 1:
                under_way.add(pool.submit(_run_encoded, _encode(queue.next_group())))
            finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in finished:
                answer = _decode_answer(future.result())
                _requeue(queue, answer)
                yield answer
    except BrokenProcessPool as error:
        raise BrokenInvariant("a worker process ended before its slice was done") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _requeue(queue: WorkQueue, answer: TaskAnswer) -> None:
    for done in answer.done:
        if done.next is not None:
            queue.go_on(done.next)


def _start_worker(keys: HomeKeys, archive_folder: str) -> None:
    """Set a worker process up. It ends with its parent, also when that is killed, and leaves Ctrl-C to it."""
    global _worker  # noqa: PLW0603 (one worker a process; the pool gives no other place for it)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = Worker(keys, Path(archive_folder))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_encoded(tasks: bytes) -> bytes:
    if _worker is None:
        raise BrokenInvariant("a worker process was set up before its first task")
    return _encode(_worker.run(_decode_tasks(tasks)))
