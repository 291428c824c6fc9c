"""Ids for things that an agent rewrites and gives no id of its own.

A thing is named by a hash of what it says, and by which of the equal ones it is: a truncation or an insertion then
renames nothing that follows. Never by its position.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from recollect.agents.kit.reading import BaseState, Reading
from recollect.model.payloads import Json

MAX_SEEN = 1024
"""Names within which equal ones are counted; an equal one further back counts as the same thing again."""
_DIGITS = 16


class NamingState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """The state of a parser that names things by what they say."""

    seen: tuple[str, ...] = ()


def content_hash(*parts: Json) -> str:
    """Return `h-` and 16 hex digits of any decoded JSON; keys in any order give the same."""
    written = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return f"h-{hashlib.sha256(written.encode('ascii')).hexdigest()[:_DIGITS]}"


def numbered(reading: Reading[Any], name: str) -> str:
    """Return a name, with `/2`, `/3` … for the second and third thing of this name in the source."""
    seen: tuple[str, ...] = reading.now("seen")
    count = seen.count(name)
    reading.set(seen=(*seen, name)[-MAX_SEEN:])
    return f"{name}/{count + 1}" if count else name


def name_of(reading: Reading[Any], prefix: str, *parts: Json) -> str:
    """Return the id of a thing without one: `prefix:h-<hash>`, numbered among equal ones."""
    return numbered(reading, f"{prefix}:{content_hash(*parts)}")
