"""Runs workers: in this process for little work, in one process a core for much."""

from __future__ import annotations

import queue
import subprocess
import threading
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from recollect.errors import BrokenInvariant
from recollect.index.engine import bound_heaps
from recollect.pipeline.work.process import Greeting, receive, send
from recollect.pipeline.work.tasks import SourceTask, TaskAnswer
from recollect.pipeline.work.worker import Worker
from recollect.processes import own_command

SMALL_BYTES = 6_000_000
"""Below this, starting processes (about 0.5 s) costs more than it saves."""
_GROUP_BYTES = 2 * 1024 * 1024
_GROUP_SOURCES = 64

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TaskAnswer).decode


class WorkQueue:
    """Tasks by source: a slice's continuation comes before anything new, so that few sources are open at once.

    Whoever took a slice goes on with its source: a second worker is begun only where there is work for two.
    Thread safe. `next_group` waits while all that is left may still be continued. A task is let go of when it is given
    out.
    """

    def __init__(self, tasks: Iterable[tuple[SourceTask, int]]) -> None:
        self._fresh = deque(tasks)
        self._going_on: deque[SourceTask] = deque()
        self._under_way = 0
        self._is_stopped = False
        self._changed = threading.Condition()

    def next_group(self, following: Sequence[SourceTask] | None = None) -> list[SourceTask]:
        """Return tasks worth about 2 MiB: one slice of a large source, or many small sources. Empty: all is done.

        following: what goes on of the group that the caller took before, now that it is done; None: it took none.
        """
        with self._changed:
            if following is not None:
                self._under_way -= 1
                self._going_on.extend(following)
                self._changed.notify_all()
            while not (self._fresh or self._going_on) and self._under_way and not self._is_stopped:
                self._changed.wait()
            group = [] if self._is_stopped else self._take()
            self._under_way += bool(group)
            return group

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
    group = work.next_group()
    while group:
        answer = worker.run(group)
        following = _following(answer)
        yield answer
        del answer  # a slice is large: it is gone before the next one is made
        group = work.next_group(following)


def run_in_processes(work: WorkQueue, greeting: Greeting, *, workers: int) -> Generator[TaskAnswer]:
    """Run the tasks in worker processes; at most one finished group a worker waits to be taken, and one more.

    Raises BrokenInvariant when a worker died; what was yielded before is complete.
    """
    bound_heaps()
    answers: queue.Queue[TaskAnswer | BaseException | None] = queue.Queue(maxsize=1)
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
            del answer
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
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False
        self._starting = threading.Lock()
        self._thread = threading.Thread(target=self._feed, args=(greeting,), daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the feeding thread still runs."""
        return self._thread.is_alive()

    def end(self) -> None:
        """End the process at once: what it is at is thrown away, it has written nothing."""
        with self._starting:
            self._is_over = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _feed(self, greeting: Greeting) -> None:
        try:
            group = self._work.next_group()
            process = self._started() if group else None
            if process is not None:
                self._serve(process, group, greeting)
            self._answers.put(None)
        except (OSError, BrokenInvariant, ValueError) as error:
            self._answers.put(BrokenInvariant(f"a worker process ended before its slice was done ({error})"))

    def _started(self) -> subprocess.Popen[bytes] | None:
        """Start the process, now that there is work for it; None when all is over."""
        with self._starting:
            if not self._is_over:
                self._process = subprocess.Popen(  # noqa: S603 - our own program
                    own_command(module="recollect.pipeline.work.process"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            return self._process

    def _serve(self, process: subprocess.Popen[bytes], group: list[SourceTask], greeting: Greeting) -> None:
        source, sink = process.stdout, process.stdin
        try:
            if source is None or sink is None:
                raise BrokenInvariant("a worker process has pipes")
            send(sink, _encode(greeting))
            while group:
                send(sink, _encode(group))
                following = self._hand_over(source)
                group = self._work.next_group(following)
        finally:
            for pipe in (source, sink):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def _hand_over(self, source: IO[bytes]) -> list[SourceTask]:
        """Pass an answer on and return what goes on of it; nothing here keeps the answer while the next is made."""
        answer = _received(source)
        following = _following(answer)
        self._answers.put(answer)
        return following


def _following(answer: TaskAnswer) -> list[SourceTask]:
    return [done.next for done in answer.done if done.next is not None]


def _received(source: IO[bytes]) -> TaskAnswer:
    """Receive an answer; its message is let go of before the answer waits to be taken."""
    message = receive(source)
    if message is None:
        raise BrokenInvariant("a worker answers every group")
    return _decode(message)
