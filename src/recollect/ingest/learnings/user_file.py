"""Writes the marked region of `user.md`: whole or not at all, and never over what somebody wrote meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from recollect.errors import StoreError
from recollect.files import write_file
from recollect.insights.learnings.user_file import (
    KEPT_STATES,
    Written,
    find_region,
    line_of,
    own_lines,
    preferences_for,
    removed_by_hand,
    render,
    state_of,
)
from recollect.model.learnings.learnings import Learning

NOTE = "user_file"
"""Under which is kept what was written, see `store.learning_writer.LearningStore.note`."""
MAX_BYTES = 1 << 20
"""A larger file is not one that somebody keeps for agents; it is left alone."""
_TRIES = 5
_decode = msgspec.json.Decoder(Written).decode


class UserFileReport(msgspec.Struct, frozen=True):
    """What became of `user.md`. state: absent (nobody made one, see `recollect context init`), unmarked (its region is
    gone), unreadable (no text, or too large), unchanged, written. removed: learnings whose line somebody took out."""

    state: Literal["absent", "unmarked", "unreadable", "unchanged", "written"]
    path: str
    lines: int = 0
    removed: tuple[str, ...] = ()


def written_before(note: bytes, path: str) -> Written:
    """Return what was written into this file the last time; nothing where it was another file."""
    with contextlib.suppress(msgspec.MsgspecError):
        found = _decode(note) if note else Written()
        return found if found.path == path else Written()
    return Written()


def find_removed(path: Path, written: Written) -> list[str]:
    """Return the ids of learnings whose lines somebody took out since. Raises StoreError."""
    text = _read(path)
    region = find_region(text) if text is not None else None
    return removed_by_hand(region, written) if region is not None else []


def write_user_file(
    path: Path, learnings: Sequence[Learning], written: Written, *, before_replacing: Callable[[], None] = lambda: None
) -> tuple[UserFileReport, Written]:
    """Have the region of a file say what the user prefers; return what became of it and what is written now.

    A file that changes while it is written is read again. before_replacing: called when the new text is on the disk and
    not yet in place. Raises StoreError.
    """
    ours = {line_of(one): one.id for one in preferences_for(learnings)}
    for _ in range(_TRIES):
        text = _read(path)
        if text is None:
            state: Literal["absent", "unreadable"] = "unreadable" if path.exists() else "absent"
            return UserFileReport(state, str(path)), written
        region = find_region(text)
        if region is None:
            return UserFileReport("unmarked", str(path)), written
        new = render(text, list(ours), own=own_lines(region, written.lines, list(ours)))
        now = find_region(new)
        states = (*written.states, state_of(now.lines if now is not None else ()))
        noted = Written(str(path), ours, tuple(dict.fromkeys(states))[-KEPT_STATES:])
        if new == text:
            return UserFileReport("unchanged", str(path), len(ours)), noted
        if _replace(path, text, new, before_replacing):
            return UserFileReport("written", str(path), len(ours)), noted
    raise StoreError(f"{path} changes all the time; what you prefer is not written into it")


def _read(path: Path) -> str | None:
    """Return a file's text, bytes that are none as they are; None where it is not there, no file, or too large."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error


class _ChangedMeanwhileError(Exception):
    """The file is not as it was read."""


def _replace(path: Path, old: str, new: str, before_replacing: Callable[[], None]) -> bool:
    """Put a text in place of another one, unless that is another by now; tell whether it was."""

    def check() -> None:
        before_replacing()
        if _read(path) != old:
            raise _ChangedMeanwhileError

    try:
        write_file(path, new.encode("utf-8", "surrogateescape"), durable=True, mode=None, before_replace=check)
    except _ChangedMeanwhileError:
        return False
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    return True
