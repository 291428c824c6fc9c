"""A memory with sessions to forget."""

from __future__ import annotations

from tests.capture.conftest import desk, small_steps
from tests.ingest.conftest import world

__all__ = ["desk", "small_steps", "world"]
