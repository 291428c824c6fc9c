"""Carries out a plan: the manifest first, then the file, then the manifest again.

Killed at any point, the same command can be run again: the manifest names at least what is there, and what isn't there
is not taken out twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from recollect.agents.installing.contract import Mcp
from recollect.agents.installing.editing.documents import load
from recollect.agents.installing.editing.edits import Patch, Undo
from recollect.agents.installing.editing.values import levels_made
from recollect.errors import SettingsChanged
from recollect.maintenance.setup.commands import run_command
from recollect.maintenance.setup.files import (
    delete_settings,
    missing_folders,
    read_settings,
    remove_empty,
    replace_settings,
)
from recollect.maintenance.setup.manifest import (
    AgentRecord,
    FileRecord,
    Mode,
    Registration,
    load_manifest,
    save_manifest,
    with_agent,
    with_file,
)
from recollect.maintenance.setup.planner import AgentPlan, Planner, Wish
from recollect.maintenance.setup.plans import FileChange, Step

BACKUPS = "setup-backups"
"""The folder in the memory's home with the first bytes of the files that setup changed."""
_NO_PATCH = Patch("", "", "", "")
"""The agent's own command wrote the file; only its keys tell what is ours."""


class Carrier:
    """Carries out plans for one agent."""

    def __init__(self, home: Path, planner: Planner, env: Mapping[str, str]) -> None:
        self._home = home
        self._planner = planner
        self._slug = planner.install.slug
        self._env = env

    def carry_out(self, plan: AgentPlan, wish: Wish) -> tuple[Step, ...]:
        """Do what a plan says and return the steps as they went.

        Raises SettingsChanged when a file is not as planned; SettingsError when one cannot be written. What was done
        before it stays, and is recorded.
        """
        for change in plan.changes:
            if read_settings(change.before.path).sha256 != change.before.sha256:
                raise SettingsChanged(
                    f"{change.before.path} was changed by somebody else meanwhile", hint="run the same command again"
                )
        ran: tuple[Step, ...] = ()
        if plan.commands:
            ran = self._run(plan.commands, wish)
            plan = self._planner.plan(wish._replace(uses_commands=False))
        for change in plan.changes:
            self._write(change, wish.mode)
        for file in plan.records:
            known = msgspec.structs.replace(file, folders=(self._known(file.path) or file).folders)
            self._save(_recording(known), wish.mode)
            if not known.kinds:
                remove_empty(known.folders)
                self._hand_on(known)
        self._close(wish)
        repeated = {(step.kind, step.action) for step in ran}
        steps = [s for s in plan.steps if s.action != "none" or not any(kind == s.kind for kind, _ in repeated)]
        return (*ran, *steps)

    def _run(self, commands: Sequence[tuple[str, ...]], wish: Wish) -> tuple[Step, ...]:
        mcp = self._planner.install.mcp
        if not isinstance(mcp, Mcp):
            return ()
        path = self._planner.registered_path()
        before = read_settings(path)
        edit = mcp.file.edits(self._planner.given)[0]
        if wish.mode is not None:  # said before it happens: a crash leaves a registration that can be taken out
            made = levels_made(load(before.text, mcp.file.format) if before.data else {}, edit)
            registration = Registration(path, mcp.file.format, Undo(edit, made, _NO_PATCH))
            self._save(lambda record: msgspec.structs.replace(record, registration=registration), wish.mode)
        steps: list[Step] = []
        for argv in commands:
            ran = run_command(argv, self._env)
            if not ran.is_ok:
                steps.append(Step("mcp", "blocked", path, command=argv, detail=f"{ran.detail}; the file is edited"))
                break
            steps.append(Step("mcp", "run", path, command=argv))
        if wish.mode is not None and self._planner.registered() != "present":
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

    def _close(self, wish: Wish) -> None:
        """Forget a registration that was taken out, and an agent of which nothing is left."""
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
