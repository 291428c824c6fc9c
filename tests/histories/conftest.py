"""The homes and the memory that histories are played on."""

from __future__ import annotations

from tests.ingest.conftest import world

__all__ = ["world"]
