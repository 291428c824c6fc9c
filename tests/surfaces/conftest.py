"""The homes and the memory that are asked from outside."""

from __future__ import annotations

from tests.ingest.conftest import world

__all__ = ["world"]
