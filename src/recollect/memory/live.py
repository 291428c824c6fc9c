"""`memory.live`: keep a memory fresh as its daemon, or ask the one that does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recollect.errors import RecollectError
from recollect.ingest.keeper.client import ask_status
from recollect.ingest.keeper.idle_work import Between, WorkingMemory
from recollect.ingest.keeper.instance import Card, Place, is_alive, read_card
from recollect.ingest.keeper.keeper import Keeper, LiveMemory

if TYPE_CHECKING:
    from recollect.ingest.keeper.status import Failure, LiveStatus
    from recollect.memory.maintenance.facet import UpkeepFacet


CONFIGURATION_CHANGED = "the configuration was changed since it started: `recollect up --stop`, then start it again"


class KeptMemory(WorkingMemory, LiveMemory, Protocol):
    """What the facet needs of an open memory."""

    keeper: Callable[[], tuple[str, ...]] | None
    config_path: Path | None

    @property
    def upkeep(self) -> UpkeepFacet: ...


class LiveFacet:
    """The daemon of one home, from inside and from outside."""

    def __init__(self, memory: KeptMemory, *, now_us: Callable[[], int]) -> None:
        self._memory = memory
        self._now_us = now_us

    @property
    def home(self) -> Path:
        """The memory's home."""
        return self._memory.home

    def take_place(self) -> Place:
        """Become the one daemon of this home. Raises StoreLocked naming the other one, StoreError."""
        return Place(self._memory.home)

    def make_keeper(self, log: Callable[[str], None]) -> Keeper:
        """Return the loop, not started; this memory's own reads wait for it from now on."""
        between = Between(self._memory, sweep=self._memory.upkeep.retention.sweep, now_us=self._now_us, log=log)
        keeper = Keeper(self._memory, between, now_us=self._now_us, log=log)
        for attempts in keeper.attempts:
            attempts.persists = partial(self._tell, log)
        self._memory.keeper = keeper.settle
        return keeper

    def _tell(self, log: Callable[[str], None], failure: Failure) -> None:
        """Keep in the audit, where `doctor` looks, that some work goes on failing, and tell whom `[notify]` names."""
        from recollect.store.audit import add_audit

        told = {"work": failure.work, "code": failure.code, "times": failure.times}
        try:
            add_audit(self._memory.home, "failure", told, at=self._now_us())
            problem = self._memory.upkeep.retention.tell_failure(failure.work, code=failure.code, times=failure.times)
        except RecollectError as error:
            problem = str(error)
        if problem:
            log(f"that {failure.work} goes on failing could not be told: {problem}")

    def is_alive(self) -> bool:
        """Tell whether a daemon is at work: one look at its lock, nothing remembered."""
        return is_alive(self._memory.home)

    def is_kept(self) -> bool:
        """Tell whether a daemon, this process or another, does what keeps the memory fresh."""
        return self._memory.keeper is not None or self.is_alive()

    def card(self) -> Card | None:
        """Return what the daemon at work says of itself; None where there is none."""
        return read_card(self._memory.home)

    def status(self) -> LiveStatus | None:
        """Ask the daemon at work how it is; None where there is none or it does not answer.

        What was changed in the configuration since it started is a note: it does not count yet.
        """
        told = ask_status(self._memory.home)
        if told is None or not self._is_changed_since(told.started_at):
            return told
        import msgspec

        return msgspec.structs.replace(told, notes=(*told.notes, CONFIGURATION_CHANGED))

    def _is_changed_since(self, started_at: int) -> bool:
        path = self._memory.config_path
        try:
            return path is not None and path.stat().st_mtime_ns // 1000 > started_at
        except OSError:
            return False
