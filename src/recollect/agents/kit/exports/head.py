"""The first conversation of an export, as far as the head of the file holds it: enough to tell whose export it is."""

from __future__ import annotations

import json
import re
from typing import Any

_BLANK = " \t\r\n"
_WRAPPED = re.compile(r'\{\s*"conversations"\s*:\s*\[')
_MAX_DEPTH = 6
_raw_decode = json.JSONDecoder(strict=False).raw_decode


def first_element(head: bytes) -> dict[str, Any] | None:
    """Return the first object of a list, of `{"conversations": [...]}`, or the object that the file is.

    Members that the head cuts off hold what of them is there; None where there is no object.
    """
    text = head.decode("utf-8", "ignore").lstrip(_BLANK + "\ufeff")
    wrapper = _WRAPPED.match(text)
    if wrapper is not None or text.startswith("["):
        text = text[wrapper.end() if wrapper is not None else 1 :].lstrip(_BLANK)
    if not text.startswith("{"):
        return None
    try:
        return _members(text, 0)
    except RecursionError:
        return None


def _members(text: str, depth: int) -> dict[str, Any]:
    """Return the members of an object that may be cut off; the text begins with its brace."""
    found: dict[str, Any] = {}
    at = _skip(text, 1, _BLANK)
    while at < len(text) and text[at] == '"':
        try:
            key, at = _raw_decode(text, at)
        except ValueError:
            break
        at = _skip(text, at, _BLANK + ":")
        try:
            value, at = _raw_decode(text, at)
        except (ValueError, StopIteration):
            found[key] = _cut(text[at:], depth + 1)
            break
        found[key] = value
        at = _skip(text, at, _BLANK + ",")
    return found


def _cut(text: str, depth: int) -> Any:
    """Return what is there of a value that is cut off."""
    if depth < _MAX_DEPTH and text.startswith("{"):
        return _members(text, depth)
    if depth < _MAX_DEPTH and text.startswith("["):
        inside = text[1:].lstrip(_BLANK)
        try:
            return [_raw_decode(inside)[0]]
        except (ValueError, StopIteration):
            first = _cut(inside, depth + 1)
            return [] if first is None else [first]
    return None


def _skip(text: str, at: int, skipped: str) -> int:
    while at < len(text) and text[at] in skipped:
        at += 1
    return at
