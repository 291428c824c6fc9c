"""A strategy for tests of parsers: records of a known shape, with any one node replaced by anything."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from recollect.testing.strategies import any_json


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
