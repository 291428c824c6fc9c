"""A home, its writer and its reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.store.sqlite import SqliteReader, SqliteWriter, open_reader, open_writer


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def writer(home: Path) -> Iterator[SqliteWriter]:
    with open_writer(home, domains={"alpha": "work"}, synchronous="NORMAL") as writer:
        yield writer


@pytest.fixture
def reader(home: Path, writer: SqliteWriter) -> Iterator[SqliteReader]:
    with open_reader(home, None, None) as reader:
        yield reader
