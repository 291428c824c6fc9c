"""What every facet of notes needs of an open memory: where notes are kept, and redacting what is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recollect.config import Config
from recollect.errors import StoreError
from recollect.model.sessions import Session
from recollect.model.time import Period, required_time
from recollect.store.connection import has_database
from recollect.store.home import LazyRedactor
from recollect.store.notes import NoteReader, NoteStore, NoteWriter

if TYPE_CHECKING:
    from recollect.memory.agents import AgentsFacet
    from recollect.memory.known_names import KnownNames
    from recollect.memory.learnings.facet import LearnFacet
    from recollect.store.insights import InsightReader
    from recollect.store.reader import Reader


class OpenMemory(Protocol):
    """What the facets need of an open memory."""

    home: Path
    config: Config
    env: Mapping[str, str]
    zone: tzinfo

    @property
    def agents(self) -> AgentsFacet: ...
    @property
    def learn(self) -> LearnFacet: ...
    def reader(self) -> Reader: ...
    def distilled(self) -> InsightReader: ...
    def session(self, uid: str) -> Session: ...
    def known_names(self, folders: Sequence[str] | None = None) -> KnownNames: ...
    def writing(self) -> AbstractContextManager[object]: ...


class Noting:
    """Opens the notes of a memory and redacts what is to be kept in them. Safe from many threads."""

    def __init__(self, memory: OpenMemory, now_us: Callable[[], int]) -> None:
        self.memory = memory
        self.now_us = now_us
        self.store = NoteStore(memory.home)
        self._redactor = LazyRedactor(memory.home / "keys", memory.config.privacy)

    def is_there(self) -> bool:
        """Tell whether anything was ever kept."""
        return has_database(self.memory.home)

    def reading(self) -> AbstractContextManager[NoteReader]:
        """Open the notes for reading. An empty memory is made where there is none. Raises StoreError and its kinds."""
        return self.store.reading()

    def writing(self) -> AbstractContextManager[NoteWriter]:
        """Open one transaction. Raises StoreLocked, DiskFull, StoreError."""
        return self.store.writing()

    def clean(self, text: str) -> str:
        """Return a text without secrets. Raises KeyUnavailable."""
        if not text:
            return ""
        if not (self.memory.home / "keys").exists():
            with self.memory.writing():  # a memory in which nothing was ever taken in has no keys yet
                pass
        return self._redactor.redact_text(text)[0]

    def period(self, text: str, *, name: str) -> Period:
        """Return what a text about time means. Raises UsageError, which calls it by `name`."""
        return required_time(text, self.now_us(), self.memory.zone, name=name)

    def repository(self, name: str) -> str:
        """Return a repository of this name as it is spelled, "" for none. Raises UnknownName."""
        return self.memory.known_names().repository(name) if name else ""

    def session_uid(self, name: str) -> str:
        """Return the session that is meant: its uid, a beginning of it, or a citation. Raises UnknownName."""
        return self.memory.session(name).session_uid

    def must_be_there(self) -> None:
        """Raise StoreError where nothing was ever kept, so that asking makes no empty memory."""
        if not self.is_there():
            raise StoreError("nothing is stored yet", hint="`recollect sync` ingests what your agents wrote")
