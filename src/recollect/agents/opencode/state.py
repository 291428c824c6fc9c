"""What is carried from record to record, and how one turn is known again in another generation of the tables."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

from recollect.agents.kit.naming import MAX_PATH_CHARS, short
from recollect.agents.kit.reading import BaseState
from recollect.agents.kit.reading import Reading as KitReading
from recollect.model.payloads import TokenUsage

_MARK_BYTES = 6
_MAX_MARKS_BYTES = 40_000 * _MARK_BYTES
_MAX_EDITS = 64
_MAX_BEFORES = 1024
_MOMENT_US = 5_000_000


class OpencodeState(BaseState, frozen=True):
    """What the parser remembers.

    The fields from `message` to `edited` are about the message whose parts come now. pending: its tokens, given only
    if it has no steps. was_blank: a part for the person's text came, empty. compacting: why the context is being made
    shorter, and where its kept end begins. rows, projected: marks of what the two generations of tables said. befores:
    the newest messages and parts, with the event that stood before each.
    """

    message: str = ""
    speaker: str = ""
    model: str = ""
    finish: str = ""
    created: int | None = None
    is_summary: bool = False
    is_side: bool = False
    is_repeat: bool = False
    has_spoken: bool = False
    was_blank: bool = False
    pending: TokenUsage | None = None
    edited: tuple[str, ...] = ()
    compacting: tuple[str, str] = ("", "")
    cwd: str = ""
    agent: str = ""
    last_model: str = ""
    snapshot: str = ""
    rows: bytes = b""
    projected: bytes = b""
    befores: tuple[tuple[str, str], ...] = ()


Reading: TypeAlias = KitReading[OpencodeState]


def mark_of(*names: object) -> bytes:
    """Return the mark of something said: a short hash of what names it."""
    text = "\0".join(str(name) for name in names)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_MARK_BYTES).digest()


def note(reading: Reading, field: str, *marks: bytes) -> None:
    """Remember marks in `rows` or `projected`; beyond 40,000 the older half is forgotten."""
    known: bytes = reading.now(field) + b"".join(marks)
    reading.set(**{field: known if len(known) <= _MAX_MARKS_BYTES else known[-_MAX_MARKS_BYTES // 2 :]})


def has_mark(known: bytes, mark: bytes) -> bool:
    """Say whether a mark is remembered."""
    at = known.find(mark)
    while at >= 0 and at % _MARK_BYTES:
        at = known.find(mark, at + 1)
    return at >= 0


def said_marks(speaker: str, text: str, ts: int | None) -> tuple[bytes, ...]:
    """Return the marks of a text around its time: that of its five seconds first, then those of its neighbours."""
    moment = (ts or 0) // _MOMENT_US
    return tuple(mark_of("said", speaker, moment + shift, text) for shift in (0, -1, 1))


def note_place(reading: Reading) -> None:
    """Remember the event before a message or a part, which an undo may name as the first that it hides."""
    name = reading.value.get("id")
    if isinstance(name, str) and name:
        befores: tuple[tuple[str, str], ...] = reading.now("befores")
        reading.set(befores=(*befores, (short(name), reading.state.newest))[-_MAX_BEFORES:])


def before_of(reading: Reading, name: str) -> str:
    """Return the event that stood before a message or a part, "" where it is not remembered."""
    befores: tuple[tuple[str, str], ...] = reading.now("befores")
    return next((before for known, before in befores if known == short(name)), "")


def note_edit(reading: Reading, path: str) -> None:
    """Remember that a tool of this message changed a file, so that the step's patch doesn't name it again."""
    reading.set(edited=(*reading.now("edited"), short(path, MAX_PATH_CHARS))[-_MAX_EDITS:])
