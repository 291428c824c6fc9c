"""Decides what made a failed command pass: the last change before the success that nobody took back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, NamedTuple

from recollect.insights.commands import LOOKING, Simple, is_preparing, simple_commands
from recollect.insights.signals.runs import ran_by
from recollect.insights.subjects import ends_with_path
from recollect.late import late_pattern
from recollect.model.payloads import FileEdit, Payload, ToolCall
from recollect.model.text import paths_in

_LOOKING_VERBS: Final = frozenset(
    f"git {verb}"
    for verb in ("status diff log show blame branch remote rev-parse ls-files grep describe reflog commit push").split()
)
_CHECKING: Final = late_pattern(
    r"\b(?:test|tests|build|compile|check|lint|typecheck|type-check|tsc|mypy|ruff|eslint|clippy|vet|pyright)\b"
)
"""Commands that only tell whether something works."""
_MENDING: Final = frozenset(("format", "fmt", "--fix", "fix", "--write"))
"""Words of those that also mend what they find."""


class Change(NamedTuple):
    """An edit or a command that did not fail. place: grows with time. what: a path, or the command. read: gives the
    edit whole."""

    place: int
    how: Literal["edit", "command"]
    what: str
    call_id: str = ""
    read: Callable[[], Payload] = FileEdit


def edits_in(place: int, payload: Payload, read: Callable[[], Payload]) -> list[Change]:
    """Return what an event edits. Not every agent says in the result what an edit changed: then the call tells it."""
    if isinstance(payload, FileEdit):
        paths = [payload.new_path or payload.path] if payload.operation != "checkpoint" else []
    else:
        is_edit = isinstance(payload, ToolCall) and payload.canonical == "edit"
        paths = [*paths_in(payload.arguments)[:1]] if is_edit and isinstance(payload, ToolCall) else []
    return [Change(place, "edit", path, getattr(payload, "call_id", ""), read) for path in paths]


def changes_since(changes: Iterable[Change], failed: int) -> list[Change]:
    """Return the changes after the last failure that stand, in order. The last of them is the fix.

    changes: those since the command failed first. An edit that a later one or git took back is no part of the fix, nor
    is what took it back.
    """
    standing: list[Change] = []
    once = {(c.call_id or c.place, c.how, c.what): c for c in changes}  # a call and its result tell the same edit
    for change in once.values():
        if change.how == "command":
            gone = _restored(change.what, standing)
        else:
            gone = _undone(change, [c for c in standing if (c.how, c.what) == ("edit", change.what)])
        standing = [c for c in standing if c not in gone]
        if not gone:
            standing.append(change)
    return [c for c in standing if c.place > failed and (c.how == "edit" or is_change(c.what))]


def is_change(command: str) -> bool:
    """Return whether a command may change something: a part of it does more than read, prepare, test or build."""
    return any(
        c.to_file not in ("", "/dev/null")
        or not (is_preparing(c) or _is_looking(c.program, c.words) or _is_checking(c))
        for c in simple_commands(command)
    )


def _is_checking(simple: Simple) -> bool:
    if not _MENDING.isdisjoint(simple.words):
        return False
    return ran_by([simple]) is not None or _CHECKING.search(" ".join((simple.program, *simple.words[1:3]))) is not None


def _is_looking(program: str, words: Sequence[str]) -> bool:
    if program == "sed":
        return not any(word.startswith(("-i", "--in-place")) for word in words)
    return program in LOOKING or " ".join((program, *words[1:2])) in _LOOKING_VERBS


def _undone(change: Change, earlier: Sequence[Change]) -> Sequence[Change]:
    """Return the edits of a file that one more takes back: with it the file reads as before the first of them."""
    if not earlier:
        return ()
    before, after = _texts(change.read())
    if not (before or after) or _texts(earlier[-1].read())[1] != before:
        return ()
    first = next((n for n in reversed(range(len(earlier))) if _texts(earlier[n].read())[0] == after), len(earlier))
    return earlier[first:]


def _texts(payload: Payload) -> tuple[str, str]:
    """Return the text that an edit replaces and the one that it puts there, both "" where nobody says."""
    if isinstance(payload, FileEdit):
        if not payload.diff:
            return payload.before or "", payload.after or ""
        lines = (payload.diff.partition("@@")[2] or payload.diff).split("\n")
        removed, added = ("\n".join(line[1:] for line in lines if line[:1] == sign) for sign in "-+")
        return removed, added
    given = payload.arguments if isinstance(payload, ToolCall) and isinstance(payload.arguments, dict) else {}
    said = {key.casefold()[:3]: text for key, text in given.items() if isinstance(text, str)}
    return said.get("old", ""), said.get("new", "")


def _restored(command: str, edits: Sequence[Change]) -> Sequence[Change]:
    """Return the edits that a command has git take back."""
    if "git " not in command or not edits:
        return ()
    edits = [edit for edit in edits if edit.how == "edit"]
    for simple in simple_commands(command):
        verb, rest = "".join(simple.words[1:2]), simple.words[2:]
        if simple.program != "git":
            continue
        if (verb == "reset" and "--hard" in rest) or (verb == "stash" and rest[:1] in ((), ("push",))):
            return edits
        if (verb == "checkout" and "-b" not in rest) or (
            verb == "restore" and not {"--staged", "-S"}.intersection(rest)
        ):
            named = [re.sub(r"^\./|/$", "", word) for word in rest]
            return [
                e
                for e in edits
                if any(n == "." or ends_with_path(e.what, n) or f"/{n}/" in f"/{e.what}" for n in named)
            ]
    return ()
