"""Names for things that an agent writes without an id, or with one that it uses again.

Such a thing is called after its content and, among equal ones, after its number: what stands before it may be cut off
or rewritten without renaming it. How many equal ones came before is counted in a bounded list of marks in the state.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

MAX_MARKS = 512
_MARK_BYTES = 8
_DIGITS = 16


def digest_of(value: Any) -> str:
    """Return 16 hex digits that stand for a decoded JSON value: the same for the same content in any key order."""
    body = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def numbered(marks: tuple[bytes, ...], name: str) -> tuple[str, tuple[bytes, ...]]:
    """Return the name, with `/2` and so on where the marks hold it already, and the marks with one more."""
    mark = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_MARK_BYTES).digest()
    count = marks.count(mark)
    return (f"{name}/{count + 1}" if count else name), (*marks, mark)[-MAX_MARKS:]
