"""The side of a memory that tells what sessions mean. It never takes anything in."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.store.ports import Reader

if TYPE_CHECKING:
    from recollect.config import Config
    from recollect.distill.retro.report import Retro
    from recollect.memory.distilled.blaming import BlameAnswer, BlameQuestion
    from recollect.memory.distilled.deciding import DecisionsFacet
    from recollect.memory.distilled.running import DistillingFacet
    from recollect.model.digests import Digest
    from recollect.model.nodes import DecisionState
    from recollect.recall.decisions import DecisionsAnswer
    from recollect.store.distilled import DistilledReader, KeptNode
    from recollect.store.sqlite.distilled.reading import SqliteDistilledReader


class TellsMeaning(ABC):
    """Answers from what was distilled. `Memory` is one."""

    home: Path
    config: Config
    _lock: threading.RLock

    def __init__(self) -> None:
        self._distilled: SqliteDistilledReader | None = None

    @abstractmethod
    def reader(self) -> Reader:
        """Return the shared reader of the store."""

    def digest(self, uid: str) -> Digest | None:
        """Return the digest of a session by uid, a unique beginning of it or a citation; None where there is none."""
        return self.distilled().digest(uid.partition("#")[0]) if self._is_there() else None

    def nodes(
        self, *, kinds: Sequence[str] = (), repo: str = "", session: str = "", after: int | None = None,
        before: int | None = None, with_revoked: bool = False,
    ) -> Iterator[KeptNode]:  # fmt: skip
        """Yield nodes with when they were recorded and revoked: session by session, each in canonical order.

        kinds: of `model.nodes.NODE_KINDS`, empty: all. session: exact uid. after/before: UTC microseconds,
        [after, before).
        """
        from recollect.store.distilled import NodeFilter

        if not self._is_there():
            return iter(())
        repos, sessions = ((repo,) if repo else ()), ((session,) if session else ())
        return self.distilled().nodes(NodeFilter(tuple(kinds), repos, sessions, after, before, with_revoked))

    def decisions(
        self, query: str = "", *, repo: str = "", path: str = "", at: int | None = None,
        states: Sequence[DecisionState] = (), limit: int | None = None,
    ) -> DecisionsAnswer:  # fmt: skip
        """Return what was decided, the newest first, see `DecisionsFacet.find`, which can ask for more."""
        from recollect.recall.decisions import DecisionQuestion

        repos = (repo,) if repo else ()
        question = DecisionQuestion(repos, path, at, states=tuple(states), words=tuple(query.split()))
        return self.decisions_facet.find(question, limit=limit)

    def retro(self, *, since: int, until: int, repos: tuple[str, ...] = (), sync: bool = True) -> Retro:
        """Return a span in retrospect: [since, until), UTC microseconds; repos as in `EventFilter`.

        sync: take in what has changed and analyse what is due first. Raises ConfigError, StoreError.
        """
        from recollect.distill.retro.building import Span
        from recollect.memory.distilled.freshening import freshen
        from recollect.memory.distilled.retrospect import make_retro

        return make_retro(self, Span(since, until, repos), notes=freshen(self) if sync else ())

    def blame(self, question: BlameQuestion, *, sync: bool = True) -> BlameAnswer:
        """Return which recorded edit put a line into a file, or that nothing proves it.

        sync: take in and analyse what has changed first, sessions under way too. Raises ConfigError, StoreError.
        """
        from recollect.memory.distilled.blaming import answer_blame
        from recollect.memory.distilled.freshening import freshen

        notes = freshen(self, with_under_way=True, repos=tuple(f"={r}" for r in question.repos)) if sync else ()
        return answer_blame(self, question, notes=notes)

    @abstractmethod
    def refresh(self) -> tuple[str, ...]:
        """Take in what has changed."""

    @property
    @abstractmethod
    def decisions_facet(self) -> DecisionsFacet:
        """Ask for decisions, and add one that was taken elsewhere."""

    @property
    @abstractmethod
    def distilling(self) -> DistillingFacet:
        """Analyse sessions."""

    def distilled(self) -> DistilledReader:
        """Return the shared reader of what was distilled; an empty memory is made where there is none."""
        from recollect.store.sqlite.distilled.reading import SqliteDistilledReader

        self.reader()
        with self._lock:
            if self._distilled is None:
                self._distilled = SqliteDistilledReader(self.home)
            return self._distilled

    def _close_distilled(self) -> None:
        if self._distilled is not None:
            self._distilled.close()
            self._distilled = None

    def _is_there(self) -> bool:
        return (self.home / "memory.db").exists()
