"""The side of a memory that holds what was learned, noted and documented: one facet for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.clock import now_us
from recollect.errors import RecollectError
from recollect.ingest.keeper.instance import is_alive
from recollect.memory.meaning import TellsMeaning

if TYPE_CHECKING:
    from recollect.archive.archive import Archive
    from recollect.archive.keys import HomeKeys
    from recollect.ingest.report import ProgressCallback, SyncReport
    from recollect.ingest.sync import SyncRequest
    from recollect.memory.agents import AgentsFacet
    from recollect.memory.documents import DocumentsFacet
    from recollect.memory.learnings.facet import LearnFacet
    from recollect.memory.notes.facet import NotesFacet
    from recollect.store.writer import Writer

ASK_FOR_S = 20.0
"""A sync asks a model no longer than this; what is left the next one does."""


class HoldsLearned(TellsMeaning):
    """Adds the facets of agents and of what was noted to what tells what sessions mean; `Memory` adds the rest."""

    @property
    def agents(self) -> AgentsFacet:
        """The agents this version knows."""
        from recollect.memory.agents import AgentsFacet

        return AgentsFacet(self.reader, self.config, self.env)

    @property
    def notes(self) -> NotesFacet:
        """Diary, facts, tags, and the runs that can be undone."""
        from recollect.memory.notes.facet import NotesFacet

        return NotesFacet(self, now_us)

    @property
    def learn(self) -> LearnFacet:
        """Learn from sessions, ask what was learned, and say what of it is right."""
        from recollect.memory.learnings.facet import LearnFacet

        return LearnFacet(self, now_us)

    @property
    def documents(self) -> DocumentsFacet:
        """Project documents: the folders that are looked after, and what of them can be found."""
        from recollect.memory.documents import DocumentsFacet

        return DocumentsFacet(self, now_us)

    def _distill(self, opened: tuple[Writer, Archive, HomeKeys], request: SyncRequest, report: SyncReport) -> None:
        """Analyse what was taken in, then learn from it."""
        super()._distill(opened, request, report)
        if report.state == "interrupted":
            return
        from recollect.ingest.learnings.run import learn_after

        learn_after(self, opened, request, report)
        self._index_learned(opened[0], report)
        self.learn.keep_user_file(report.notes)

    def _index_learned(self, writer: Writer, report: SyncReport) -> None:
        """What was just learned is found at once, not only after the next pass."""
        reader = self.reader()
        if not reader.entries.changes():
            return
        from recollect.errors import IndexUnavailable
        from recollect.index.text.refresh import index_entries
        from recollect.index.text.writer import IndexWriterSet

        try:
            with IndexWriterSet.open(self._folders.index) as index:
                index_entries(writer, reader, index)
        except IndexUnavailable as error:
            report.state = "degraded"
            report.notes.append(f"what was learned could not be indexed: {error}; the next sync does it")

    def sync(
        self, *, agents: Sequence[str] = (), force: bool = False, progress: ProgressCallback | None = None
    ) -> SyncReport:
        """Take in everything new or changed, see `TakesIn.sync`; then ask the model that is configured, for a moment.

        Where a daemon is at work, it asks.
        """
        report = super().sync(agents=agents, force=force, progress=progress)
        if report.state == "done" and self.learn.asks_model and self.keeper is None and not is_alive(self.home):
            self._ask_after(report)
        return report

    def _ask_after(self, report: SyncReport) -> None:
        from recollect.ingest.sync import interruptible

        try:
            with interruptible() as stop:
                answered = self.learn.ask(max_seconds=ASK_FOR_S, should_stop=stop.is_set)
        except RecollectError as error:
            report.notes.append(f"no model was asked: {error}")
            return
        report.new_learnings += answered.report.new
        if answered.failure is not None:
            report.notes.append(f"the model was not asked about everything: {answered.failure}; nothing is lost")
        if answered.report.changed:
            self.learn.keep_user_file(report.notes)
            self._make_ready(report)
