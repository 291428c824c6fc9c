"""A memory of agents in which things are learned and noted."""

from __future__ import annotations

from tests.capture.conftest import desk
from tests.ingest.conftest import world

__all__ = ["desk", "world"]
