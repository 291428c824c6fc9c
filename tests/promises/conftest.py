"""The homes and the memory that the promises are tried on."""

from __future__ import annotations

from tests.ingest.conftest import world

__all__ = ["world"]
