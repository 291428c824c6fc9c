"""Fixtures of the search tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recall.memories import MemoryOfTests


@pytest.fixture
def memory(tmp_path: Path) -> MemoryOfTests:
    """Return an empty memory."""
    return MemoryOfTests(tmp_path / "text")
