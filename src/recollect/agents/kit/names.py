"""Names records without an id by their content, numbers equal ones, and makes names fit to store.

A thing that an agent gives no id is called after what it says, never after where it stands: written again, from
another file or after a cut it has the same name. Equal ones are told apart by counting; the second is `name/2`. What
was counted is remembered as a bounded list of marks in the parser's state.
"""

import hashlib
import json
from typing import Any

from recollect.agents.kit.adapter import MAX_NAME_CHARS, BaseState, Reading
from recollect.model.payloads import Json

MAX_MARKS = 2048
"""Names remembered for counting; a thing that was named before that many others is counted again."""
MAX_PATH_CHARS = 1000
_MAX_ID_CHARS = 120
_DIGITS = 16
_MARK_BYTES = 8

Marks = tuple[bytes, ...]


class NamingState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """The state of a parser that numbers equal names. marks: what it has counted."""

    marks: Marks = ()


def content_sha256(*pieces: Json) -> str:
    """Return the first 16 hex digits of the SHA-256 of decoded JSON, independent of the order of its keys."""
    written = json.dumps(pieces, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode("ascii")).hexdigest()[:_DIGITS]


def content_name(*pieces: Json) -> str:
    """Return a name made of decoded JSON: `h-<16 hex>`."""
    return f"h-{content_sha256(*pieces)}"


def name_of(reading: Reading[Any], prefix: str, *pieces: Json) -> str:
    """Return the id of a thing without one: `prefix:h-<16 hex>`, numbered among equal ones."""
    return numbered(reading, f"{prefix}:{content_name(*pieces)}")


def numbered(reading: Reading[Any], name: str, field: str = "marks") -> str:
    """Return a name, with `/2`, `/3` … for the second and third thing of this name. field: the state's marks."""
    found, marks = count_name(reading.now(field), name)
    reading.set(**{field: marks})
    return found


def count_name(marks: Marks, name: str) -> tuple[str, Marks]:
    """Return a name with its number among equal ones, and the marks with one more; see `numbered`."""
    mark = mark_of(name)
    before = marks.count(mark)
    return (f"{name}/{before + 1}" if before else name), (*marks, mark)[-MAX_MARKS:]


def times_counted(marks: Marks, name: str) -> int:
    """Return how often a name was counted."""
    return marks.count(mark_of(name))


def mark_of(name: str) -> bytes:
    """Return the few bytes by which a name is remembered."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_MARK_BYTES).digest()


def short_name(name: str) -> str:
    """Return an id as the agent wrote it, or a name made of it where it is long or can't be stored."""
    return name if len(name) <= _MAX_ID_CHARS and name.isprintable() else content_name(name)


def short(text: str, limit: int = MAX_NAME_CHARS) -> str:
    """Return the start of a text, with halves of surrogate pairs replaced. Compare stored values with it."""
    kept = text[:limit]
    return kept if kept.isascii() else kept.encode("utf-8", "replace").decode("utf-8")


def spaceless(text: str) -> str:
    """Return a text with runs of white space as one space, for names that must not hang on line ends."""
    return " ".join(text.split())


def is_storable(name: str) -> bool:
    """Say whether a name may go into a state: short enough, and text that can be encoded."""
    return len(name) <= MAX_NAME_CHARS and is_encodable(name)


def is_encodable(text: str) -> bool:
    """Say whether a text can be stored: it has no half of a surrogate pair."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
