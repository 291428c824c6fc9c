"""`memory.live`: keeps a memory fresh as its daemon, or asks the running one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from recollect.errors import RecollectError
from recollect.ingest.daemon_status import Card, Failure, LiveStatus, Place, ask_status, is_alive, read_card
from recollect.ingest.keeper.keeper import Keeper
from recollect.ingest.retention import RetentionFacet
from recollect.memory.facets import HomeFacet

CONFIGURATION_CHANGED = "the configuration was changed since it started: `recollect up --stop`, then start it again"


class LiveFacet(HomeFacet):
    """The daemon of one home: being it, and asking it."""

    @property
    def home(self) -> Path:
        """The memory's home."""
        return self._home.home

    def take_place(self) -> Place:
        """Become the one daemon of this home. Raises StoreLocked, which names the other one, StoreError."""
        return Place(self._home.home)

    def make_keeper(self, log: Callable[[str], None]) -> Keeper:
        """Return the keeper's loop, not started. From now on this memory's own reads wait for it."""
        from recollect.sharing.automatic import AutomaticSharing

        keeper = Keeper(self._home, now_us=self._now_us, log=log, share=AutomaticSharing(self._home, log))
        for attempts in keeper.attempts:
            attempts.persists = partial(self._tell, log)
        self._home.keeper = keeper.settle
        return keeper

    def _tell(self, log: Callable[[str], None], failure: Failure) -> None:
        """Keep in the audit, where `doctor` looks, that some work continues failing, and tell whom `[notify]` names."""
        from recollect.store.audit import add_audit

        told = {"work": failure.work, "code": failure.code, "times": failure.times}
        try:
            add_audit(self._home.home, "failure", told, at=self._now_us())
            problem = RetentionFacet(self._home).tell_failure(failure.work, code=failure.code, times=failure.times)
        except RecollectError as error:
            problem = str(error)
        if problem:
            log(f"that {failure.work} goes on failing could not be told: {problem}")

    def is_alive(self) -> bool:
        """Return whether a daemon is running: one look at its lock, nothing cached."""
        return is_alive(self._home.home)

    def is_kept(self) -> bool:
        """Return whether a daemon, in this process or another, keeps the memory fresh."""
        return self._home.keeper is not None or self.is_alive()

    def card(self) -> Card | None:
        """Return the running daemon's description of itself; None without a daemon."""
        return read_card(self._home.home)

    def looks_where(self, variables: Mapping[str, str]) -> bool:
        """Return whether a process with these variables, hashed (`client.variable_hashes`), looks for agents' folders
        where this one does."""
        from recollect.agents.registry import adapters_with
        from recollect.client import variable_hashes
        from recollect.ingest.quick_look import variables_of

        own, context = variable_hashes(self._home.env), self._home.look_context()
        names = variables_of(adapters_with(context.config.formats()).values(), context)
        return all(own.get(name) == variables.get(name) for name in names)

    def status(self) -> LiveStatus | None:
        """Ask the running daemon for its state; None without a daemon or an answer.

        A note lists configuration changes that take effect only after a restart.
        """
        told = ask_status(self._home.home)
        if told is None or not self._is_changed_since(told.started_at):
            return told
        import msgspec

        return msgspec.structs.replace(told, notes=(*told.notes, CONFIGURATION_CHANGED))

    def _is_changed_since(self, started_at: int) -> bool:
        path = self._home.config_path
        try:
            return path is not None and path.stat().st_mtime_ns // 1000 > started_at
        except OSError:
            return False
