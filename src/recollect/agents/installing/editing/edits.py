"""What can be asked of a configuration file, and what it takes to undo it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Format = Literal["json", "jsonc", "toml", "yaml"]
"""jsonc: JSON with comments and trailing commas, which the agent reads as such."""


class SetKey(msgspec.Struct, frozen=True, tag="set", tag_field="edit"):
    """The key `path[-1]` in the table `path[:-1]` has `value` (what JSON can hold, without null).

    Tables on the way are made where missing. overwrites: a value that is there is replaced, and put back when the edit
    is taken out. Else another value that is there belongs to somebody else: the edit is refused and the file stays as
    it is. A table that has more keys than ours counts as ours: people add settings to an entry.
    """

    path: tuple[str, ...]
    value: Any
    overwrites: bool = False


class AppendItem(msgspec.Struct, frozen=True, tag="append", tag_field="edit"):
    """The array at `path` holds `value` (once); the array and tables on the way are made where missing."""

    path: tuple[str, ...]
    value: Any


Edit = SetKey | AppendItem


class Patch(msgspec.Struct, frozen=True):
    """One place of a text that changed: what stood there, what stands there now, and what is on either side."""

    left: str
    before: str
    after: str
    right: str


class Undo(msgspec.Struct, frozen=True):
    """What takes one edit out again. made: how many tables (and the array) were made for it. replaced: the value that
    it replaced, if any, as its only element. patch: the exact change of the text, for as long as it stands there."""

    edit: Edit
    made: int
    patch: Patch
    replaced: tuple[Any, ...] = ()
