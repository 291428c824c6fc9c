"""Helper processes of the daemon that answer concurrent requests.

Python runs one thread at a time, so a daemon that answers eight clients in threads uses one processor, and its own work
holds every answer up. A lone request is answered in the daemon itself. Where a second comes meanwhile, processes are
started, one for each processor, and answer from then on; when nobody has asked for a while they end.

Between the two go frames: their length in four bytes, then the notes on what is not ingested yet, as JSON, a line end,
and the line of the request; back comes the line of the answer.
"""

from __future__ import annotations

import gc
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING

import msgspec

from recollect.memory import Memory
from recollect.processes import own_command
from recollect.serve.requests import Responder

if TYPE_CHECKING:
    from recollect.memory import Keeper

MOST = 4
HERE_AT_ONCE = 2
IDLE_S = 30.0
"""Without a request for so long they end."""
LOOK_S = 0.5
"""How often who waits for one looks whether there is any left."""
_LENGTH_BYTES = 4
GARBAGE_AT = 20_000
"""An answer makes thousands of objects and no cycles: looking for these after every 700 takes a twentieth of it."""


class Answerers:
    """Answers requests here or in processes of its own. Safe from many threads."""

    def __init__(self, here: Responder, memory: Memory, keeper: Keeper, log: Callable[[str], None]) -> None:
        self._here = here
        self._command = own_command(str(memory.home), str(keeper.started_at), module="recollect.serve.answer_processes")
        self._keeper = keeper
        self._log = log
        self._idle: queue.SimpleQueue[_Answerer] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(HERE_AT_ONCE)
        self._at_work = 0
        """Responder that are being answered."""
        self._started: list[_Answerer] = []
        self._asked_at = 0.0
        self._is_closed = False

    def answer(self, line: bytes, tell: Callable[[bytes], None]) -> bytes:
        """Return the line that answers one. tell: see `Responder.answer`."""
        with self._lock:
            self._at_work += 1
            self._asked_at = time.monotonic()
            if self._at_work > 1 and not self._started and not self._is_closed:
                self._start()
            is_helped = bool(self._started)
        try:
            with self._keeper.questions.answering():
                found = self._answered_apart(line) if is_helped else None
                if found is not None:
                    return found
                with self._turns:  # more threads at once only hold each other up
                    return self._here.answer(line, tell)
        finally:
            with self._lock:
                self._at_work -= 1

    def close(self) -> None:
        """End the processes; requests under way are answered here."""
        with self._lock:
            self._is_closed = True
            ending, self._started = self._started, []
        for one in ending:
            one.end()

    def _start(self) -> None:
        self._started = [_Answerer(self._command, self._idle.put) for _ in range(min(os.cpu_count() or 1, MOST))]
        threading.Thread(target=self._end_when_idle, name="answerers", daemon=True).start()

    def _end_when_idle(self) -> None:
        while True:
            time.sleep(IDLE_S / 4)
            with self._lock:
                if self._is_closed:
                    return
                if self._at_work or time.monotonic() - self._asked_at < IDLE_S:
                    continue
                ending, self._started = self._started, []
                while not self._idle.empty():
                    self._idle.get()
            for one in ending:
                one.end()
            return

    def _answered_apart(self, line: bytes) -> bytes | None:
        """Return the answer of the next process that is idle; None if there is none yet, or it has ended."""
        notes = self._keeper.settle()
        one = self._next()
        if one is None:
            return None
        try:
            answer = one.ask(msgspec.json.encode(notes) + b"\n" + line)
        except OSError as error:
            self._log(f"a process that answers has ended: {type(error).__name__}")
            one.end()
            with self._lock:  # where none is left, the next requests start some
                if one in self._started:
                    self._started.remove(one)
            return None
        self._idle.put(one)
        return answer

    def _next(self) -> _Answerer | None:
        while any(one.is_ready for one in self._started):
            with suppress(queue.Empty):
                return self._idle.get(timeout=LOOK_S)
        return None


class _Answerer:
    """One such process. ready: called with it once it can be asked."""

    def __init__(self, command: tuple[str, ...], ready: Callable[[_Answerer], None]) -> None:
        self._process = subprocess.Popen(  # noqa: S603  our own program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self.is_ready = False
        threading.Thread(target=self._wait, args=(ready,), name="answerer", daemon=True).start()

    def ask(self, frame: bytes) -> bytes:
        """Return its answer. Raises OSError where it has ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise BrokenPipeError
        try:
            write_frame(stdin, frame)
            answer = read_frame(stdout)
        except ValueError as error:  # the pipe was closed
            raise BrokenPipeError from error
        if answer is None:
            raise BrokenPipeError
        return answer

    def end(self) -> None:
        """Have it end, by closing what it reads from."""
        self.is_ready = False
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        threading.Thread(target=self._process.wait, name="answerer ending", daemon=True).start()

    def _wait(self, ready: Callable[[_Answerer], None]) -> None:
        with suppress(OSError, ValueError):
            if self._process.stdout is not None and read_frame(self._process.stdout) is not None:
                self.is_ready = True
                ready(self)


def write_frame(out: IO[bytes], frame: bytes) -> None:
    """Write one frame. Raises OSError."""
    out.write(len(frame).to_bytes(_LENGTH_BYTES, "big") + frame)
    out.flush()


def read_frame(source: IO[bytes]) -> bytes | None:
    """Return one frame, None at the end. Raises OSError."""
    length = source.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        return None
    size = int.from_bytes(length, "big")
    frame = source.read(size)
    return frame if len(frame) == size else None


def look_for_cycles_seldom() -> None:
    """Have Python look for garbage in cycles seldom, and never in what is there now."""
    gc.freeze()
    gc.set_threshold(GARBAGE_AT)


def main() -> None:
    """Answer requests until there are none any more. Arguments: the home, and when the daemon started."""
    home, started_at = sys.argv[1:]
    source, out = sys.stdin.buffer, sys.stdout.buffer
    with Memory.open() as memory:
        if str(memory.home) != home:
            return
        requests = Responder(memory, int(started_at))
        memory.searches_in_turn = True  # there is such a process for each processor
        memory.search("ready", sync=False)
        look_for_cycles_seldom()
        write_frame(out, b"")
        while (frame := read_frame(source)) is not None:
            notes, _, line = frame.partition(b"\n")
            told = msgspec.json.decode(notes, type=tuple[str, ...])
            memory.keeper = lambda told=told: told
            write_frame(out, requests.answer(line))


if __name__ == "__main__":
    main()
