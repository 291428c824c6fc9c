"""Names for things without an id, made of what they say, so that nothing shifts when a file is rewritten."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from recollect.agents.kit.reading import BaseState, Reading

_DIGITS = 16
_MAX_NAMES = 512
_MAX_CHARS = 120


class Named(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How often a name was given, and to what the last time."""

    name: str
    marker: str
    count: int


class NamingState(BaseState, frozen=True):
    """The state of a parser that names things by their content: the last 512 names, the newest at the end."""

    named: tuple[Named, ...] = ()


def digest(value: Any) -> str:
    """Return 16 hex digits that stand for decoded JSON, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:_DIGITS]


def content_name(value: Any) -> str:
    """Return the name of a thing made of its content: `h-<16 hex>`."""
    return f"h-{digest(value)}"


def short_name(name: str) -> str:
    """Return a name an agent wrote, or a hash of it where it is long or no text that can be stored."""
    return name if len(name) <= _MAX_CHARS and name.isprintable() else content_name(name)


def occurrence(reading: Reading[Any], name: str, marker: str) -> str:
    """Return the name for one more thing called so: `name`, then `name/2` and so on.

    marker: tells things of one name apart; the same marker as the last time is the same thing again.
    """
    known: tuple[Named, ...] = reading.now("named")
    before = next((n for n in reversed(known) if n.name == name), None)
    if before is None:
        found = Named(name, marker, 1)
    elif before.marker == marker:
        found = before
    else:
        found = Named(name, marker, before.count + 1)
    rest = known if before is None else tuple(n for n in known if n is not before)
    reading.set(named=(*rest, found)[-_MAX_NAMES:])
    return name if found.count == 1 else f"{name}/{found.count}"
