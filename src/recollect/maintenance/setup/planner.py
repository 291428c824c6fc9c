"""Plans a set-up: which files change, which commands run, and what stays and why."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from recollect.agents.install.contract import (
    ConfigFile,
    Install,
    InstallContext,
    Mcp,
    NativeMemory,
    OwnFile,
    Part,
    Unsupported,
)
from recollect.agents.install.documents import apply_edits, load, new_document, states_of, take_out
from recollect.agents.install.values import Edit, Format, SetKey, State, holds, named_as_in, state_of, value_at
from recollect.errors import SettingsError
from recollect.maintenance.setup.agent_settings import (
    AgentRecord,
    FileRecord,
    Kind,
    KindUndo,
    Manifest,
    Mode,
    Settings,
    load_manifest,
    read_settings,
    sha256_of,
    write_problem,
)
from recollect.maintenance.setup.discovery import FoundAgent, Machine, file_path, given_for, plugin_turned_on

Action = Literal["add", "change", "remove", "run", "none", "left", "blocked", "unsupported"]
"""none: it is up to date. left: not ours any more, so it stays. blocked: it should be done and can't be."""
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
    """The steps for one file, and its change if any. record: the manifest's, if nothing changes."""

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
        return FilePlan(tuple(Step(kind, "none", path, detail="is up to date") for kind in kinds), None, record)
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
        return FilePlan(tuple(Step(kind, "none", path, detail="is up to date") for kind in kinds), None, kept)
    intent = msgspec.structs.replace(new, undos=(*recorded, *undos), kinds=new.kinds or kinds)
    action: Action = "add" if record is None or is_new else "change"
    return _with_problem(kinds, action, FileChange(before, after, intent, new))


def plan_own(path: str, kind: Kind, text: str, record: FileRecord | None) -> FilePlan:
    """Plan a file that is ours alone; one that somebody else created or changed stays."""
    before = read_settings(path)
    after = text.encode()
    new = msgspec.structs.replace(_record(path, "own", before, record), kinds=(kind,), after_sha256=sha256_of(after))
    if before.data == after:
        return FilePlan((Step(kind, "none", path, detail="is up to date"),), None, new if record else None)
    is_ours = before.data is None or (record is not None and before.sha256 == record.after_sha256)
    if not is_ours:
        detail = "was changed by hand since" if record is not None else "exists and is not ours"
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
        why = "no longer exists" if before.data is None else "stays: another agent that is set up reads it too"
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
        detail = "no longer contains anything of ours"
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
    """Return whether a file says everything wanted and nothing else is recorded, whatever its layout."""
    form = parts[0][1].format
    data = load(text, form)
    wanted = [edit for _, part, edits in parts for edit in named_as_in(data, edits, part.other_names)]
    is_there = all(state == "present" for state in states_of(text, form, wanted))
    return is_there and all(one.undo.edit in wanted for one in recorded)


def _is_only_frame(text: str, record: FileRecord) -> bool:
    """Return whether a file holds only what a file of ours begins with; a comment is somebody's."""
    if record.form == "own":
        return False
    frame: Mapping[str, Any] = msgspec.json.decode(record.frame) if record.frame else {}
    left = "".join(text.split())
    return left in ("", "{}", "".join(new_document(frame, record.form).split()))


KINDS: dict[Mode, tuple[Kind, ...]] = {"pull": ("mcp", "skill"), "push": ("hooks",), "both": ("mcp", "hooks", "skill")}
"""What each choice writes. pull: tools in the agent's hands. push: we are called at its events. both: both."""


class SetupOptions(NamedTuple):
    """What the person chose. mode None: take everything of ours out. uses_commands: agents' own commands may run."""

    mode: Mode | None
    turns_native_memory_off: bool = False
    uses_commands: bool = True


class AgentPlan(NamedTuple):
    """The plan for one agent. commands: of its own, in order. records: of files that stay as they are."""

    steps: tuple[Step, ...]
    commands: tuple[tuple[str, ...], ...]
    changes: tuple[FileChange, ...]
    records: tuple[FileRecord, ...]


class SetupPlanner:
    """Plans for one agent on this machine. Reads only; every plan is made from what is on the disk now."""

    def __init__(self, home: Path, machine: Machine, found: FoundAgent) -> None:
        self.install = found.install
        self.given: InstallContext = given_for(found, machine)
        self._home = home
        self._machine = machine
        self._found = found
        self._plugin = plugin_turned_on(found.install, machine)

    def plan(self, options: SetupOptions) -> AgentPlan:
        """Return what would be done. What cannot be done is a step that says so."""
        manifest = load_manifest(self._home)
        record = manifest.agents.get(self.install.slug) or AgentRecord(options.mode or "both")
        steps = unsupported_steps(self.install, self._kinds(options))
        if options.mode and self._plugin:
            detail = "our plug-in provides it; turn the plug-in off in the agent to set it up here"
            steps = [Step(kind, "none", self._plugin, detail=detail) for kind in KINDS[options.mode]]
        commands, is_registered = self._commands(options, record, steps)
        changes: list[FileChange] = []
        records: list[FileRecord] = []
        for path, (of_kinds, plan_one) in self._files(options, record, manifest, is_registered=is_registered).items():
            made = _safely(path, of_kinds, plan_one)
            steps.extend(made.steps)
            if made.change is not None:
                changes.append(made.change)
            elif made.record is not None:
                records.append(made.record)
        return AgentPlan(tuple(steps), commands, tuple(changes), tuple(records))

    def registered_path(self) -> str:
        """Return the file with our server, empty if the agent has none."""
        return file_path(self.install.mcp.file.place, self._machine) if isinstance(self.install.mcp, Mcp) else ""

    def registered(self) -> State:
        """Return whether our server is registered, in the form in which the agent's own command writes it.

        Raises SettingsError for an unreadable file.
        """
        if not isinstance(self.install.mcp, Mcp):
            return "absent"
        settings = read_settings(self.registered_path())
        if settings.data is None:
            return "absent"
        file = self.install.mcp.file
        data = load(settings.text, file.format)
        edit = named_as_in(data, file.edits(self.given), file.other_names)[0]
        state = state_of(data, edit)
        server = self.given.server
        is_ours = holds(value_at(data, edit.path), (server.command, *server.args, *server.env.values()))
        return "present" if is_ours else state

    def _commands(
        self, options: SetupOptions, record: AgentRecord, steps: list[Step]
    ) -> tuple[tuple[tuple[str, ...], ...], bool]:
        """Return the agent's own commands to run, and whether its settings need no entry from us."""
        mcp = self.install.mcp
        is_in_file = any("mcp" in file.kinds for file in record.files)
        if isinstance(mcp, Unsupported) or mcp.command is None or is_in_file:
            return (), False
        try:
            state = self.registered()
        except SettingsError:
            return (), False  # planning the file says what is wrong with it
        path = self.registered_path()
        can_run = bool(options.uses_commands and self._found.executable)
        remove = (self._found.executable, *mcp.command.remove)
        if "mcp" not in self._kinds(options):
            if not (can_run and record.registration and state != "absent"):
                return (), False
            steps.append(Step("mcp", "run", path, command=remove))
            return (remove,), True
        if state == "present":
            steps.append(Step("mcp", "none", path, detail="is registered"))
            return (), True
        add = mcp.command.add(self.given)
        if not (can_run and add) or (state == "other" and record.registration is None):
            return (), False
        before = (remove,) if state == "other" else ()
        commands: tuple[tuple[str, ...], ...] = (*before, (self._found.executable, *add))
        steps.extend(Step("mcp", "run", path, command=one) for one in commands)
        return commands, True

    def _files(
        self, options: SetupOptions, record: AgentRecord, manifest: Manifest, *, is_registered: bool
    ) -> dict[str, tuple[tuple[Kind, ...], Callable[[], FilePlan]]]:
        """Return how each file is planned, by path: parts in the same file are one change."""
        configs: dict[str, list[tuple[Kind, ConfigFile, tuple[Edit, ...]]]] = {}
        planned: dict[str, tuple[tuple[Kind, ...], Callable[[], FilePlan]]] = {}
        for kind, part in self._parts(options, record):
            if kind == "mcp" and is_registered:
                continue
            path = file_path(part.place, self._machine)
            known = record.file(path)
            if isinstance(part, OwnFile):
                known = known or _of_another(path, manifest)
                planned[path] = ((kind,), partial(plan_own, path, kind, part.text(self.given), known))
            else:
                configs.setdefault(path, []).append((kind, part, part.edits(self.given)))
                of_kinds = tuple(dict.fromkeys(kind for kind, _, _ in configs[path]))
                planned[path] = (of_kinds, partial(plan_config, path, configs[path], known))
        for file in self._unwanted(options, record, is_registered=is_registered):
            if file.path not in planned:
                used = _is_used_by_another(file, manifest, self.install.slug)
                planned[file.path] = (file.kinds, partial(plan_removal, file, is_used_elsewhere=used))
        return planned

    def _unwanted(self, options: SetupOptions, record: AgentRecord, *, is_registered: bool) -> list[FileRecord]:
        """Return what is recorded of files, with what the agent's own command wrote where it must leave by our hand."""
        files = list(record.files)
        registration = record.registration
        if registration is None or is_registered or "mcp" in self._kinds(options):
            return files
        undo = KindUndo("mcp", registration.undo)
        same = record.file(registration.path)
        if same is None:
            files.append(FileRecord(registration.path, registration.form, ("mcp",), False, "", "", (undo,)))
        else:
            merged = msgspec.structs.replace(same, kinds=(*same.kinds, "mcp"), undos=(undo, *same.undos))
            files[files.index(same)] = merged
        return files

    def _parts(self, options: SetupOptions, record: AgentRecord) -> Iterator[tuple[Kind, Part]]:
        if options.mode is None:
            return
        kinds = self._kinds(options)
        if "mcp" in kinds and isinstance(self.install.mcp, Mcp):
            yield "mcp", self.install.mcp.file
        if "hooks" in kinds and not isinstance(self.install.hooks, Unsupported):
            yield "hooks", self.install.hooks.part
        if "skill" in kinds and not isinstance(self.install.skill, Unsupported):
            yield "skill", self.install.skill
        if options.turns_native_memory_off or any("native_memory" in file.kinds for file in record.files):
            for memory in self.install.native_memory:
                if memory.default_on or self._is_set(memory):
                    yield "native_memory", _turned_off(memory)

    def _kinds(self, options: SetupOptions) -> tuple[Kind, ...]:
        """Return what is to be written: nothing where our plug-in is turned on, because it would be there twice."""
        return KINDS[options.mode] if options.mode and not self._plugin else ()

    def _is_set(self, memory: NativeMemory) -> bool:
        """Return whether the settings mention a memory that is off by default (unreadable: planning says why)."""
        try:
            settings = read_settings(file_path(memory.place, self._machine))
            return settings.data is not None and value_at(load(settings.text, memory.format), memory.path) is not None
        except SettingsError:
            return True


def _turned_off(memory: NativeMemory) -> ConfigFile:
    edit = SetKey(memory.path, memory.off, overwrites=True)
    return ConfigFile(memory.place, memory.format, lambda _: (edit,))


def _of_another(path: str, manifest: Manifest) -> FileRecord | None:
    """Return what is recorded of a file of our own that another agent reads too."""
    found = (file for record in manifest.agents.values() if (file := record.file(path)) is not None)
    return next((file for file in found if file.form == "own"), None)


def _is_used_by_another(file: FileRecord, manifest: Manifest, slug: str) -> bool:
    """Return whether a file of our own serves another agent that is set up, too."""
    others = (record for name, record in manifest.agents.items() if name != slug)
    return file.form == "own" and any(record.file(file.path) is not None for record in others)


def _safely(path: str, kinds: Sequence[Kind], plan_one: Callable[[], FilePlan]) -> FilePlan:
    try:
        return plan_one()
    except SettingsError as error:
        return FilePlan(
            tuple(Step(kind, "blocked", path, detail=str(error), hint=error.hint) for kind in kinds), None, None
        )
