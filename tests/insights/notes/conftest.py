"""Notes in a database of their own, and a clock that only moves when it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.store.sqlite.notes.store import SqliteNotes, SqliteNoteWriter

Writing = Callable[[], "contextmanager[SqliteNoteWriter]"]


@pytest.fixture
def notes(tmp_path: Path) -> SqliteNotes:
    """Return the notes of an empty memory."""
    return SqliteNotes(tmp_path / "memory")


@pytest.fixture
def writer(notes: SqliteNotes) -> Iterator[SqliteNoteWriter]:
    """Return one transaction, kept at the end."""
    with notes.writing() as writing:
        yield writing
