"""The plan of a set-up, as it is shown before anything happens: what would be written where, run, or left alone."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from recollect.agents.installing.contract import ConfigFile, Install
from recollect.agents.installing.editing.documents import apply_edits, load, new_document, states_of, take_out
from recollect.agents.installing.editing.edits import Edit, Format
from recollect.agents.installing.editing.values import named_as_in
from recollect.maintenance.setup.files import Settings, read_settings, sha256_of, write_problem
from recollect.maintenance.setup.manifest import FileRecord, Kind, KindUndo

Action = Literal["add", "change", "remove", "run", "none", "left", "blocked", "unsupported"]
"""none: it is as it should be. left: not ours any more, so it stays. blocked: it should be done and can't be."""
MAX_DIFF_LINES = 400


class Step(msgspec.Struct, frozen=True):
    """One thing that setup does, or says why it doesn't. diff: of the file's lines, without those around them."""

    kind: Kind
    action: Action
    path: str = ""
    command: tuple[str, ...] = ()
    detail: str = ""
    hint: str = ""
    diff: tuple[str, ...] = ()


class FileChange(NamedTuple):
    """A file that would change. after: its new bytes, None to delete it. intent, record: what the manifest says of it
    before and after it is written (`kinds` empty: nothing)."""

    before: Settings
    after: bytes | None
    intent: FileRecord
    record: FileRecord


class FilePlan(NamedTuple):
    """The steps for one file, and its change if there is one. record: what the manifest says where nothing changes."""

    steps: tuple[Step, ...]
    change: FileChange | None
    record: FileRecord | None


def plan_config(
    path: str, parts: Sequence[tuple[Kind, ConfigFile, tuple[Edit, ...]]], record: FileRecord | None
) -> FilePlan:
    """Plan what these parts want of one settings file; parts that were there and aren't wanted any more leave.

    Raises SettingsError when the file cannot be read or changed.
    """
    form = parts[0][1].format
    before = read_settings(path)
    is_new = before.data is None
    frame: dict[str, Any] = {key: value for _, part, _ in parts for key, value in part.frame.items()}
    text = new_document(frame, form) if is_new else before.text
    recorded = record.undos if record is not None and not is_new else ()
    kinds = tuple(dict.fromkeys(kind for kind, _, _ in parts))
    if record is not None and not is_new and _is_as_wanted(text, parts, recorded):
        return FilePlan(tuple(Step(kind, "none", path, detail="is as it should be") for kind in kinds), None, record)
    base = take_out(text, form, [k.undo for k in recorded]).text
    undos: list[KindUndo] = []
    for kind, part, edits in parts:
        applied = apply_edits(base, form, named_as_in(load(base, form), edits, part.other_names))
        undos += [KindUndo(kind, undo) for undo in applied.undos]
        base = applied.text
    after = base.encode()
    new = _record(path, form, before, record)
    new = msgspec.structs.replace(
        new,
        kinds=tuple(dict.fromkeys(k.kind for k in undos)),
        undos=tuple(undos),
        after_sha256=sha256_of(after),
        frame=msgspec.json.encode(frame).decode() if frame else "",
    )
    if not is_new and after == before.data:
        kept = new if undos else None
        return FilePlan(tuple(Step(kind, "none", path, detail="is as it should be") for kind in kinds), None, kept)
    intent = msgspec.structs.replace(new, undos=(*recorded, *undos), kinds=new.kinds or kinds)
    action: Action = "add" if record is None or is_new else "change"
    return _with_problem(kinds, action, FileChange(before, after, intent, new))


def plan_own(path: str, kind: Kind, text: str, record: FileRecord | None) -> FilePlan:
    """Plan a file that is ours alone; one that somebody else made, or changed, stays as it is."""
    before = read_settings(path)
    after = text.encode()
    new = msgspec.structs.replace(_record(path, "own", before, record), kinds=(kind,), after_sha256=sha256_of(after))
    if before.data == after:
        return FilePlan((Step(kind, "none", path, detail="is as it should be"),), None, new if record else None)
    is_ours = before.data is None or (record is not None and before.sha256 == record.after_sha256)
    if not is_ours:
        detail = "was changed by hand since" if record is not None else "is there already and is not ours"
        return FilePlan((Step(kind, "blocked", path, detail=detail, hint="delete it to get ours"),), None, record)
    action: Action = "add" if before.data is None else "change"
    return _with_problem((kind,), action, FileChange(before, after, new, new))


def plan_removal(record: FileRecord, *, is_used_elsewhere: bool = False) -> FilePlan:
    """Plan that everything of ours leaves a file; one that we made goes away once nothing else is in it.

    Raises SettingsError when the file cannot be read or changed.
    """
    before = read_settings(record.path)
    gone = msgspec.structs.replace(record, kinds=(), undos=())
    if before.data is None or is_used_elsewhere:
        why = "is gone already" if before.data is None else "stays: another agent that is set up reads it too"
        return FilePlan(tuple(Step(kind, "none", record.path, detail=why) for kind in record.kinds), None, gone)
    if record.form == "own":
        if before.sha256 != record.after_sha256:
            detail = "was changed by hand since, so it stays"
            return FilePlan((Step(record.kinds[0], "left", record.path, detail=detail),), None, gone)
        return _with_problem(record.kinds, "remove", FileChange(before, None, record, gone))
    taken = take_out(before.text, record.form, [k.undo for k in record.undos])
    text = taken.text
    after = None if record.made and _is_only_frame(text, record) else text.encode()
    if after == before.data:
        detail = "holds nothing of ours any more"
        return FilePlan(tuple(Step(kind, "none", record.path, detail=detail) for kind in record.kinds), None, gone)
    return _with_problem(record.kinds, "remove", FileChange(before, after, record, gone))


def unsupported_steps(install: Install, kinds: Sequence[Kind]) -> list[Step]:
    """Return a step for each thing that the agent doesn't have, with the reason."""
    declared = {"mcp": install.mcp, "hooks": install.hooks, "skill": install.skill}
    return [
        Step(kind, "unsupported", detail=reason)
        for kind in kinds
        if (reason := getattr(declared.get(kind), "reason", ""))
    ]


def diff_lines(before: bytes | None, after: bytes | None) -> tuple[str, ...]:
    """Return the changed lines only: what is around them may hold keys that nobody needs to see."""
    old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    lines = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
    if len(lines) > MAX_DIFF_LINES:
        lines = [*lines[:MAX_DIFF_LINES], f"… {len(lines) - MAX_DIFF_LINES} more lines"]
    return tuple(lines)


def _record(path: str, form: Format | Literal["own"], before: Settings, record: FileRecord | None) -> FileRecord:
    if record is not None:
        return record
    return FileRecord(
        path=path, form=form, kinds=(), made=before.data is None, before_sha256=before.sha256, after_sha256=""
    )


def _with_problem(kinds: Sequence[Kind], action: Action, change: FileChange) -> FilePlan:
    path = change.before.path
    problem = write_problem(change.before)
    if problem:
        steps = tuple(Step(kind, "blocked", path, detail=problem, hint="make it writable first") for kind in kinds)
        return FilePlan(steps, None, None)
    first, *rest = kinds
    diff = diff_lines(change.before.data, change.after)
    target = "" if change.before.target == path else f"a link to {change.before.target}"
    steps = (Step(first, action, path, detail=target, diff=diff),)
    more = tuple(Step(kind, action, path, detail="in the same change") for kind in rest)
    return FilePlan(steps + more, change, None)


def _is_as_wanted(
    text: str, parts: Sequence[tuple[Kind, ConfigFile, tuple[Edit, ...]]], recorded: Sequence[KindUndo]
) -> bool:
    """Tell whether a file says all that is wanted and nothing else is recorded, whatever its layout is now."""
    form = parts[0][1].format
    data = load(text, form)
    wanted = [edit for _, part, edits in parts for edit in named_as_in(data, edits, part.other_names)]
    is_there = all(state == "present" for state in states_of(text, form, wanted))
    return is_there and all(one.undo.edit in wanted for one in recorded)


def _is_only_frame(text: str, record: FileRecord) -> bool:
    """Tell whether a file holds nothing but what one that we make begins with; a comment is somebody's."""
    if record.form == "own":
        return False
    frame: Mapping[str, Any] = msgspec.json.decode(record.frame) if record.frame else {}
    left = "".join(text.split())
    return left in ("", "{}", "".join(new_document(frame, record.form).split()))
