"""Edits a settings file of any format: inserts and removes entries, and checks each before anything is written.

A change is accepted only when the new text says exactly what it should (every other key as before) and taking it out
again gives the old text, byte for byte. Else it is refused, and the file stays as it is.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from recollect.agents.install import json_text, toml_text, values, yaml_text
from recollect.errors import SettingsInvalid, SettingsRefused

# The change between two texts as one place, so that it can be taken back exactly also when other places changed.

CONTEXT = 24
"""Characters kept on either side of a change, to find its place again."""
_TELLING = 16
"""A change shorter than this is looked for with its context only."""


def patch_between(old: str, new: str) -> values.Patch:
    """Return the smallest one place in which two texts differ, with what is beside it."""
    start = _shared(old, new)
    end = min(_shared(old[::-1], new[::-1]), len(old) - start, len(new) - start)
    stop = len(new) - end
    return values.Patch(
        left=new[max(0, start - CONTEXT) : start],
        before=old[start : len(old) - end],
        after=new[start:stop],
        right=new[stop : stop + CONTEXT],
    )


def taken_back(text: str, patch: values.Patch) -> str | None:
    """Return the text with a change reverted, None unless the change occurs exactly once."""
    whole = patch.left + patch.after + patch.right
    if text.count(whole) == 1:
        return text.replace(whole, patch.left + patch.before + patch.right)
    if len(patch.after) >= _TELLING and text.count(patch.after) == 1:
        return text.replace(patch.after, patch.before)
    return None


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their start."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


class Applied(NamedTuple):
    """A text with edits in it. undos: of those that were not in it before, in the order in which they were put in."""

    text: str
    undos: tuple[values.Undo, ...]


class TakenOut(NamedTuple):
    """A text without edits. lost: those of which nothing was left to remove."""

    text: str
    lost: tuple[values.Edit, ...]


def load(text: str, form: values.Format) -> Any:
    """Return what a document says. Raises SettingsInvalid; also where it is not a table."""
    return copy.deepcopy(_loaded(text, form))


@lru_cache(maxsize=16)
def _loaded(text: str, form: values.Format) -> Any:
    """Every edit looks at the same few texts again and again, and YAML is slow to read."""
    if form == "toml":
        value = toml_text.load(text)
    elif form == "yaml":
        value = yaml_text.load(text)
    else:
        value = json_text.load(text, comments=form == "jsonc")
    if not isinstance(value, dict):
        raise SettingsInvalid("the document is not a table")
    return value


def new_document(frame: Mapping[str, Any], form: values.Format) -> str:
    """Return the text of a new file."""
    if form == "toml":
        return toml_text.new_document(frame)
    return yaml_text.new_document(frame) if form == "yaml" else json_text.new_document(frame)


def states_of(text: str, form: values.Format, edits: Sequence[values.Edit]) -> tuple[values.State, ...]:
    """Return for each edit whether the text has it. Raises SettingsInvalid, SettingsRefused."""
    data = load(text, form)
    return tuple(values.state_of(data, edit) for edit in edits)


def apply_edits(text: str, form: values.Format, edits: Sequence[values.Edit]) -> Applied:
    """Insert every missing edit. Raises SettingsInvalid, SettingsRefused; then none of them counts."""
    undos: list[values.Undo] = []
    for edit in edits:
        data = load(text, form)
        state = values.state_of(data, edit)
        if state == "present":
            continue
        if state == "other" and not (isinstance(edit, values.SetKey) and edit.overwrites):
            raise SettingsRefused(
                f"{values.shown(edit.path)} already has a value that is not ours",
                hint="remove it by hand, or leave it: Recollect does not overwrite it",
            )
        replaced = (values.value_at(data, edit.path),) if state == "other" else ()
        new = _inserted(text, form, edit)
        undo = values.Undo(edit, values.levels_made(data, edit), patch_between(text, new), replaced)
        if not _is_same(load(new, form), values.with_edit(data, edit)) or _reverted(new, form, undo) != text:
            raise SettingsRefused(
                f"{values.shown(edit.path)} cannot be added without changing something else in this file"
            )
        undos.append(undo)
        text = new
    return Applied(text, tuple(undos))


def take_out(text: str, form: values.Format, undos: Sequence[values.Undo]) -> TakenOut:
    """Take out every edit of ours, the last one put in first. Raises SettingsInvalid, SettingsRefused."""
    lost: list[values.Edit] = []
    for undo in reversed(undos):
        data = load(text, form)
        wanted = values.without_edit(data, undo)
        if _is_same(wanted, data):
            lost.append(undo.edit)
            continue
        new = _reverted(text, form, undo)
        if new is None or not _is_same(load(new, form), wanted):
            raise SettingsRefused(f"{values.shown(undo.edit.path)} cannot be removed without changing something else")
        text = new
    return TakenOut(text, tuple(lost))


def _inserted(text: str, form: values.Format, edit: values.Edit) -> str:
    if form == "toml":
        return toml_text.insert(text, edit)
    if form == "yaml":
        return yaml_text.insert(text, edit)
    return json_text.insert(text, edit, comments=form == "jsonc")


def _reverted(text: str, form: values.Format, undo: values.Undo) -> str | None:
    """Return the text without an edit: exactly as it was, if the place is untouched, else without what is ours."""
    wanted = values.without_edit(load(text, form), undo)
    exact = taken_back(text, undo.patch)
    if exact is not None and _says(exact, form, wanted):
        return exact
    if form == "toml":
        return toml_text.remove(text, undo)
    if form == "yaml":
        return yaml_text.remove(text, undo)
    return json_text.remove(text, undo, comments=form == "jsonc")


def _says(text: str, form: values.Format, wanted: Any) -> bool:
    try:
        return _is_same(load(text, form), wanted)
    except SettingsInvalid:
        return False


def _is_same(one: Any, other: Any) -> bool:
    """Compare what two documents say; an empty table or list and none at all are the same, 1 and true are not."""
    if isinstance(one, Mapping) or isinstance(other, Mapping):
        left, right = ({} if value is None else value for value in (one, other))
        if not isinstance(left, Mapping) or not isinstance(right, Mapping) or left.keys() != right.keys():
            return False
        return all(_is_same(left[key], right[key]) for key in left)
    if isinstance(one, list) or isinstance(other, list):
        one, other = ([] if value is None else value for value in (one, other))
        if not isinstance(one, list) or not isinstance(other, list):
            return False
        return len(one) == len(other) and all(_is_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and bool(one == other)
