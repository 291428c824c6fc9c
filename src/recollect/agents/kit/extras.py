"""Fields that no parser knows are data: kept searchable, so that an agent's update shows instead of vanishing."""

from __future__ import annotations

from typing import Any


def unknown_fields(value: dict[str, Any], known: frozenset[str]) -> dict[str, Any] | None:
    """Return the fields of a value that are not known and say something; None if there are none, which is the rule."""
    if value.keys() <= known:
        return None
    return {k: v for k, v in value.items() if k not in known and v not in (None, "", [], {})} or None
