"""Strategies for tests of parsers: records of a known shape, with any of their nodes replaced by anything."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from recollect.testing.strategies import any_json

ODD = any_json() | st.sampled_from(["\ud800", "x" * 70_000, 2**90, float("nan"), {"type": []}, [[[]]], "{", ""])


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of everything inside a decoded value."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        pairs = inner.items() if isinstance(inner, dict) else enumerate(inner) if isinstance(inner, list) else ()
        for key, child in pairs:
            found.append((inner, key))
            waiting.append(child)
    return found


@st.composite
def bent_rows(draw: st.DrawFn, rows: Sequence[tuple[str, Any]], tables: Sequence[str]) -> list[tuple[str, Any]]:
    """Rows of a database by their table, with up to eight nodes replaced, or a whole row."""
    made = copy.deepcopy([*rows])
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(made) - 1))
        places = places_in(made[at][1])
        if not places or draw(st.integers(0, 9)) == 0:
            made[at] = (draw(st.sampled_from(tables)), copy.deepcopy(draw(ODD)))
        else:
            container, key = draw(st.sampled_from(places))
            container[key] = copy.deepcopy(draw(ODD))
    return made


def bent(records: Sequence[Any]) -> st.SearchStrategy[Any]:
    """One of some records, with any one node replaced by any JSON."""
    return st.builds(_bend, st.sampled_from(records), st.integers(0, 10_000), any_json())


def _bend(record: Any, choice: int, new: Any) -> Any:
    paths = _places(record)
    path = paths[choice % len(paths)]
    if not path:
        return new
    changed = copy.deepcopy(record)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = new
    return changed


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for key, inner in below for p in _places(inner, (*path, key)))]
