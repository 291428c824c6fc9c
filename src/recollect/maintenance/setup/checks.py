"""What doctor says of the agents that were set up: is what setup wrote still there, and who else speaks up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from recollect.agents.installing.catalogue import installs
from recollect.agents.installing.contract import Hooks, HookTrust, Mcp
from recollect.agents.installing.editing.documents import load, states_of
from recollect.agents.installing.editing.edits import AppendItem
from recollect.agents.installing.editing.values import value_at
from recollect.errors import RecollectError, SettingsError
from recollect.maintenance.reports import Check
from recollect.maintenance.setup.agent_settings import hooks_turned_off, native_memory_notes, plugin_turned_on
from recollect.maintenance.setup.discovery import Found, Machine, file_path, find_agent
from recollect.maintenance.setup.files import read_settings
from recollect.maintenance.setup.manifest import AgentRecord, FileRecord, Manifest, load_manifest
from recollect.maintenance.setup.planner import KINDS, Planner, Wish
from recollect.maintenance.setup.probes import Launch, probe_server, registered_launch

OUTDATED = (
    "is not as this installation of Recollect would write it: it is of another version, it moved, or its configuration "
    "changed"
)
"""Nothing was edited by hand: setting up again changes only what is ours."""


class Desk(NamedTuple):
    """An agent that was set up, for the memory in `home`."""

    home: Path
    machine: Machine
    found: Found
    record: AgentRecord

    @property
    def slug(self) -> str:
        """The agent's slug."""
        return self.found.install.slug


def setup_checks(home: Path, machine: Machine) -> Iterator[Check]:
    """Yield a check for every agent that was set up. Reads only; never raises for what it finds."""
    try:
        manifest = load_manifest(home)
    except SettingsError as error:
        yield Check("setup", "fail", str(error), error.hint)
        return
    launches: dict[Launch, Check] = {}
    for slug, record in manifest.agents.items():
        install = installs().get(slug)
        if install is None:
            yield Check(f"setup {slug}", "warn", "was set up by another version of Recollect")
            continue
        found = find_agent(install, machine, ask_version=install.depends_on_version)
        yield _check(Desk(home, machine, found, record), manifest, launches)


def _check(desk: Desk, manifest: Manifest, launches: dict[Launch, Check]) -> Check:
    name = f"setup {desk.slug}"
    problems = list(_problems(desk, launches))
    notes = [*native_memory_notes(desk.found.install, desk.machine), *_cross_reads(desk, manifest)]
    details = tuple(text for text, _ in (*problems, *notes))
    if problems:
        family = "outdated" if problems[0][0] == OUTDATED else "setup"
        return Check(name, "warn", *problems[0], details if len(details) > 1 else (), id=family)
    said = "; ".join((f"{desk.record.mode}, as it was set up", *(text for text, _ in notes)))
    return Check(name, "ok", said, notes[0][1] if notes else "")


def _problems(desk: Desk, launches: dict[Launch, Check]) -> Iterator[tuple[str, str]]:
    again = f"run `recollect setup {desk.slug}` again"
    if not desk.found.is_installed:
        yield "the agent is gone", f"`recollect setup {desk.slug} --remove` takes out what is left"
        return
    if plugin_turned_on(desk.found.install, desk.machine):
        hint = f"take one of them out: the plug-in in the agent, or `recollect setup {desk.slug} --remove`"
        yield "our plug-in is turned on too, so every hook runs twice", hint
        return
    file_problems = [text for file in desk.record.files if (text := _file_problem(file))]
    yield from ((text, again) for text in file_problems)
    if "mcp" in KINDS[desk.record.mode] and isinstance(desk.found.install.mcp, Mcp):
        yield from _server_problem(desk, launches, again)
    if "hooks" in KINDS[desk.record.mode]:
        yield from _hook_problems(desk)
    plan = Planner(desk.home, desk.machine, desk.found).plan(Wish(desk.record.mode))
    if (plan.changes or plan.commands) and not file_problems:
        yield OUTDATED, again


def _server_problem(desk: Desk, launches: dict[Launch, Check], again: str) -> Iterator[tuple[str, str]]:
    """Start the registered server, once for all agents that start it the same way."""
    try:
        launch = registered_launch(desk.found, desk.machine)
    except SettingsError as error:
        yield str(error), again
        return
    if launch is None:
        yield "no server of ours is registered", again
        return
    if launch not in launches:
        launches[launch] = probe_server(launch, desk.machine.env)
    probe = launches[launch]
    if probe.state == "fail":
        yield probe.detail, again


def _hook_problems(desk: Desk) -> Iterator[tuple[str, str]]:
    hooks = desk.found.install.hooks
    if not isinstance(hooks, Hooks):
        return
    if hooks.trust is not None:
        allowed, all_of_them = _allowed(hooks.trust, desk.machine, desk.record)
        if allowed is not None and allowed < all_of_them:
            yield f"{allowed} of {all_of_them} hooks are allowed in the agent", hooks.trust.step
    off = hooks_turned_off(desk.found.install, desk.machine)
    if off:
        yield f"the agent was told to run no hooks: {off}", "turn them on there, or use `--mode pull`"


def _file_problem(file: FileRecord) -> str:
    try:
        settings = read_settings(file.path)
        if settings.data is None:
            return f"{file.path} is gone"
        if file.form == "own":
            return "" if settings.sha256 == file.after_sha256 else f"{file.path} was changed by hand"
        states = states_of(settings.text, file.form, [k.undo.edit for k in file.undos])
        data = load(settings.text, file.form)
    except RecollectError as error:
        return str(error)
    lost = sum(state != "present" for state in states)
    if lost:
        return f"{file.path} was changed: {lost} of {len(states)} settings of ours are lost or edited"
    doubled = any(
        isinstance(k.undo.edit, AppendItem) and value_at(data, k.undo.edit.path).count(k.undo.edit.value) > 1
        for k in file.undos
    )
    return f"{file.path} has a hook of ours twice" if doubled else ""


def _cross_reads(desk: Desk, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield a note where the agent also runs our hooks of another one that is set up."""
    for cross in desk.found.install.cross_reads:
        other = manifest.agents.get(cross.slug)
        if other is not None and "hooks" in KINDS[other.mode]:
            yield cross.note, ""


def _allowed(trust: HookTrust, machine: Machine, record: AgentRecord) -> tuple[int | None, int]:
    """Return how many of our hooks the agent was told that they may run (None: unknown), and how many there are."""
    edits = [
        (file, one.undo.edit)
        for file in record.files
        for one in file.undos
        if one.kind == "hooks" and isinstance(one.undo.edit, AppendItem)
    ]
    try:
        settings = read_settings(file_path(trust.place, machine))
        trusted = load(settings.text, trust.format) if settings.data else {}
        if trust.count is not None:
            return trust.count(trusted), len(edits)
        allowed = 0
        for file, edit in edits:
            items = _items(file, edit)
            if trust.allows is not None and edit.value in items:
                allowed += trust.allows(trusted, file.path, edit.path[-1], items.index(edit.value))
    except SettingsError:
        return None, len(edits)
    return allowed, len(edits)


def _items(file: FileRecord, edit: AppendItem) -> list[Any]:
    settings = read_settings(file.path)
    if settings.data is None or file.form == "own":
        return []
    items = value_at(load(settings.text, file.form), edit.path)
    return items if isinstance(items, list) else []
