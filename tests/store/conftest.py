"""A home, its store, its writer and its reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.store.home import Store
from recollect.store.reader import Reader
from recollect.store.writer import Writer


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store(home) as store:
        yield store


@pytest.fixture
def writer(store: Store) -> Iterator[Writer]:
    with store.writer(domains={"alpha": "work"}) as writer:
        yield writer


@pytest.fixture
def reader(store: Store, writer: Writer) -> Reader:
    return store.reader
