"""Runs workers: in this process for little work, in one process a core for much."""

from __future__ import annotations

import ctypes
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from recollect.errors import BrokenInvariant
from recollect.pipeline.work.process import Greeting, receive, send
from recollect.pipeline.work.tasks import SourceTask, TaskAnswer
from recollect.pipeline.work.worker import Worker

SMALL_BYTES = 6_000_000
"""Below this, starting processes (about 0.5 s) costs more than it saves."""
_GROUP_BYTES = 2 * 1024 * 1024
_GROUP_SOURCES = 64

_M_ARENA_MAX = -8
_HEAPS = 2

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TaskAnswer).decode


class WorkQueue:
    """Tasks by source: a slice's continuation comes before anything new, so that few sources are open at once.

    Thread safe. `next_group` waits while all that is left may still be continued.
    """

    def __init__(self, tasks: list[tuple[SourceTask, int]]) -> None:
        self._fresh = deque(tasks)
        self._going_on: deque[SourceTask] = deque()
        self._under_way = 0
        self._is_stopped = False
        self._changed = threading.Condition()

    def next_group(self) -> list[SourceTask]:
        """Return tasks worth about 2 MiB: one slice of a large source, or many small sources. Empty: all is done."""
        with self._changed:
            while not (self._fresh or self._going_on) and self._under_way and not self._is_stopped:
                self._changed.wait()
            group = [] if self._is_stopped else self._take()
            self._under_way += bool(group)
            return group

    def answered(self, answer: TaskAnswer) -> None:
        """Take note that a group is done; queue what goes on."""
        with self._changed:
            self._under_way -= 1
            self._going_on.extend(done.next for done in answer.done if done.next is not None)
            self._changed.notify_all()

    def stop(self) -> None:
        """Give out nothing more."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _take(self) -> list[SourceTask]:
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


def run_here(work: WorkQueue, greeting: Greeting) -> Generator[TaskAnswer]:
    """Run every task in this process, one group after the other."""
    worker = Worker(greeting.keys, Path(greeting.archive_folder), greeting.privacy, greeting.forgotten)
    while group := work.next_group():
        answer = worker.run(group)
        work.answered(answer)
        yield answer


def run_in_processes(work: WorkQueue, greeting: Greeting, *, workers: int) -> Generator[TaskAnswer]:
    """Run the tasks in worker processes; at most one finished group a worker waits to be taken.

    Raises BrokenInvariant when a worker died; what was yielded before is complete.
    """
    _bound_heaps()
    answers: queue.Queue[TaskAnswer | BaseException | None] = queue.Queue(maxsize=workers)
    helpers = [_Helper(work, answers, greeting) for _ in range(workers)]
    running = len(helpers)
    try:
        while running:
            answer = answers.get()
            if answer is None:
                running -= 1
            elif isinstance(answer, BaseException):
                raise answer
            else:
                yield answer
    finally:
        work.stop()
        for helper in helpers:
            helper.end()
        while any(helper.is_alive for helper in helpers):
            with suppress(queue.Empty):
                answers.get(timeout=0.05)


class _Helper:
    """One worker process and the thread that feeds it."""

    def __init__(
        self, work: WorkQueue, answers: queue.Queue[TaskAnswer | BaseException | None], greeting: Greeting
    ) -> None:
        self._work = work
        self._answers = answers
        self._process = subprocess.Popen(
            [sys.executable, "-m", "recollect.pipeline.work.process"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._thread = threading.Thread(target=self._feed, args=(greeting,), daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the feeding thread still runs."""
        return self._thread.is_alive()

    def end(self) -> None:
        """End the process at once: what it is at is thrown away, it has written nothing."""
        self._process.kill()
        self._process.wait()

    def _feed(self, greeting: Greeting) -> None:
        source, sink = self._process.stdout, self._process.stdin
        try:
            if source is None or sink is None:
                raise BrokenInvariant("a worker process has pipes")
            self._serve(source, sink, greeting)
            self._answers.put(None)
        except (OSError, BrokenInvariant, msgspec.MsgspecError) as error:
            self._answers.put(BrokenInvariant(f"a worker process ended before its slice was done ({error})"))
        finally:
            for pipe in (source, sink):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def _serve(self, source: IO[bytes], sink: IO[bytes], greeting: Greeting) -> None:
        send(sink, _encode(greeting))
        while group := self._work.next_group():
            send(sink, _encode(group))
            answer = _received(source)
            self._work.answered(answer)
            self._answers.put(answer)


def _received(source: IO[bytes]) -> TaskAnswer:
    """Receive an answer; its message is let go of before the answer waits to be taken."""
    message = receive(source)
    if message is None:
        raise BrokenInvariant("a worker answers every group")
    return _decode(message)


def _bound_heaps() -> None:
    """Let the threads of this process share two heaps: glibc gives each one its own, none of which ever shrinks.

    Answers are made in one thread, taken apart in another and freed in the index's; this saves 60 MB of 370.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library may have none of it
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _HEAPS)
