"""`memory.upkeep`: verify, doctor, export, rebuild."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import Literal, Protocol

from recollect.archive.archive import Archive
from recollect.config import Config
from recollect.errors import UsageError
from recollect.memory.embedding import EmbeddingFacet
from recollect.model.sessions import Session
from recollect.pipeline.report import SyncReport
from recollect.store.distilled import DistilledReader, NodeFilter
from recollect.store.ports import Reader
from recollect.upkeep.doctor import Doctor
from recollect.upkeep.export import Stored, export, raw_bytes, raw_files, render
from recollect.upkeep.reports import DistillHealth, DoctorReport, Exported, ExportFormat, VerifyReport
from recollect.upkeep.verify import verify

Progress = Callable[[int, int], None]


class HasHealth(Protocol):
    """What tells how far distilling is."""

    def health(self) -> DistillHealth: ...


class OpenHome(Protocol):
    """What upkeep needs of an open memory."""

    home: Path
    config: Config
    env: Mapping[str, str]

    @property
    def embedding(self) -> EmbeddingFacet: ...
    @property
    def distilling(self) -> HasHealth: ...
    def reader(self) -> Reader: ...
    def distilled(self) -> DistilledReader: ...
    def archive(self) -> AbstractContextManager[Archive]: ...
    def session(self, uid: str) -> Session: ...
    def rebuild(self, what: Literal["index", "all"], *, progress: Progress | None = None) -> SyncReport: ...


class UpkeepFacet:
    """Looks after the memory: proves it complete, tells its health, gives sessions back, derives it anew."""

    def __init__(self, memory: OpenHome) -> None:
        self._memory = memory

    def verify(self, *, progress: Progress | None = None) -> VerifyReport:
        """Read every stored byte back, recompute every hash and the completeness ledger."""
        reader = self._memory.reader()
        if next(reader.ledgers(), None) is None:  # nothing was ever taken in: there is no archive, and no key either
            return VerifyReport(True, 0, 0, 0, 0, 0, 0, 0, (), (), 0.0)
        with self._memory.archive() as archive:
            kept = (item.node for item in self._memory.distilled().nodes(NodeFilter(with_revoked=True)))
            added = (item.decision for item in self._memory.distilled().decisions() if item.decision.origin == "added")
            return verify(reader, archive, nodes=chain(kept, added), progress=progress)

    def doctor(self) -> DoctorReport:
        """Run every health check now. Never raises for what it finds; creates nothing."""
        m = self._memory
        distilled = m.distilling.health
        return Doctor(m.home, m.config, m.env, m.reader, vectors=m.embedding.coverage, distilled=distilled).run()

    def export(
        self,
        uid: str,
        *,
        format: ExportFormat = "raw",  # noqa: A002 (the word of the command line)
        out: Path,
        revision: int | None = None,
    ) -> tuple[Exported, ...]:
        """Write a session into a folder, see `recollect.upkeep.export.export`."""
        session = self._memory.session(uid)
        with self._memory.archive() as archive:
            return export(self._stored(), archive, session, form=format, out=out, revision=revision)

    def export_bytes(
        self,
        uid: str,
        *,
        format: ExportFormat = "raw",  # noqa: A002 (the word of the command line)
        revision: int | None = None,
    ) -> Iterator[bytes]:
        """Yield one session as bytes: for `raw` exactly those of its transcript.

        Raises UsageError when nothing of the session is archived.
        """
        session = self._memory.session(uid)
        reader = self._memory.reader()
        if format != "raw":
            yield from render(self._stored(), session, format)
            return
        files = raw_files(reader, session, revision=revision)
        if not files:
            raise UsageError(f"no transcript of {session.session_uid} is archived")
        with self._memory.archive() as archive:
            yield from raw_bytes(reader, archive, files[0])

    def _stored(self) -> Stored:
        return Stored(self._memory.reader(), self._memory.distilled)

    def rebuild(self, what: Literal["index", "all"] = "all", *, progress: Progress | None = None) -> SyncReport:
        """Derive the index, or database and index, anew from what is kept; then take in what is new.

        Raises StoreLocked when another process is ingesting.
        """
        return self._memory.rebuild(what, progress=progress)
