"""Sets up one agent: plan, consent, execution, report.

A plan is carried out so that a crash leaves nothing unknown: the manifest first, then the file, then the manifest
again. The same command can be run again; what isn't there is not taken out twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from recollect.agents.install.contract import Hooks, Install, Mcp
from recollect.agents.install.described import installs
from recollect.agents.install.documents import load
from recollect.agents.install.values import Patch, Undo, levels_made
from recollect.errors import SettingsChanged, SettingsError
from recollect.maintenance.reports import Check
from recollect.maintenance.setup.agent_settings import (
    AgentRecord,
    FileRecord,
    Mode,
    Registration,
    delete_settings,
    load_manifest,
    missing_folders,
    read_settings,
    remove_empty,
    replace_settings,
    save_manifest,
    with_agent,
    with_file,
)
from recollect.maintenance.setup.discovery import (
    FoundAgent,
    Machine,
    find_agent,
    hooks_turned_off,
    native_memory_notes,
    probe_hook,
    probe_server,
    registered_launch,
    run_command,
)
from recollect.maintenance.setup.planner import KINDS, AgentPlan, FileChange, SetupOptions, SetupPlanner, Step

BACKUPS = "setup-backups"
"""The folder in the memory's home with the first bytes of the files that setup changed."""
_NO_PATCH = Patch("", "", "", "")
"""The agent's own command wrote the file; only its keys tell what is ours."""


class Carrier:
    """Carries out plans for one agent."""

    def __init__(self, home: Path, planner: SetupPlanner, env: Mapping[str, str]) -> None:
        self._home = home
        self._planner = planner
        self._slug = planner.install.slug
        self._env = env

    def carry_out(self, plan: AgentPlan, options: SetupOptions) -> tuple[Step, ...]:
        """Do what a plan says and return the steps as they went.

        Raises SettingsChanged when a file is not as planned; SettingsError when one cannot be written. What was done
        before it stays, and is recorded.
        """
        for change in plan.changes:
            if read_settings(change.before.path).sha256 != change.before.sha256:
                raise SettingsChanged(
                    f"{change.before.path} was changed by another program meanwhile", hint="run the same command again"
                )
        ran: tuple[Step, ...] = ()
        if plan.commands:
            ran = self._run(plan.commands, options)
            plan = self._planner.plan(options._replace(uses_commands=False))
        for change in plan.changes:
            self._write(change, options.mode)
        for file in plan.records:
            known = msgspec.structs.replace(file, folders=(self._known(file.path) or file).folders)
            self._save(_recording(known), options.mode)
            if not known.kinds:
                remove_empty(known.folders)
                self._hand_on(known)
        self._close(options)
        repeated = {(step.kind, step.action) for step in ran}
        steps = [s for s in plan.steps if s.action != "none" or not any(kind == s.kind for kind, _ in repeated)]
        return (*ran, *steps)

    def _run(self, commands: Sequence[tuple[str, ...]], options: SetupOptions) -> tuple[Step, ...]:
        mcp = self._planner.install.mcp
        if not isinstance(mcp, Mcp):
            return ()
        path = self._planner.registered_path()
        before = read_settings(path)
        edit = mcp.file.edits(self._planner.given)[0]
        if options.mode is not None:  # said before it happens: a crash leaves a registration that can be taken out
            made = levels_made(load(before.text, mcp.file.format) if before.data else {}, edit)
            registration = Registration(path, mcp.file.format, Undo(edit, made, _NO_PATCH))
            self._save(lambda record: msgspec.structs.replace(record, registration=registration), options.mode)
        steps: list[Step] = []
        for argv in commands:
            ran = run_command(argv, self._env)
            if not ran.is_ok:
                steps.append(Step("mcp", "blocked", path, command=argv, detail=f"{ran.detail}; the file is edited"))
                break
            steps.append(Step("mcp", "run", path, command=argv))
        if options.mode is not None and self._planner.registered() != "present":
            self._save(lambda record: msgspec.structs.replace(record, registration=None))
        return tuple(steps)

    def _write(self, change: FileChange, mode: Mode | None) -> None:
        known = self._known(change.record.path) or change.record
        folders = tuple(dict.fromkeys((*known.folders, *missing_folders(change.before))))
        intent, record = (msgspec.structs.replace(one, folders=folders) for one in (change.intent, change.record))
        if change.before.data is not None and not intent.backup and not intent.made:
            backup = self._keep_backup(change)
            intent = msgspec.structs.replace(intent, backup=backup)
            record = msgspec.structs.replace(record, backup=backup)
        self._save(_recording(intent), mode)
        if change.after is None:
            delete_settings(change.before, record.folders)
            self._hand_on(record)
        else:
            replace_settings(change.before, change.after)
        self._save(_recording(record), mode)
        if not record.kinds and record.backup and read_settings(record.path).sha256 == record.before_sha256:
            kept = read_settings(record.backup)
            if kept.data is not None:  # the file is again what it was; one that isn't keeps its backup
                delete_settings(kept, (str(self._home / BACKUPS),))

    def _known(self, path: str) -> FileRecord | None:
        agent = load_manifest(self._home).agents.get(self._slug)
        return agent.file(path) if agent is not None else None

    def _hand_on(self, gone: FileRecord) -> None:
        """Record the folders that were made for a file with another file of ours in them, of any agent."""
        folders = tuple(filter(os.path.isdir, gone.folders))
        manifest = load_manifest(self._home)
        others = [(slug, agent, file) for slug, agent in manifest.agents.items() for file in agent.files]
        for count in range(len(folders), 0, -1):
            for slug, agent, file in others:
                if file.path != gone.path and file.path.startswith(folders[count - 1] + os.sep):
                    made = tuple(dict.fromkeys((*folders[:count], *file.folders)))
                    changed = with_file(agent, msgspec.structs.replace(file, folders=made))
                    save_manifest(self._home, with_agent(manifest, slug, changed))
                    return

    def _keep_backup(self, change: FileChange) -> str:
        """Keep the first bytes of a file, private to the owner."""
        name = f"{change.before.sha256[:16]}-{os.path.basename(change.before.path)}"
        path = str(self._home / BACKUPS / name)
        kept = read_settings(path)
        if kept.data is None:
            replace_settings(kept, change.before.data or b"")
        return path

    def _close(self, options: SetupOptions) -> None:
        """Remove a deleted registration from the manifest, and an agent without any entry."""
        manifest = load_manifest(self._home)
        record = manifest.agents.get(self._slug)
        if record is None:
            return
        if record.registration is not None and self._planner.registered() == "absent":
            record = msgspec.structs.replace(record, registration=None)
        is_empty = not record.files and record.registration is None
        save_manifest(self._home, with_agent(manifest, self._slug, None if is_empty else record))

    def _save(self, change: Callable[[AgentRecord], AgentRecord], mode: Mode | None = None) -> None:
        manifest = load_manifest(self._home)
        known = manifest.agents.get(self._slug)
        old = known or AgentRecord(mode or "both")
        new = change(msgspec.structs.replace(old, mode=mode or old.mode))
        if new != known:
            save_manifest(self._home, with_agent(manifest, self._slug, new))


def _recording(file: FileRecord) -> Callable[[AgentRecord], AgentRecord]:
    return lambda record: with_file(record, file)


SetupState = Literal["not_found", "planned", "unchanged", "done", "incomplete", "failed"]
"""incomplete: done but for the steps that are blocked."""


class AgentReport(msgspec.Struct, frozen=True):
    """What setup would do, or did, with one agent.

    tries: the probes that follow, in words; probes: what they found. notes: what the person should know or do.
    """

    slug: str
    name: str
    state: SetupState
    version: str
    mode: Mode | Literal["remove"]
    steps: tuple[Step, ...]
    tries: tuple[str, ...] = ()
    probes: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""


class SetupReport(msgspec.Struct, frozen=True):
    """The result of `recollect setup`. ok: everything requested is in place. is_dry_run: nothing was done.

    settings: changes in Recollect's own configuration.
    """

    ok: bool
    is_dry_run: bool
    agents: tuple[AgentReport, ...]
    settings: tuple[Step, ...] = ()


class AgentSetup:
    """One agent on this machine, planned when it is made."""

    def __init__(self, home: Path, machine: Machine, install: Install, name: str, options: SetupOptions) -> None:
        self._home = home
        self._machine = machine
        self._options = options
        self._name = name
        self._found: FoundAgent = find_agent(install, machine)
        self._planner = SetupPlanner(home, machine, self._found)
        self._plan = self._planner.plan(options)
        self.planned = self._planned()

    def do(self, make_home: Callable[[], None]) -> AgentReport:
        """Carry out the plan and return the result. make_home: called before anything is written."""
        planned = self.planned
        if planned.state in ("not_found", "unchanged"):
            return self._report(planned.state, planned.steps, probes=self._probes())
        make_home()
        error = ""
        steps = planned.steps
        try:
            steps = Carrier(self._home, self._planner, self._machine.env).carry_out(self._plan, self._options)
        except SettingsError as failure:
            error = f"{failure}; {failure.hint}" if failure.hint else str(failure)
        if error:
            return self._report("failed", steps, error=error)
        is_blocked = any(step.action == "blocked" and not step.command for step in steps)
        return self._report("incomplete" if is_blocked else "done", steps, probes=self._probes())

    def _planned(self) -> AgentReport:
        steps = self._plan.steps
        recorded = load_manifest(self._home).agents.get(self._found.install.slug)
        if not self._found.is_installed and (self._options.mode is not None or recorded is None):
            return self._report("not_found", ())
        acts = bool(self._plan.commands or self._plan.changes)
        is_blocked = any(step.action == "blocked" for step in steps)
        forgets = self._options.mode is None and recorded is not None
        changes_mode = recorded is not None and recorded.mode != self._options.mode
        if acts or forgets or changes_mode:
            return self._report("planned", steps)
        return self._report("incomplete" if is_blocked else "unchanged", steps)

    def _report(
        self, state: SetupState, steps: tuple[Step, ...], *, probes: tuple[Check, ...] = (), error: str = ""
    ) -> AgentReport:
        notes = () if state == "not_found" else tuple(self._notes())
        mode = self._options.mode or "remove"
        slug = self._found.install.slug
        tries = () if state == "not_found" else tuple(self._tries())
        version = self._found.version
        return AgentReport(slug, self._name, state, version, mode, steps, tries, probes, notes, error)

    def _tries(self) -> Iterator[str]:
        kinds = KINDS[self._options.mode] if self._options.mode else ()
        if "mcp" in kinds and isinstance(self._found.install.mcp, Mcp):
            server = self._planner.given.server
            yield f"start `{' '.join((server.command, *server.args))}` as it is registered and ask for its tools"
        if "hooks" in kinds and isinstance(self._found.install.hooks, Hooks):
            yield "run the hook once, with a separate spool"

    def _notes(self) -> Iterator[str]:
        install = self._found.install
        if self._options.mode is None:
            return
        kinds = KINDS[self._options.mode]
        if not self._options.turns_native_memory_off:
            yield from (f"{what}; {hint}" for what, hint in native_memory_notes(install, self._machine))
        if "hooks" in kinds and isinstance(install.hooks, Hooks):
            if install.hooks.note:
                yield install.hooks.note
            if install.hooks.trust is not None:
                yield install.hooks.trust.step
            if off := hooks_turned_off(install, self._machine):
                yield f"the agent's settings turn hooks off: {off}"
            yield from self._cross_reads()
        yield from install.steps

    def _cross_reads(self) -> Iterator[str]:
        """Yield a note for every agent here that also runs another one's hooks of ours: this one, or this one's."""
        agents = load_manifest(self._home).agents
        with_hooks = {slug for slug, record in agents.items() if "hooks" in KINDS[record.mode]}
        slug = self._found.install.slug
        for reader, install in installs().items():
            for cross in install.cross_reads:
                is_ours = reader == slug and cross.slug in with_hooks
                if is_ours or (
                    cross.slug == slug and find_agent(install, self._machine, ask_version=False).is_installed
                ):
                    yield cross.note

    def _probes(self) -> tuple[Check, ...]:
        if self._options.mode is None or not self._found.is_installed:
            return ()
        made: list[Check] = []
        kinds = KINDS[self._options.mode]
        if "mcp" in kinds:
            try:
                launch = registered_launch(self._found, self._machine)
            except SettingsError as error:
                made.append(Check("MCP server", "fail", str(error), error.hint))
            else:
                if launch is not None:
                    made.append(probe_server(launch, self._machine.env))
        if "hooks" in kinds and isinstance(self._found.install.hooks, Hooks):
            made.append(probe_hook(self._found, self._machine))
        return tuple(made)
