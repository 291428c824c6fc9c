"""A memory with sessions to forget."""

from __future__ import annotations

from tests.capture.conftest import desk, small_steps
from tests.cli.conftest import recollect
from tests.ingest.conftest import world

__all__ = ["desk", "recollect", "small_steps", "world"]
