"""Names for things that an agent gives no id: made of what they say, not of where they stand.

A message that is written again, or from another file, or after a cut, has the same name. Equal ones are told apart by
counting: the second is `name/2`. A parser keeps what it has counted in its state, bounded.
"""

from __future__ import annotations

import hashlib
import json

from recollect.model.payloads import Json

MAX_SEEN = 2048
"""Names remembered for counting; a thing that was said before that many others is counted anew."""
_DIGITS = 16

Seen = tuple[int, ...]


def content_name(*pieces: Json) -> str:
    """Return 16 hex digits that name decoded JSON, whatever the order of its keys."""
    written = json.dumps(pieces, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode("ascii")).hexdigest()[:_DIGITS]


def spaceless(text: str) -> str:
    """Return text with runs of white space as one space, for names that must not hang on line ends."""
    return " ".join(text.split())


def times_seen(seen: Seen, name: str) -> int:
    """Return how often a content name was counted."""
    return seen.count(int(name, 16))


def count_name(seen: Seen, name: str) -> tuple[str, Seen]:
    """Return a content name with its number among equal ones ("/2" from the second on), and the names counted."""
    number = int(name, 16)
    before = seen.count(number)
    return (name if not before else f"{name}/{before + 1}"), (*seen, number)[-MAX_SEEN:]
