"""Drift noted into a list: for parsers with a reading of their own. Named as in `kit.reading.Reading`.

Every function costs one comparison where nothing is new, which is the rule.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from recollect.model.records import Drift

MAX_NAME_CHARS = 80


def note_type(drift: list[Drift], name: str) -> None:
    """Note a record or block of a type that the parser does not know."""
    drift.append(Drift("type", name[:MAX_NAME_CHARS]))


def note_fields(drift: list[Drift], value: dict[str, Any], known: frozenset[str], where: str) -> dict[str, Any] | None:
    """Note the fields of an object that are not known and say something; return them, None if there are none."""
    if value.keys() <= known:
        return None
    found = unknown_fields(value, known)
    if found is not None:
        drift += [Drift("field", f"{where}.{name}"[:MAX_NAME_CHARS]) for name in found]
    return found


def note_value(drift: list[Drift], where: str, value: object, known: Set[str]) -> None:
    """Note a text that is none of the known ones. where: the object's type and the field."""
    if value and isinstance(value, str) and value not in known:
        drift.append(Drift("value", f"{where}={value}"[:MAX_NAME_CHARS]))


def unknown_fields(value: dict[str, Any], known: frozenset[str]) -> dict[str, Any] | None:
    """Return the fields of a value that are not known and say something; None if there are none, which is the rule."""
    if value.keys() <= known:
        return None
    return {k: v for k, v in value.items() if k not in known and v not in (None, "", [], {})} or None
