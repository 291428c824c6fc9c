"""Notes in a database of their own, and a clock that only moves when it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.store.notes import NoteStore, NoteWriter

Writing = Callable[[], "contextmanager[NoteWriter]"]


@pytest.fixture
def notes(tmp_path: Path) -> NoteStore:
    """Return the notes of an empty memory."""
    return NoteStore(tmp_path / "memory")


@pytest.fixture
def writer(notes: NoteStore) -> Iterator[NoteWriter]:
    """Return one transaction, kept at the end."""
    with notes.writing() as writing:
        yield writing
