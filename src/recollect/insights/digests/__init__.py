"""Sums a session up: how it came out and what it worked on."""

from __future__ import annotations

from recollect.insights.digests.builder import digest_of

__all__ = ["digest_of"]
