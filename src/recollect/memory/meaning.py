"""The side of a memory that tells what sessions mean."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.clock import now_us
from recollect.config import Config
from recollect.memory.ingest import TakesIn
from recollect.paths import DATABASE_NAME
from recollect.store.connection import has_database

if TYPE_CHECKING:
    from recollect.archive.archive import Archive
    from recollect.archive.keys import HomeKeys
    from recollect.ingest.report import SyncReport
    from recollect.ingest.sync import SyncRequest
    from recollect.insights.retro.report import Retro
    from recollect.memory.insights.blame import BlameAnswer, BlameQuestion
    from recollect.memory.insights.decisions import DecisionsFacet
    from recollect.memory.insights.distilling import DistillingFacet
    from recollect.memory.insights.freshness import Telling
    from recollect.memory.known_names import KnownNames
    from recollect.model.insights.digests import Digest, PublishedDigest
    from recollect.model.insights.nodes import DecisionState
    from recollect.model.sessions import Session
    from recollect.recall.decisions import DecisionsAnswer
    from recollect.store.insights import InsightReader, KeptNode
    from recollect.store.writer import Writer


class TellsMeaning(TakesIn):
    """Answers from what was distilled, and has it distilled. `Memory` adds the other questions."""

    def __init__(self, home: Path, config: Config, env: Mapping[str, str]) -> None:
        super().__init__(home, config, env)
        self._distilled: InsightReader | None = None

    @abstractmethod
    def session(self, uid: str) -> Session:
        """Return a session. Raises UnknownName."""

    @abstractmethod
    def known_names(self, folders: Sequence[str] | None = None) -> KnownNames:
        """Return what says which agents, repositories and the like there are."""

    def digest(self, uid: str) -> Digest | None:
        """Return the digest of a session by uid, a unique beginning of it or a citation; None where there is none."""
        return self.distilled().digest(uid.partition("#")[0]) if self._is_there() else None

    def nodes(
        self, *, kinds: Sequence[str] = (), repo: str = "", session: str = "", after: int | None = None,
        before: int | None = None, with_revoked: bool = False,
    ) -> Iterator[KeptNode]:  # fmt: skip
        """Yield nodes with when they were recorded and revoked: session by session, each in canonical order.

        kinds: of `model.insights.nodes.NODE_KINDS`, empty: all. session: exact uid. after/before: UTC microseconds,
        [after, before).
        """
        from recollect.store.insights import NodeFilter

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

    def retro(
        self, *, since: int, until: int, repos: tuple[str, ...] = (), sync: bool = True,
        tell: Telling = lambda _: None, zone: tzinfo = UTC,
    ) -> Retro:  # fmt: skip
        """Return a span in retrospect: [since, until), UTC microseconds; repos as in `EventFilter`. zone: of its days.

        sync: take in what has changed and analyse what is due first. tell: told what is being done now. Raises
        UnknownName for a repository, ConfigError, StoreError.
        """
        from recollect.insights.retro.builder import Span
        from recollect.memory.insights.freshness import freshen
        from recollect.memory.insights.retro import make_retro
        from recollect.store.rows import EventFilter

        notes = freshen(self, tell=tell) if sync else ()
        self.known_names().filter(EventFilter(repos=repos))
        tell("looking back")
        return make_retro(self, Span(since, until, repos, zone), notes=notes)

    def blame(self, question: BlameQuestion, *, sync: bool = True, tell: Telling = lambda _: None) -> BlameAnswer:
        """Return which recorded edit put a line into a file, or that nothing proves it.

        sync: take in and analyse what has changed first, sessions under way too. tell: told what is being done now.
        Raises ConfigError, StoreError.
        """
        from recollect.memory.insights.blame import answer_blame
        from recollect.memory.insights.freshness import freshen

        repos = tuple(f"={repo}" for repo in question.repos)
        notes = freshen(self, with_under_way=True, repos=repos, tell=tell) if sync else ()
        tell("looking through recorded edits")
        return answer_blame(self, question, notes=notes)

    def exported(self, digest: Digest) -> dict[str, str]:
        """Return what another program needs to join its records to a session, by variable (docs/correlation.md)."""
        from recollect.insights.correlation import exported

        return exported(digest, self.config.infra.tools, str((self.home / DATABASE_NAME).absolute()))

    def published(self, digest: Digest) -> PublishedDigest:
        """Return a digest by schema 2, with the share of the configured infrastructure."""
        from recollect.insights.correlation import overhead_share
        from recollect.model.insights.digests import published

        return published(digest, overhead_share(digest, self.config.infra.tools))

    @property
    def decisions_facet(self) -> DecisionsFacet:
        """Ask for decisions, and add one that was taken elsewhere."""
        from recollect.memory.insights.decisions import DecisionsFacet

        return DecisionsFacet(self, now_us)

    @property
    def distilling(self) -> DistillingFacet:
        """Analyse sessions: digests, signals, decisions."""
        from recollect.memory.insights.distilling import DistillingFacet

        return DistillingFacet(self, now_us)

    def _distill(self, opened: tuple[Writer, Archive, HomeKeys], request: SyncRequest, report: SyncReport) -> None:
        writer = opened[0]
        if not self.config.distill.enabled:
            # What changed is known when it is switched on again, and the change log need not keep it until then.
            if writer.distilled.has_changes():
                with writer.transaction():
                    writer.distilled.note_changes()
            return
        if report.state == "interrupted":
            return
        from recollect.ingest.insights.run import distill_after

        distill_after(self, opened, request, report)

    def distilled(self) -> InsightReader:
        """Return the shared reader of what was distilled; an empty memory is made where there is none."""
        from recollect.store.insights import InsightReader

        self.reader()
        with self._lock:
            if self._distilled is None:
                self._distilled = InsightReader(self.home)
            return self._distilled

    def _close_distilled(self) -> None:
        if self._distilled is not None:
            self._distilled.close()
            self._distilled = None

    def _is_there(self) -> bool:
        return has_database(self.home)
