"""Keys that are the same in every test, and what is made with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.archive.archive import Archive
from recollect.archive.keys import HomeKeys, home_keys
from recollect.archive.sealer import Sealer


@pytest.fixture(scope="session")
def keys() -> HomeKeys:
    return home_keys(b"not a secret: the tests' data ke")


@pytest.fixture(scope="session")
def other_keys() -> HomeKeys:
    return home_keys(b"not a secret: another home's key")


@pytest.fixture(scope="session")
def sealer(keys: HomeKeys) -> Sealer:
    return Sealer(keys)


@pytest.fixture
def archive(tmp_path: Path, keys: HomeKeys) -> Iterator[Archive]:
    archive = Archive.open(tmp_path / "archive", keys)
    yield archive
    archive.close()
