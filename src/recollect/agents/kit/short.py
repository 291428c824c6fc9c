"""Text on its way into a state: bounded, and always encodable."""

from __future__ import annotations

from recollect.agents.kit.reading import MAX_NAME_CHARS

MAX_PATH_CHARS = 1000


def short(value: str, limit: int = MAX_NAME_CHARS) -> str:
    """Return the start of a text, with halves of surrogate pairs replaced. Compare with it what was kept so."""
    kept = value[:limit]
    return kept if kept.isascii() else kept.encode("utf-8", "replace").decode("utf-8")
