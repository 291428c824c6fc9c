"""Checks of agents: are all records readable, do they give events, is the set-up still in place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from recollect.agents.base import Adapter
from recollect.agents.install.contract import Hooks, HookTrust, Mcp
from recollect.agents.install.described import installs
from recollect.agents.install.documents import load, states_of
from recollect.agents.install.values import AppendItem, value_at
from recollect.agents.registry import failures, strangers
from recollect.capture.detect_agents import sort_out
from recollect.capture.discover import discover, roots_of, shared_roots
from recollect.capture.expand import database_problems
from recollect.capture.rejected_events import REASONS, hook_spool
from recollect.capture.sources import read_head
from recollect.errors import RecollectError, SettingsError
from recollect.maintenance.home_checks import DoctorContext
from recollect.maintenance.reports import Check
from recollect.maintenance.service.job import load_service
from recollect.maintenance.setup.agent_settings import NAME as MANIFEST
from recollect.maintenance.setup.agent_settings import AgentRecord, FileRecord, Manifest, load_manifest, read_settings
from recollect.maintenance.setup.discovery import (
    FoundAgent,
    Launch,
    Machine,
    file_path,
    find_agent,
    hooks_turned_off,
    native_memory_notes,
    plugin_turned_on,
    probe_server,
    registered_launch,
    this_machine,
)
from recollect.maintenance.setup.planner import KINDS, SetupOptions, SetupPlanner
from recollect.paths import SPOOL_FOLDER, expand
from recollect.store.reader import Reader
from recollect.units import plural
from recollect.wire import BAD_FOLDER

OUTDATED = (
    "is not as this installation of Recollect would write it: it is of another version, it moved, or its configuration "
    "changed"
)
"""Nothing was edited by hand: setting up again changes only what is ours."""


class SetUpAgent(NamedTuple):
    """An agent that was set up, for the memory in `home`."""

    home: Path
    machine: Machine
    found: FoundAgent
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
        yield _check(SetUpAgent(home, machine, found, record), manifest, launches)


def _check(target: SetUpAgent, manifest: Manifest, launches: dict[Launch, Check]) -> Check:
    name = f"setup {target.slug}"
    problems = list(_problems(target, launches))
    notes = [*native_memory_notes(target.found.install, target.machine), *_cross_reads(target, manifest)]
    details = tuple(text for text, _ in (*problems, *notes))
    if problems:
        family = "outdated" if problems[0][0] == OUTDATED else "setup"
        return Check(name, "warn", *problems[0], details if len(details) > 1 else (), id=family)
    said = "; ".join((f"{target.record.mode}, as it was set up", *(text for text, _ in notes)))
    return Check(name, "ok", said, notes[0][1] if notes else "")


def _problems(target: SetUpAgent, launches: dict[Launch, Check]) -> Iterator[tuple[str, str]]:
    again = f"run `recollect setup {target.slug}` again"
    if not target.found.is_installed:
        yield "the agent is gone", f"`recollect setup {target.slug} --remove` removes what is left"
        return
    if plugin_turned_on(target.found.install, target.machine):
        hint = f"take one of them out: the plug-in in the agent, or `recollect setup {target.slug} --remove`"
        yield "our plug-in is turned on too, so every hook runs twice", hint
        return
    file_problems = [text for file in target.record.files if (text := _file_problem(file))]
    yield from ((text, again) for text in file_problems)
    if "mcp" in KINDS[target.record.mode] and isinstance(target.found.install.mcp, Mcp):
        yield from _server_problem(target, launches, again)
    if "hooks" in KINDS[target.record.mode]:
        yield from _hook_problems(target)
    plan = SetupPlanner(target.home, target.machine, target.found).plan(SetupOptions(target.record.mode))
    if (plan.changes or plan.commands) and not file_problems:
        yield OUTDATED, again


def _server_problem(target: SetUpAgent, launches: dict[Launch, Check], again: str) -> Iterator[tuple[str, str]]:
    """Start the registered server, once for all agents that start it the same way."""
    try:
        launch = registered_launch(target.found, target.machine)
    except SettingsError as error:
        yield str(error), again
        return
    if launch is None:
        yield "no server of ours is registered", again
        return
    if launch not in launches:
        launches[launch] = probe_server(launch, target.machine.env)
    probe = launches[launch]
    if probe.state == "fail":
        yield probe.detail, again


def _hook_problems(target: SetUpAgent) -> Iterator[tuple[str, str]]:
    hooks = target.found.install.hooks
    if not isinstance(hooks, Hooks):
        return
    if hooks.trust is not None:
        allowed, all_of_them = _allowed(hooks.trust, target.machine, target.record)
        if allowed is not None and allowed < all_of_them:
            yield f"{allowed} of {all_of_them} hooks are allowed in the agent", hooks.trust.step
    off = hooks_turned_off(target.found.install, target.machine)
    if off:
        yield f"the agent's settings turn hooks off: {off}", "turn them on there, or use `--mode pull`"


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
        return f"{file.path} was changed: {lost} of {len(states)} of our settings are missing or edited"
    doubled = any(
        isinstance(k.undo.edit, AppendItem) and value_at(data, k.undo.edit.path).count(k.undo.edit.value) > 1
        for k in file.undos
    )
    return f"{file.path} has a hook of ours twice" if doubled else ""


def _cross_reads(target: SetUpAgent, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield a note where the agent also runs our hooks of another one that is set up."""
    for cross in target.found.install.cross_reads:
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


_NEARLY_ALL = 0.8
"""Of the sessions that an agent keeps: from here on the next ones soon cost the oldest."""
OLD_DROP_S = 24 * 3600
"""A hook's drop that waits for longer says that nothing takes it in."""


def agent_checks(context: DoctorContext, reader: Reader | None) -> Iterator[Check]:
    """Yield the checks of every agent. reader: None if nothing is stored or readable."""
    waiting = hooks(context)
    if waiting is not None:
        yield waiting
    off = [slug for slug in context.known if not context.config.agent(slug).enabled]
    for adapter in context.known.values():
        check = agent(context, adapter)
        if check is not None:
            yield check
        yield from soon_deleted(context, adapter)
    if off:
        text = f"{plural(len(off), 'agent')} switched off in the configuration"
        yield Check("agents off", "ok", text, details=tuple(off), id="agent")
    for slug, note in strangers(context.config.agents, context.known).items():
        yield Check(f"agent {slug}", "warn", note, "`recollect agents --all` lists them", id="agent")
    if reader is not None:
        yield from silent_agents(reader)
    for failure in failures(context.config.formats()):
        hint = f"the agent comes from {failure.source}; update or remove it"
        yield Check(f"agent {failure.slug}", "warn", f"cannot be loaded: {failure.reason}", hint, id="agent")
    yield from set_up(context)
    for folder in context.config.ingest.folders:
        yield folder_of_files(context, os.path.abspath(expand(folder, context.env)))


def soon_deleted(context: DoctorContext, adapter: Adapter) -> Iterator[Check]:
    """Warn of an agent that soon deletes sessions while nothing ingests them automatically."""
    slug, most = adapter.facts.slug, adapter.facts.keeps_sessions
    if not most or not context.config.agent(slug).enabled:
        return
    roots = roots_of(adapter, context.config, context.env)
    found = discover(adapter, roots, known_roles={}, read_head=read_head)
    count = sum(source.place.lane == 0 for source in found.sources)
    if count < most * _NEARLY_ALL or context.daemon().pid or _is_scheduled(context):
        return
    text = (
        f"{adapter.facts.name} keeps {most} sessions and has {count}: it deletes older ones, and no sync is scheduled"
    )
    hint = "`recollect service install` schedules it; `recollect sync` ingests what exists now"
    yield Check(f"agent {slug} deletes sessions", "warn", text, hint, id="deletes")


def _is_scheduled(context: DoctorContext) -> bool:
    try:
        return load_service(context.folder) is not None
    except RecollectError:
        return False  # the check of the service tells it


def silent_agents(reader: Reader) -> Iterator[Check]:
    """Yield a check for each agent whose files have records and gave no event: how a changed format first shows."""
    records: dict[str, int] = {}
    for source in reader.sources():
        records[source.agent] = records.get(source.agent, 0) + source.records
    events = {agent.agent: agent.events for agent in reader.stats().agents}
    for slug, number in sorted(records.items()):
        if number and not events.get(slug):
            text = f"{plural(number, 'record')} were read but gave no event: its format may have changed"
            hint = "see `recollect agents --drift`; a newer Recollect may read it"
            yield Check(f"agent {slug} gives nothing", "warn", text, hint, id="silent")


def program(context: DoctorContext) -> Check:
    """Say whether `recollect` is found where people, skills and services look for it."""
    found = shutil.which("recollect", path=context.env.get("PATH", os.defpath))
    if found:
        return Check("program", "ok", found)
    state: Literal["ok", "warn"] = "warn" if (context.folder / MANIFEST).exists() else "ok"
    hint = "add its folder to PATH; installed hooks call it by its full path"
    return Check("program", state, "`recollect` is not on the PATH", hint)


def set_up(context: DoctorContext) -> Iterator[Check]:
    """Say of every agent that was set up whether that still holds."""
    if not (context.folder / MANIFEST).exists():
        return
    try:
        machine = this_machine(
            context.folder,
            context.env,
            answers_prompts=context.config.context.per_prompt,
            writes=context.config.mcp.writing_tools,
        )
    except RecollectError as error:
        yield Check("setup", "fail", str(error), error.hint)
        return
    yield from setup_checks(context.folder, machine)


def hooks(context: DoctorContext) -> Check | None:
    """Say what hooks left that waits or could not be taken, and why; None where no hook ever left anything."""
    spool = context.folder / SPOOL_FOLDER
    found = hook_spool(str(spool))
    if found is None:
        return None
    if not found.is_writable:
        return Check(
            "hooks", "fail", f"{spool} cannot be written, so hooks cannot spool events", f"chmod u+rwx {spool}"
        )
    age_s = oldest_drop_s(spool, context.now_us)
    waiting = f"{plural(found.waiting, 'event')} of hooks waiting for the next sync"
    if age_s > OLD_DROP_S:
        text = f"{waiting}, the oldest for {plural(round(age_s / 86_400), 'day')}: nothing ingests them"
        return Check("hooks", "warn", text, "run `recollect sync`, or `recollect up --detach`")
    if not found.aside:
        return Check("hooks", "ok", waiting)
    details = tuple(
        f"{reason.replace('_', ' ')}: {number:,} ({REASONS.get(reason, 'of another version')})"
        for reason, number in sorted(found.aside.items())
    )
    text = f"{waiting}; {plural(sum(found.aside.values()), 'event')} not ingested: {'; '.join(details)}"
    return Check(
        "hooks",
        "warn",
        text,
        f"rejected events are in {spool / BAD_FOLDER}; delete them if you do not need them",
        details,
    )


def oldest_drop_s(spool: Path, now_us: int) -> float:
    """Return for how long the oldest drop of a hook has been waiting, 0 for none."""
    times = []
    with suppress(OSError), os.scandir(spool) as entries:
        for entry in entries:
            if entry.name.endswith(".json"):
                with suppress(FileNotFoundError):
                    times.append(entry.stat().st_mtime)
    return max(0.0, now_us / 1_000_000 - min(times)) if times else 0.0


def folder_of_files(context: DoctorContext, folder: str) -> Check:
    """Say what of a named folder was not taken, and why; all of it in `details`."""
    name = f"folder {folder}"
    if not os.path.isdir(folder):
        return Check(name, "warn", "is not there", "mount it, or remove it from [ingest] folders")
    found = sort_out(folder, context.known, known={}, read_head=read_head)
    sources = [source for of_agent in found.sources.values() for source in of_agent]
    unreadable = database_problems(sources)
    untaken = [*found.untaken, *unreadable]
    taken = len(sources) - len(unreadable)
    if not untaken:
        return Check(name, "ok", plural(taken, "source"))
    reasons: dict[str, int] = {}
    for refused in untaken:
        reasons[refused.reason] = reasons.get(refused.reason, 0) + 1
    why = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items(), key=lambda r: -r[1]))
    text = f"{plural(taken, 'source')}; {plural(len(untaken), 'file')} not taken: {why}"
    details = tuple(f"{r.path}: {r.reason}" for r in untaken)
    return Check(name, "ok", text, "`recollect doctor --json` lists them", details)


def agent(context: DoctorContext, adapter: Adapter) -> Check | None:
    """Return what is found of an agent, None for one that is not on this machine or switched off."""
    slug = adapter.facts.slug
    if not context.config.agent(slug).enabled:
        return None
    roots = roots_of(adapter, context.config, context.env)
    found = discover(adapter, roots, known_roles={}, read_head=read_head)
    if not found.roots:
        return None
    unreadable = [s.path for s in found.sources if not os.access(s.path, os.R_OK)]
    refused = [f"{r.path} {r.reason}" for r in (*found.refused, *database_problems(found.sources))]
    refused += [f"{p} cannot be read" for p in unreadable]
    if refused:
        more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
        return Check(f"agent {slug}", "warn", f"{plural(len(found.sources), 'source')}; {refused[0]}{more}")
    if not found.sources:
        all_roots = (roots_of(known, context.config, context.env) for known in context.known.values())
        if set(found.roots) <= shared_roots(all_roots, context.env):
            return None
        return Check(f"agent {slug}", "warn", f"{', '.join(found.roots)} holds no sessions")
    return Check(f"agent {slug}", "ok", f"{plural(len(found.sources), 'source')} in {', '.join(found.roots)}")
