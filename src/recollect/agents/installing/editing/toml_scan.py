"""Where the statements of a TOML document stand: tables, arrays of tables, and pairs, each with its full path.

The standard decoder decides where a statement ends: a pair goes on over as many lines as it takes to be valid.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple


class Statement(NamedTuple):
    """A statement and its place `[start, end)`, whole lines. kind: `table` is `[a.b]`, `item` is `[[a.b]]`; `blank`
    also stands for a comment. path: the full one. nth: of an item, its number in its array."""

    kind: Literal["table", "item", "pair", "blank"]
    start: int
    end: int
    path: tuple[str, ...] = ()
    nth: int = 0


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a valid document, in order. `text` has no byte order mark."""
    table: tuple[str, ...] = ()
    items: dict[tuple[str, ...], int] = {}
    for start, end, stretch in _stretches(text):
        first = stretch.lstrip()[:2]
        if not first or first[0] == "#":
            yield Statement("blank", start, end)
        elif first == "[[":
            table = _path_of(tomllib.loads(stretch))
            nth = items.get(table, 0)
            items[table] = nth + 1
            yield Statement("item", start, end, table, nth)
        elif first[0] == "[":
            table = _path_of(tomllib.loads(stretch))
            yield Statement("table", start, end, table)
        else:
            yield Statement("pair", start, end, (*table, *_key_of(stretch)))


def value_place(stretch: str) -> tuple[int, int]:
    """Return the place of the value in the text of a pair."""
    key_end = _key_end(stretch)
    start = key_end + 1 + len(stretch[key_end + 1 :]) - len(stretch[key_end + 1 :].lstrip())
    whole = tomllib.loads(stretch)
    at = stretch.find("#", start)
    while at >= 0:
        if _parses_to(stretch[:at], whole):
            return start, len(stretch[:at].rstrip())
        at = stretch.find("#", at + 1)
    return start, len(stretch.rstrip())


def _stretches(text: str) -> Iterator[tuple[int, int, str]]:
    start = end = 0
    held = ""
    for line in _physical_lines(text):
        held += line
        end += len(line)
        if _is_complete(held):
            yield start, end, held
            start, held = end, ""
    if held:
        yield start, end, held


def _physical_lines(text: str) -> list[str]:
    """TOML's lines end with a line feed only."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _is_complete(stretch: str) -> bool:
    try:
        tomllib.loads(stretch)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _parses_to(text: str, value: Any) -> bool:
    try:
        return bool(tomllib.loads(text) == value)
    except tomllib.TOMLDecodeError:
        return False


def _key_end(stretch: str) -> int:
    """Return the place of the equals sign: the first before which a valid key stands."""
    at = stretch.find("=")
    while at >= 0 and not _is_complete(stretch[:at] + "= 0"):
        at = stretch.find("=", at + 1)
    return at


def _key_of(stretch: str) -> tuple[str, ...]:
    return _path_of(tomllib.loads(stretch[: _key_end(stretch)] + "= 0"))


def _path_of(value: Any) -> tuple[str, ...]:
    path: list[str] = []
    while isinstance(value, dict | list) and value:
        if isinstance(value, list):
            value = value[0]
            continue
        key, value = next(iter(value.items()))
        path.append(key)
    return tuple(path)
