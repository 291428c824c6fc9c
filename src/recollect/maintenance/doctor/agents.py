"""Checks of the agents: can everything they write be read, do they give something, do hooks and settings still hold."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from recollect.agents.base import Adapter
from recollect.agents.registry import failures, strangers
from recollect.capture.discover import discover, roots_of, shared_roots
from recollect.capture.expand import database_problems
from recollect.capture.files import read_head
from recollect.capture.folders import sort_out
from recollect.capture.hook_spool import REASONS, hook_spool
from recollect.errors import RecollectError
from recollect.maintenance.doctor.context import Desk
from recollect.maintenance.reports import Check
from recollect.maintenance.service.record import load_record
from recollect.maintenance.setup.checks import setup_checks
from recollect.maintenance.setup.discovery import this_machine
from recollect.maintenance.setup.manifest import NAME as MANIFEST
from recollect.paths import SPOOL_FOLDER, expand
from recollect.store.ports import Reader
from recollect.units import plural
from recollect.wire import BAD_FOLDER

_NEARLY_ALL = 0.8
"""Of the sessions that an agent keeps: from here on the next ones soon cost the oldest."""
OLD_DROP_S = 24 * 3600
"""A hook's drop that waits for longer says that nothing takes it in."""


def agent_checks(desk: Desk, reader: Reader | None) -> Iterator[Check]:
    """Yield what there is to say of every agent. reader: None where nothing is stored or it cannot be read."""
    waiting = hooks(desk)
    if waiting is not None:
        yield waiting
    off = [slug for slug in desk.known if not desk.config.agent(slug).enabled]
    for adapter in desk.known.values():
        check = agent(desk, adapter)
        if check is not None:
            yield check
        yield from soon_deleted(desk, adapter)
    if off:
        text = f"{plural(len(off), 'agent')} switched off in the configuration"
        yield Check("agents off", "ok", text, details=tuple(off), id="agent")
    for slug, note in strangers(desk.config.agents, desk.known).items():
        yield Check(f"agent {slug}", "warn", note, "`recollect agents --all` lists them", id="agent")
    if reader is not None:
        yield from silent_agents(reader)
    for failure in failures(desk.config.formats()):
        hint = f"the agent comes from {failure.source}; update or remove it"
        yield Check(f"agent {failure.slug}", "warn", f"cannot be loaded: {failure.reason}", hint, id="agent")
    yield from set_up(desk)
    for folder in desk.config.ingest.folders:
        yield folder_of_files(desk, os.path.abspath(expand(folder, desk.env)))


def soon_deleted(desk: Desk, adapter: Adapter) -> Iterator[Check]:
    """Warn of an agent that soon deletes sessions, where nothing ingests them by itself."""
    slug, most = adapter.facts.slug, adapter.facts.keeps_sessions
    if not most or not desk.config.agent(slug).enabled:
        return
    roots = roots_of(adapter, desk.config, desk.env)
    found = discover(adapter, roots, known_roles={}, read_head=read_head)
    count = sum(source.place.lane == 0 for source in found.sources)
    if count < most * _NEARLY_ALL or desk.asks.daemon().pid or _is_scheduled(desk):
        return
    text = (
        f"{adapter.facts.name} keeps {most} sessions and has {count}: it deletes older ones, and no sync is scheduled"
    )
    hint = "`recollect service install` syncs by itself; `recollect sync` takes in what is there now"
    yield Check(f"agent {slug} deletes sessions", "warn", text, hint, id="deletes")


def _is_scheduled(desk: Desk) -> bool:
    try:
        return load_record(desk.folder) is not None
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
            text = f"{plural(number, 'record')} were read and not one event came of them: its format may have changed"
            hint = "see `recollect agents --drift`; a newer Recollect may read it"
            yield Check(f"agent {slug} gives nothing", "warn", text, hint, id="silent")


def program(desk: Desk) -> Check:
    """Say whether `recollect` is found where people, skills and services look for it."""
    found = shutil.which("recollect", path=desk.env.get("PATH", os.defpath))
    if found:
        return Check("program", "ok", found)
    state: Literal["ok", "warn"] = "warn" if (desk.folder / MANIFEST).exists() else "ok"
    hint = "add the folder that it is installed in to PATH; hooks that were set up call it by its full path"
    return Check("program", state, "`recollect` is not found on the PATH", hint)


def set_up(desk: Desk) -> Iterator[Check]:
    """Say of every agent that was set up whether that still holds."""
    if not (desk.folder / MANIFEST).exists():
        return
    try:
        machine = this_machine(
            desk.folder,
            desk.env,
            answers_prompts=desk.config.context.per_prompt,
            writes=desk.config.mcp.writing_tools,
        )
    except RecollectError as error:
        yield Check("setup", "fail", str(error), error.hint)
        return
    yield from setup_checks(desk.folder, machine)


def hooks(desk: Desk) -> Check | None:
    """Say what hooks left that waits or could not be taken, and why; None where no hook ever left anything."""
    spool = desk.folder / SPOOL_FOLDER
    found = hook_spool(str(spool))
    if found is None:
        return None
    if not found.is_writable:
        return Check("hooks", "fail", f"{spool} cannot be written: hooks keep nothing", f"chmod u+rwx {spool}")
    age_s = oldest_drop_s(spool, desk.now_us)
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
        "hooks", "warn", text, f"what was put aside lies in {spool / BAD_FOLDER}; delete it to forget it", details
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


def folder_of_files(desk: Desk, folder: str) -> Check:
    """Say what of a named folder was not taken, and why; all of it in `details`."""
    name = f"folder {folder}"
    if not os.path.isdir(folder):
        return Check(name, "warn", "is not there", "mount it, or take it out of [ingest] folders")
    found = sort_out(folder, desk.known, known={}, read_head=read_head)
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


def agent(desk: Desk, adapter: Adapter) -> Check | None:
    """Return what is found of an agent, None for one that is not on this machine or switched off."""
    slug = adapter.facts.slug
    if not desk.config.agent(slug).enabled:
        return None
    roots = roots_of(adapter, desk.config, desk.env)
    found = discover(adapter, roots, known_roles={}, read_head=read_head)
    if not found.roots:
        return None
    unreadable = [s.path for s in found.sources if not os.access(s.path, os.R_OK)]
    refused = [f"{r.path} {r.reason}" for r in (*found.refused, *database_problems(found.sources))]
    refused += [f"{p} cannot be read" for p in unreadable]
    if refused:
        more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
        return Check(f"agent {slug}", "warn", f"{plural(len(found.sources), 'source')}; {refused[0]}{more}")
    if not found.sources and set(found.roots) <= shared_roots(desk.known.values(), desk.config, desk.env):
        return None
    if not found.sources:
        return Check(f"agent {slug}", "warn", f"{', '.join(found.roots)} holds no sessions")
    return Check(f"agent {slug}", "ok", f"{plural(len(found.sources), 'source')} in {', '.join(found.roots)}")
