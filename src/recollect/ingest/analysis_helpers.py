"""Shares sessions among helper processes and returns the results in order."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import IO

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.keys import HomeKeys
from recollect.config import Config
from recollect.errors import RecollectError
from recollect.ingest.analysis import Analysed, Analyst, SessionTask
from recollect.ingest.worker.slices import receive, send
from recollect.privacy.redact import redactor_of
from recollect.processes import own_command
from recollect.store.insight_feed import SessionFeed

_GARBAGE_AT = 20_000
"""New objects from which on Python looks for garbage while many sessions are analysed: more would cost 30 MB."""
_COLLECT_EVERY = 8
"""Sessions after which a helper looks for garbage: analysing makes none."""
_AHEAD = 64
"""Analyses that wait for one before them, at most: what is held in memory, some 100 kB each. While one process is at a
long session, the others continue."""


def shared(
    wanted: Sequence[SessionTask], analyst: Analyst, greeting: AnalysisGreeting, *, helpers: int,
    spent: Callable[[float], None] = lambda _seconds: None,
) -> Generator[Analysed]:  # fmt: skip
    """Yield the result of each session, in order. This process analyses too; closing ends the helpers at once.

    A dead helper's session is analysed again here: only time is lost. spent: told each helper's CPU seconds when it
    ends. Raises what `Analyst.analyse` raises.
    """
    board = _Board(wanted)
    running = [_HelperProcess(board, greeting) for _ in range(helpers)]
    before, is_frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    if helpers and before[0] > _GARBAGE_AT:
        gc.set_threshold(_GARBAGE_AT, *before[1:])
    if not is_frozen:
        gc.freeze()  # loaded code and rules: to look through them takes a twentieth of a second each time
    try:
        while (turn := board.next_turn()) is not None:
            if isinstance(turn, Analysed):
                yield turn
            else:
                board.put(turn, analyst.analyse(board.wanted[turn]))
    finally:
        gc.set_threshold(*before)
        if not is_frozen:
            gc.unfreeze()
        board.stop()
        for helper in running:
            helper.end()
            spent(helper.cpu_seconds)


class _Board:
    """The sessions to analyse, and finished results. Thread safe."""

    def __init__(self, wanted: Sequence[SessionTask]) -> None:
        self.wanted = wanted
        self._fresh = 0
        self._given_back: list[int] = []
        self._done: dict[int, Analysed] = {}
        self._yielded = 0
        self._is_stopped = False
        self._changed = threading.Condition()

    def next_turn(self) -> Analysed | int | None:
        """Return the next result in order, else a session to analyse here, else wait; None: all were given."""
        with self._changed:
            while True:
                if self._yielded in self._done:
                    self._yielded += 1
                    self._changed.notify_all()
                    return self._done.pop(self._yielded - 1)
                if self._yielded == len(self.wanted):
                    return None
                taken = self._take(for_here=True)
                if taken is not None:
                    return taken
                self._changed.wait()

    def take(self) -> int | None:
        """Return a session for a helper, None when nothing is left for one. Waits while enough is done ahead."""
        with self._changed:
            while not self._is_stopped and self._yielded < len(self.wanted):
                taken = self._take(for_here=False)
                if taken is not None:
                    return taken
                if self._fresh == len(self.wanted):
                    return None
                self._changed.wait()
            return None

    def put(self, number: int, analysed: Analysed) -> None:
        """Keep a session's result until its turn."""
        with self._changed:
            self._done[number] = analysed
            self._changed.notify_all()

    def give_back(self, number: int) -> None:
        """Return a session to the run itself."""
        with self._changed:
            self._given_back.append(number)
            self._changed.notify_all()

    def stop(self) -> None:
        """Give out nothing more."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _take(self, *, for_here: bool) -> int | None:
        if for_here and self._given_back:
            return self._given_back.pop()
        if self._fresh < min(len(self.wanted), self._yielded + _AHEAD):
            self._fresh += 1
            return self._fresh - 1
        return None


class _HelperProcess:
    """One helper process and the thread that feeds it."""

    def __init__(self, board: _Board, greeting: AnalysisGreeting) -> None:
        self._board = board
        self.cpu_seconds = 0.0
        """Up to its last answer, its start included."""
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            own_command(module="recollect.ingest.analysis_helpers"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._thread = threading.Thread(target=self._feed, args=(greeting,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End the process at once: it has written nothing."""
        self._process.kill()
        self._process.wait()
        self._thread.join()

    def _feed(self, greeting: AnalysisGreeting) -> None:
        source, sink = self._process.stdout, self._process.stdin
        number: int | None = None
        try:
            if source is None or sink is None:
                return
            send(sink, _encode(greeting))
            while (number := self._board.take()) is not None:
                analysed = self._ask(source, sink, self._board.wanted[number])
                if analysed is None:
                    self._board.give_back(number)
                else:
                    self._board.put(number, analysed)
        except (OSError, ValueError):
            if number is not None:
                self._board.give_back(number)
        finally:
            for pipe in (source, sink):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def _ask(self, source: IO[bytes], sink: IO[bytes], wanted: SessionTask) -> Analysed | None:
        send(sink, _encode(wanted))
        message = receive(source)
        if message is None:
            raise BrokenPipeError("the helper ended")
        answer = _decode(message)
        self.cpu_seconds = answer.cpu_seconds
        return answer.analysed


class AnalysisGreeting(msgspec.Struct, frozen=True):
    """The first message to a helper."""

    keys: HomeKeys
    home: str
    archive_folder: str
    config: Config


class AnalysisAnswer(msgspec.Struct, frozen=True):
    """What a helper says of one session; analysed None: it gives it back. cpu_seconds: of its process so far."""

    analysed: Analysed | None
    cpu_seconds: float


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(AnalysisAnswer).decode


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    gc.disable()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    first = receive(source)
    if first is None:
        return
    greeting = msgspec.msgpack.decode(first, type=AnalysisGreeting)
    redactor = redactor_of(greeting.keys.marker_key, greeting.config.privacy)
    with (
        Archive.open(Path(greeting.archive_folder), greeting.keys, read_only=True) as archive,
        SessionFeed(Path(greeting.home), archive, redactor) as feed,
    ):
        analyst = Analyst(feed, greeting.config)
        decode = msgspec.msgpack.Decoder(SessionTask).decode
        for served in count(1):
            if (message := receive(source)) is None:
                break
            analysed = _analysed(analyst, decode(message))
            send(sink, _encode(AnalysisAnswer(analysed, time.process_time())))
            if served % _COLLECT_EVERY == 1:
                gc.collect()
                gc.freeze()  # what stays between sessions is loaded code and rules


def _analysed(analyst: Analyst, wanted: SessionTask) -> Analysed | None:
    """Return a session's result; None if the run must look itself: an error, or no such session."""
    try:
        found = analyst.analyse(wanted)
    except RecollectError:
        return None
    return found if found != Analysed(wanted.uid) else None


if __name__ == "__main__":
    main()
