"""Keeps an open memory fresh beside the answers, never in front of them.

The memory is loaded, with all that it imports, when it is first needed: a client has its tools before.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from recollect.errors import RecollectError

if TYPE_CHECKING:
    from recollect.memory import Coverage, Memory

WAIT_S = 0.3
"""How long an answer waits for what has just changed; after that it says that it does not have it."""
FIRST_WAIT_S = 1.5
"""The same for the first answer of a process, which has the most to catch up with."""

DISTILL_EVERY_S = 60.0
LEARN_EVERY_S = 30.0
DISTILL_FOR_S = 2.0
"""A process analyses sessions that have ended at most this often and this long: other processes may ingest between."""
EMBED_EVERY_S = 60.0
"""A process has missing vectors made at most this often; they are made by a process of their own."""


class Freshness:
    """One memory, opened when it is first needed. open_memory: may raise; the next call tries again."""

    def __init__(
        self, open_memory: Callable[[], Memory], *, wait_s: float = WAIT_S, first_wait_s: float = FIRST_WAIT_S
    ) -> None:
        self._open = open_memory
        self._wait_s = wait_s
        self._first_wait_s = first_wait_s
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._memory: Memory | None = None
        self._running: threading.Thread | None = None
        self._ended = threading.Event()
        self._has_refreshed = False
        self._distilled_at = -DISTILL_EVERY_S
        self._learned_at = -LEARN_EVERY_S
        self._embedded_at = -EMBED_EVERY_S
        self._notes: tuple[str, ...] = ()
        self._coverage: Coverage | None = None

    def memory(self) -> Memory:
        """Return the memory, opened. Raises what opening it raises."""
        with self._opening:
            if self._memory is None:
                self._memory = self._open()
            return self._memory

    def start(self) -> None:
        """Begin to look for what has changed, if nothing does so already. Never raises."""
        with self._lock:
            if self._running is None and self._is_due():
                self._ended.clear()
                # A daemon: a process whose caller has gone must not stay for it, and may be killed at any instruction.
                self._running = threading.Thread(target=self._refresh, daemon=True)
                self._running.start()

    def refreshed(self) -> tuple[str, ...]:
        """Look for what has changed, wait a moment for it, and return what an answer must say of what is missing.

        Raises what opening the memory raises.
        """
        self.memory()
        self.start()
        is_fresh = self._ended.wait(self._wait_s if self._has_refreshed else self._first_wait_s)
        with self._lock:
            coverage, notes = self._coverage, self._notes
        if coverage is None:
            from recollect.memory import Coverage

            coverage = Coverage()
        sentence = coverage.sentence(is_refreshing=not is_fresh)
        told = [note for note in notes if note not in coverage.notes]
        return (*([sentence] if sentence else []), *told)

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is ingested any more; tell whether that is so."""
        with self._lock:
            running = self._running
        if running is not None:
            running.join(seconds)
        return running is None or not running.is_alive()

    def close(self) -> None:
        """Close the memory; it opens again by itself."""
        with self._opening:
            if self._memory is not None:
                self._memory.close()

    def _is_due(self) -> bool:
        try:
            return self._memory is None or self._memory.is_refresh_due()
        except RecollectError:
            return True  # the refresh says what is wrong

    def _refresh(self) -> None:
        notes: tuple[str, ...] = ()
        coverage = None
        try:
            memory = self.memory()
            notes = memory.refresh()
            coverage = memory.recall.coverage()
        except RecollectError as error:
            notes = (f"not refreshed: {error}",)
        except Exception as error:  # noqa: BLE001 - the loop that keeps fresh: what is stored is read on, and it says so
            traceback.print_exception(error, file=sys.stderr)
            notes = (f"not refreshed: a bug of Recollect, {type(error).__name__}",)
        finally:
            with self._lock:
                self._notes, self._coverage = notes, coverage
                self._has_refreshed = True
                self._running = None
            self._ended.set()
        if self._memory is not None and not self._memory.live.is_kept():  # a daemon does this better
            self._distill()
            self._learn()
            self._embed()

    def _distill(self) -> None:
        """Analyse sessions that have ended, a few at a time; no answer waits for that."""
        memory = self._memory
        if memory is None or not memory.config.distill.enabled:
            return
        if time.monotonic() - self._distilled_at < DISTILL_EVERY_S:
            return
        self._distilled_at = time.monotonic()
        with contextlib.suppress(RecollectError):  # the next sync tells what is wrong
            memory.distilling.run(max_seconds=DISTILL_FOR_S)

    def _learn(self) -> None:
        """Learn from sessions by the rules, a few at a time; a model is asked by `sync` and the daemon alone."""
        memory = self._memory
        if memory is None or time.monotonic() - self._learned_at < LEARN_EVERY_S:
            return
        self._learned_at = time.monotonic()
        with contextlib.suppress(RecollectError):  # the next sync tells what is wrong
            memory.learn.run(max_seconds=DISTILL_FOR_S, is_patient=True)

    def _embed(self) -> None:
        """Have missing vectors made; an answer does not wait for that either."""
        if self._memory is None or time.monotonic() - self._embedded_at < EMBED_EVERY_S:
            return
        self._embedded_at = time.monotonic()
        self._memory.embedding.start_in_background()
