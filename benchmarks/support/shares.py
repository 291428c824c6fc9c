"""Where processor time goes: functions are measured by stage, each without the stages inside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

REST = "rest"
Functions = Mapping[str, Sequence[tuple[Any, str]]]
"""Classes or modules with the names of functions, by stage."""


class Shares:
    """The processor seconds of one thread, by stage."""

    def __init__(self, *, whole: Sequence[str] = ()) -> None:
        """whole: stages that keep the time of all that happens in them."""
        self.seconds: dict[str, float] = {}
        self._whole = frozenset(whole)
        self._stack = [REST]
        self._since = time.thread_time()

    def measured(self, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same, measured."""

        @wraps(call)
        def run(*args: Any, **named: Any) -> Any:
            if self._stack[-1] in self._whole:
                return call(*args, **named)
            self._turn()
            self._stack.append(stage)
            try:
                return call(*args, **named)
            finally:
                self._turn()
                self._stack.pop()

        return run

    @contextmanager
    def measuring(self, functions: Functions) -> Iterator[None]:
        """Measure these inside, from zero."""
        before = [(owner, name, owner.__dict__[name]) for places in functions.values() for owner, name in places]
        for stage, places in functions.items():
            for owner, name in places:
                setattr(owner, name, self.measured(stage, owner.__dict__[name]))
        self.seconds.clear()
        self._since = time.thread_time()
        try:
            yield
        finally:
            self._turn()
            for owner, name, call in before:
                setattr(owner, name, call)

    def percent(self) -> dict[str, float]:
        """Return the share of each stage, the largest first."""
        total = sum(self.seconds.values()) or 1.0
        ranked = sorted(self.seconds.items(), key=lambda item: -item[1])
        return {stage: round(100 * seconds / total, 1) for stage, seconds in ranked}

    def _turn(self) -> None:
        now = time.thread_time()
        stage = self._stack[-1]
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._since
        self._since = now
