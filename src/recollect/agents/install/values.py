"""Edits of a configuration file: the requested value, the present one, and the expected result."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from recollect.errors import SettingsRefused

# What can be asked of a configuration file, and what it takes to undo it.

Format = Literal["json", "jsonc", "toml", "yaml"]
"""jsonc: JSON with comments and trailing commas, which the agent reads as such."""


class SetKey(msgspec.Struct, frozen=True, tag="set", tag_field="edit"):
    """The key `path[-1]` in the table `path[:-1]` gets `value` (any JSON without null).

    Creates missing tables on the way. overwrites: replaces an existing value, and restores it when the edit is removed.
    Otherwise another existing value belongs to somebody else: the edit is refused and the file stays unchanged. A table
    with more keys than ours counts as ours: people add settings to an entry.
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
    """One changed place of a text: the old and the new text, and what is on either side."""

    left: str
    before: str
    after: str
    right: str


class Undo(msgspec.Struct, frozen=True):
    """How to remove one edit. made: how many tables (and the array) were created for it. replaced: the value that it
    replaced, if any, as its only element. patch: the exact change of the text, while it still exists.
    """

    edit: Edit
    made: int
    patch: Patch
    replaced: tuple[Any, ...] = ()


State = Literal["absent", "present", "other"]
"""other: the key has a value that is not ours."""


def state_of(data: Any, edit: Edit) -> State:
    """Return whether a document already has an edit. Raises SettingsRefused if something other than a table is on
    the way.
    """
    container = _reached(data, edit.path[:-1])
    if container is None or edit.path[-1] not in container or container[edit.path[-1]] is None:
        return "absent"
    found = container[edit.path[-1]]
    if isinstance(edit, SetKey):
        return "present" if covers(found, edit.value) else "other"
    if not isinstance(found, list):
        raise SettingsRefused(f"{shown(edit.path)} is not a list")
    return "present" if any(item == edit.value for item in found) else "absent"


def covers(found: Any, wanted: Any) -> bool:
    """Return whether a value is the wanted one; a table may hold more."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return all(key in found and covers(found[key], value) for key, value in wanted.items())
    return bool(found == wanted) and isinstance(found, bool) == isinstance(wanted, bool)


def levels_made(data: Any, edit: Edit) -> int:
    """Return how many keys of tables and arrays an edit must create; an existing empty one stays."""
    steps = edit.path if isinstance(edit, AppendItem) else edit.path[:-1]
    here = data
    for done, key in enumerate(steps):
        if key not in here:
            return len(steps) - done
        if here[key] is None:
            return len(steps) - done - 1
        here = here[key]
    return 0


def value_at(data: Any, path: tuple[str, ...]) -> Any:
    """Return the value at a path, None without one."""
    for key in path:
        if not isinstance(data, Mapping) or key not in data:
            return None
        data = data[key]
    return data


def with_edit(data: Any, edit: Edit) -> Any:
    """Return a copy of a document's value that has what an edit asks for."""
    made = copy.deepcopy(data)
    here = made
    for key in edit.path[:-1]:
        if here.get(key) is None:
            here[key] = {}
        here = here[key]
    if isinstance(edit, SetKey):
        here[edit.path[-1]] = edit.value
    else:
        here[edit.path[-1]] = [*(here.get(edit.path[-1]) or ()), edit.value]
    return made


def without_edit(data: Any, undo: Undo) -> Any:
    """Return a copy of a document's value without an edit: with the replaced value restored, else without the key or
    item, and without empty containers created for it. The same value if nothing of it is left.
    """
    made = copy.deepcopy(data)
    chain = list(_chain(made, undo.edit.path))
    if len(chain) < len(undo.edit.path):
        return made
    table = chain[-1]
    key = undo.edit.path[-1]
    if isinstance(undo.edit, AppendItem):
        if key not in table or not isinstance(table[key], list):
            return made
        index = index_of_item(table[key], undo.edit.value)
        if index is None:
            return made
        del table[key][index]
        if table[key] or not undo.made:
            return made
        _drop(chain, undo.edit.path, levels=undo.made)
    elif key in table and is_still_ours(table[key], undo):
        if undo.replaced:
            table[key] = undo.replaced[0]
        else:
            _drop(chain, undo.edit.path, levels=undo.made + 1)
    return made


def is_still_ours(found: Any, undo: Undo) -> bool:
    """Return whether a key's value is ours: a table always (the key has our name), a replaced value while it is as
    we set it.
    """
    return isinstance(undo.edit.value, Mapping) or covers(found, undo.edit.value)


def index_of_item(items: list[Any], value: Any) -> int | None:
    """Return the place of our item in an array: the last that is equal, else the last that holds its longest text.

    The longest text of an item of ours is the command that only we would run; a person may have changed what is beside
    it (a time limit, a matcher).
    """
    for index in range(len(items) - 1, -1, -1):
        if items[index] == value:
            return index
    longest = max(_texts(value), key=len, default="")
    for index in range(len(items) - 1, -1, -1):
        if longest and longest in _texts(items[index]):
            return index
    return None


def named_as_in(data: Any, edits: Sequence[Edit], other_names: Mapping[str, str]) -> tuple[Edit, ...]:
    """Return the edits with the other name of their first key where the document has that one and not ours."""
    return tuple(
        msgspec.structs.replace(edit, path=(other, *edit.path[1:]))
        if (other := other_names.get(edit.path[0])) is not None and other in data and edit.path[0] not in data
        else edit
        for edit in edits
    )


def holds(found: Any, texts: Sequence[str]) -> bool:
    """Return whether a value contains all of these texts somewhere."""
    return set(texts) <= set(_texts(found))


def shown(path: tuple[str, ...]) -> str:
    """Return a path as people write it: `mcpServers.recollect`."""
    return ".".join(path)


def _reached(data: Any, path: tuple[str, ...]) -> Mapping[str, Any] | None:
    here = data
    for done, key in enumerate(("", *path)):
        if done:
            here = here.get(key)
        if here is None:
            return None
        if not isinstance(here, Mapping):
            raise SettingsRefused(f"{shown(path[:done]) or 'the document'} is not a table")
    reached: Mapping[str, Any] = here
    return reached


def _chain(data: Any, path: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the existing tables on the way to a path's last key."""
    here = data
    for key in path:
        if not isinstance(here, dict):
            return
        yield here
        here = here.get(key)


def _drop(chain: list[dict[str, Any]], path: tuple[str, ...], *, levels: int) -> None:
    """Remove the last key, and above it at most `levels - 1` tables that became empty."""
    chain[-1].pop(path[-1])
    for depth in range(len(path) - 2, len(path) - 1 - levels, -1):
        if chain[depth][path[depth]]:
            return
        chain[depth].pop(path[depth])


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return []


def nested(edit: Edit, depth: int) -> Any:
    """Return the value of a missing key at a depth of the path."""
    value = [edit.value] if isinstance(edit, AppendItem) else edit.value
    for key in reversed(edit.path[depth + 1 :]):
        value = {key: value}
    return value
