"""The plan for one agent: which of its files change, which of its own commands run, and what is left alone and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect.agents.installing.contract import ConfigFile, Given, Mcp, NativeMemory, OwnFile, Part, Unsupported
from recollect.agents.installing.editing.documents import load
from recollect.agents.installing.editing.edits import Edit, SetKey
from recollect.agents.installing.editing.values import State, holds, named_as_in, state_of, value_at
from recollect.errors import SettingsError
from recollect.maintenance.setup.agent_settings import plugin_turned_on
from recollect.maintenance.setup.discovery import Found, Machine, file_path, given_for
from recollect.maintenance.setup.files import read_settings
from recollect.maintenance.setup.manifest import AgentRecord, FileRecord, Kind, KindUndo, Manifest, Mode, load_manifest
from recollect.maintenance.setup.plans import (
    FileChange,
    FilePlan,
    Step,
    plan_config,
    plan_own,
    plan_removal,
    unsupported_steps,
)

KINDS: dict[Mode, tuple[Kind, ...]] = {"pull": ("mcp", "skill"), "push": ("hooks",), "both": ("mcp", "hooks", "skill")}
"""What each choice writes. pull: tools in the agent's hands. push: we are called at its events. both: both."""


class Wish(NamedTuple):
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


class Planner:
    """Plans for one agent on this machine. Reads only; every plan is made from what is on the disk now."""

    def __init__(self, home: Path, machine: Machine, found: Found) -> None:
        self.install = found.install
        self.given: Given = given_for(found, machine)
        self._home = home
        self._machine = machine
        self._found = found
        self._plugin = plugin_turned_on(found.install, machine)

    def plan(self, wish: Wish) -> AgentPlan:
        """Return what would be done. What cannot be done is a step that says so."""
        manifest = load_manifest(self._home)
        record = manifest.agents.get(self.install.slug) or AgentRecord(wish.mode or "both")
        steps = unsupported_steps(self.install, self._kinds(wish))
        if wish.mode and self._plugin:
            detail = "our plug-in brings it; turn that off in the agent to have it here"
            steps = [Step(kind, "none", self._plugin, detail=detail) for kind in KINDS[wish.mode]]
        commands, is_registered = self._commands(wish, record, steps)
        changes: list[FileChange] = []
        records: list[FileRecord] = []
        for path, (of_kinds, plan_one) in self._files(wish, record, manifest, is_registered=is_registered).items():
            made = _safely(path, of_kinds, plan_one)
            steps.extend(made.steps)
            if made.change is not None:
                changes.append(made.change)
            elif made.record is not None:
                records.append(made.record)
        return AgentPlan(tuple(steps), commands, tuple(changes), tuple(records))

    def registered_path(self) -> str:
        """Return the file that our server stands in, empty where the agent takes none."""
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

    def _commands(self, wish: Wish, record: AgentRecord, steps: list[Step]) -> tuple[tuple[tuple[str, ...], ...], bool]:
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
        can_run = bool(wish.uses_commands and self._found.executable)
        remove = (self._found.executable, *mcp.command.remove)
        if "mcp" not in self._kinds(wish):
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
        self, wish: Wish, record: AgentRecord, manifest: Manifest, *, is_registered: bool
    ) -> dict[str, tuple[tuple[Kind, ...], Callable[[], FilePlan]]]:
        """Return how each file is planned, by path: parts in the same file are one change."""
        configs: dict[str, list[tuple[Kind, ConfigFile, tuple[Edit, ...]]]] = {}
        planned: dict[str, tuple[tuple[Kind, ...], Callable[[], FilePlan]]] = {}
        for kind, part in self._parts(wish, record):
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
        for file in self._unwanted(wish, record, is_registered=is_registered):
            if file.path not in planned:
                used = _is_used_by_another(file, manifest, self.install.slug)
                planned[file.path] = (file.kinds, partial(plan_removal, file, is_used_elsewhere=used))
        return planned

    def _unwanted(self, wish: Wish, record: AgentRecord, *, is_registered: bool) -> list[FileRecord]:
        """Return what is recorded of files, with what the agent's own command wrote where it must leave by our hand."""
        files = list(record.files)
        registration = record.registration
        if registration is None or is_registered or "mcp" in self._kinds(wish):
            return files
        undo = KindUndo("mcp", registration.undo)
        same = record.file(registration.path)
        if same is None:
            files.append(FileRecord(registration.path, registration.form, ("mcp",), False, "", "", (undo,)))
        else:
            merged = msgspec.structs.replace(same, kinds=(*same.kinds, "mcp"), undos=(undo, *same.undos))
            files[files.index(same)] = merged
        return files

    def _parts(self, wish: Wish, record: AgentRecord) -> Iterator[tuple[Kind, Part]]:
        if wish.mode is None:
            return
        kinds = self._kinds(wish)
        if "mcp" in kinds and isinstance(self.install.mcp, Mcp):
            yield "mcp", self.install.mcp.file
        if "hooks" in kinds and not isinstance(self.install.hooks, Unsupported):
            yield "hooks", self.install.hooks.part
        if "skill" in kinds and not isinstance(self.install.skill, Unsupported):
            yield "skill", self.install.skill
        if wish.turns_native_memory_off or any("native_memory" in file.kinds for file in record.files):
            for memory in self.install.native_memory:
                if memory.default_on or self._is_set(memory):
                    yield "native_memory", _turned_off(memory)

    def _kinds(self, wish: Wish) -> tuple[Kind, ...]:
        """Return what is to be written: nothing where our plug-in is turned on, because it would be there twice."""
        return KINDS[wish.mode] if wish.mode and not self._plugin else ()

    def _is_set(self, memory: NativeMemory) -> bool:
        """Tell whether the settings say anything of a memory that is off by itself (unreadable: planning says why)."""
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
    """Tell whether a file of our own serves another agent that is set up, too."""
    others = (record for name, record in manifest.agents.items() if name != slug)
    return file.form == "own" and any(record.file(file.path) is not None for record in others)


def _safely(path: str, kinds: Sequence[Kind], plan_one: Callable[[], FilePlan]) -> FilePlan:
    try:
        return plan_one()
    except SettingsError as error:
        return FilePlan(
            tuple(Step(kind, "blocked", path, detail=str(error), hint=error.hint) for kind in kinds), None, None
        )
