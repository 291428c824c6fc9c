"""Runs workers: in this process for little work, in one process per core for much."""

from __future__ import annotations

import gc
import os
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from recollect.agents.registry import define
from recollect.archive.keys import HomeKeys
from recollect.config import PrivacyConfig
from recollect.erasure.tombstones import NOTHING as NOTHING_FORGOTTEN
from recollect.erasure.tombstones import Forgotten
from recollect.errors import BrokenInvariant, where_raised
from recollect.index.text.engine import bound_heaps, give_back_memory
from recollect.ingest.worker.slices import SliceFailed, SourceTask, TaskAnswer, receive, send
from recollect.processes import own_command

if TYPE_CHECKING:
    import subprocess

    from recollect.ingest.worker.worker import Worker

SMALL_BYTES = 6_000_000
"""Below this, starting processes (about 0.5 s) costs more than it saves."""
_GROUP_BYTES = 1024 * 1024
_GROUP_SOURCES = 64
ENDED = "the process that read it ended before it was done; perhaps it takes more memory than there is"

_encode = msgspec.msgpack.Encoder().encode


@cache
def _decoder() -> msgspec.msgpack.Decoder[TaskAnswer]:
    """Return what reads an answer; to make it takes a millisecond, and a pass with little to do needs none."""
    return msgspec.msgpack.Decoder(TaskAnswer)


class WorkQueue:
    """Tasks by source: a slice's continuation comes before anything new, so that few sources are open at once.

    A worker continues with its source: a second worker starts only if there is work for two. Thread safe. `next_group`
    waits while the remaining tasks may still be continued. A task is released when it is given out.
    """

    def __init__(self, tasks: Iterable[tuple[SourceTask, int]]) -> None:
        self._fresh = deque(tasks)
        self._going_on: deque[SourceTask] = deque()
        self._under_way = 0
        self._is_stopped = False
        self._changed = threading.Condition()

    def next_group(self, following: Sequence[SourceTask] | None = None) -> list[SourceTask]:
        """Return tasks worth about 1 MiB: one slice of a large source, or many small sources. Empty: all is done.

        following: continuations of the caller's last group, now that it is done; None: it had none.
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
    worker = _worker(greeting)
    group = work.next_group()
    while group:
        answer = worker.run(group)
        following = _following(answer)
        yield answer
        del answer  # a slice is large: it is gone before the next one is made
        group = work.next_group(following)


def run_in_processes(work: WorkQueue, greeting: Greeting, *, workers: int) -> Generator[TaskAnswer]:
    """Run the tasks in worker processes; at most one finished group a worker waits to be taken, and one more.

    A source over which a worker dies is answered as failed. Raises BrokenInvariant where no worker can be started; what
    was yielded before is complete.
    """
    bound_heaps()
    answers: queue.Queue[TaskAnswer | BaseException | None] = queue.Queue(maxsize=1)
    helpers = [_WorkerProcess(work, answers, greeting) for _ in range(workers)]
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


class _WorkerProcess:
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

    def _feed(self, greeting: Greeting) -> None:
        try:
            group = self._work.next_group()
            while group:
                following = self._hand_over(group, greeting)
                group = self._work.next_group(following)
            self._answers.put(None)
        except (OSError, BrokenInvariant) as error:
            self._answers.put(BrokenInvariant(f"a worker process could not be used ({error})"))
        except Exception as bug:  # noqa: BLE001 - the outermost frame of a thread, for which the pass would wait for ever
            self._answers.put(BrokenInvariant(f"a worker process could not be used ({where_raised(bug)})"))
        finally:
            self._close()

    def _hand_over(self, group: list[SourceTask], greeting: Greeting) -> list[SourceTask]:
        """Have a group processed, pass the answer on, and return its continuations.

        If a process dies over a group, or cannot answer for all of it, each source is tried alone: only the one at
        fault fails. Nothing here keeps an answer while the next one is made.
        """
        answer = self._asked(group, greeting)
        if answer is None and len(group) > 1:
            return [task for one in group for task in self._hand_over([one], greeting)]
        if answer is None:
            answer = TaskAnswer([], [SliceFailed(task.source, ENDED, True) for task in group])
        following = _following(answer)
        if not self._is_over:
            self._answers.put(answer)
        return following

    def _asked(self, group: list[SourceTask], greeting: Greeting) -> TaskAnswer | None:
        """Return the answer of a process, None where it ended before it answered or says that it cannot.

        Raises BrokenInvariant where no process can be started.
        """
        process = self._process or self._started(greeting)
        if process is None or process.stdin is None or process.stdout is None:
            return TaskAnswer([], [])
        try:
            send(process.stdin, _encode(group))
            message = receive(process.stdout)
            if message == CANNOT:
                return None
            if message is not None:
                return _decoder().decode(message)
        except (OSError, msgspec.MsgspecError):
            pass
        self._close()
        return None

    def _close(self) -> None:
        """Drop the process, whatever it is doing. The next group gets another one."""
        with self._starting:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            process.wait()

    def _started(self, greeting: Greeting) -> subprocess.Popen[bytes] | None:
        """Start the process, now that there is work for it; None when all is over. Raises BrokenInvariant, OSError."""
        with self._starting:
            if self._is_over:
                return None
            import subprocess  # a pass with little to do starts none

            process = subprocess.Popen(  # noqa: S603 - our own program
                own_command(module="recollect.ingest.worker.pool"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            self._process = process
        if process.stdin is None or process.stdout is None:
            raise BrokenInvariant("a worker process has pipes")
        send(process.stdin, _encode(greeting))
        if receive(process.stdout) != READY and not self._is_over:
            raise BrokenInvariant("it ended before it was ready")
        return process


def _worker(greeting: Greeting) -> Worker:
    from recollect.ingest.worker.worker import Worker  # with parsers and detectors: who shares the work needs none

    return Worker(greeting.keys, Path(greeting.archive_folder), greeting.privacy, greeting.forgotten)


def _following(answer: TaskAnswer) -> list[SourceTask]:
    return [done.next for done in answer.done if done.next is not None]


READY = b"ready"
"""What a worker says when it can take tasks."""
CANNOT = b""
"""What it says where it cannot answer for a group as a whole."""
MAX_MESSAGE_BYTES = 1 << 30
"""A longer answer is none: both sides would hold it whole."""
_COLLECT_EVERY = 16
"""Slices leave no cycles behind but those of rare exceptions; collecting after every few of them is enough."""


class Greeting(msgspec.Struct, frozen=True):
    """The first message to a worker process."""

    keys: HomeKeys
    archive_folder: str
    formats: dict[str, dict[str, Any]] = {}
    """The agents that the configuration describes."""
    privacy: PrivacyConfig = PrivacyConfig()
    forgotten: Forgotten = NOTHING_FORGOTTEN


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    gc.disable()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's library starts them, and nothing here multiplies
    bound_heaps()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    first = receive(source)
    if first is None:
        return
    greeting = msgspec.msgpack.decode(first, type=Greeting)
    define(greeting.formats)
    worker = _worker(greeting)
    decode = msgspec.msgpack.Decoder(list[SourceTask]).decode
    send(sink, READY)
    served = 0
    while (message := receive(source)) is not None:
        send(sink, _encoded(worker.run(decode(message))))
        served += 1
        if served % _COLLECT_EVERY == 0:
            gc.collect()
            gc.freeze()  # what stays between slices is loaded code and tables: nobody looks through it again
            give_back_memory()  # that a large slice took


def _encoded(answer: TaskAnswer) -> bytes:
    try:
        message = msgspec.msgpack.encode(answer)
    except (ValueError, OverflowError, MemoryError, TypeError):
        return CANNOT
    return message if len(message) <= MAX_MESSAGE_BYTES else CANNOT


if __name__ == "__main__":
    main()
