"""One agent from plan to report: what the command shows, what it does when the person agreed, and how it went."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from recollect.agents.installing.catalogue import installs
from recollect.agents.installing.contract import Hooks, Install, Mcp
from recollect.errors import SettingsError
from recollect.maintenance.reports import Check
from recollect.maintenance.setup.agent_settings import hooks_turned_off, native_memory_notes
from recollect.maintenance.setup.discovery import Found, Machine, find_agent
from recollect.maintenance.setup.execution import Carrier
from recollect.maintenance.setup.manifest import Mode, load_manifest
from recollect.maintenance.setup.planner import KINDS, Planner, Wish
from recollect.maintenance.setup.plans import Step
from recollect.maintenance.setup.probes import probe_hook, probe_server, registered_launch

State = Literal["not_found", "planned", "unchanged", "done", "incomplete", "failed"]
"""incomplete: done but for the steps that are blocked."""


class AgentReport(msgspec.Struct, frozen=True):
    """What setup would do, or did, with one agent.

    tries: the probes that follow, in words; probes: what they found. notes: what the person should know or do.
    """

    slug: str
    name: str
    state: State
    version: str
    mode: Mode | Literal["remove"]
    steps: tuple[Step, ...]
    tries: tuple[str, ...] = ()
    probes: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""


class SetupReport(msgspec.Struct, frozen=True):
    """The result of `recollect setup`. ok: nothing that was asked for is missing. is_dry_run: nothing was done.
    settings: what changes in Recollect's own configuration."""

    ok: bool
    is_dry_run: bool
    agents: tuple[AgentReport, ...]
    settings: tuple[Step, ...] = ()


class Work:
    """One agent on this machine, planned when it is made."""

    def __init__(self, home: Path, machine: Machine, install: Install, name: str, wish: Wish) -> None:
        self._home = home
        self._machine = machine
        self._wish = wish
        self._name = name
        self._found: Found = find_agent(install, machine)
        self._planner = Planner(home, machine, self._found)
        self._plan = self._planner.plan(wish)
        self.planned = self._planned()

    def do(self, make_home: Callable[[], None]) -> AgentReport:
        """Do what was planned and return how it went. make_home: called before anything is written."""
        planned = self.planned
        if planned.state in ("not_found", "unchanged"):
            return self._report(planned.state, planned.steps, probes=self._probes())
        make_home()
        error = ""
        steps = planned.steps
        try:
            steps = Carrier(self._home, self._planner, self._machine.env).carry_out(self._plan, self._wish)
        except SettingsError as failure:
            error = f"{failure}; {failure.hint}" if failure.hint else str(failure)
        if error:
            return self._report("failed", steps, error=error)
        is_blocked = any(step.action == "blocked" and not step.command for step in steps)
        return self._report("incomplete" if is_blocked else "done", steps, probes=self._probes())

    def _planned(self) -> AgentReport:
        steps = self._plan.steps
        recorded = load_manifest(self._home).agents.get(self._found.install.slug)
        if not self._found.is_installed and (self._wish.mode is not None or recorded is None):
            return self._report("not_found", ())
        acts = bool(self._plan.commands or self._plan.changes)
        is_blocked = any(step.action == "blocked" for step in steps)
        forgets = self._wish.mode is None and recorded is not None
        changes_mode = recorded is not None and recorded.mode != self._wish.mode
        if acts or forgets or changes_mode:
            return self._report("planned", steps)
        return self._report("incomplete" if is_blocked else "unchanged", steps)

    def _report(
        self, state: State, steps: tuple[Step, ...], *, probes: tuple[Check, ...] = (), error: str = ""
    ) -> AgentReport:
        notes = () if state == "not_found" else tuple(self._notes())
        mode = self._wish.mode or "remove"
        slug = self._found.install.slug
        tries = () if state == "not_found" else tuple(self._tries())
        version = self._found.version
        return AgentReport(slug, self._name, state, version, mode, steps, tries, probes, notes, error)

    def _tries(self) -> Iterator[str]:
        kinds = KINDS[self._wish.mode] if self._wish.mode else ()
        if "mcp" in kinds and isinstance(self._found.install.mcp, Mcp):
            server = self._planner.given.server
            yield f"start `{' '.join((server.command, *server.args))}` as it is registered and ask for its tools"
        if "hooks" in kinds and isinstance(self._found.install.hooks, Hooks):
            yield "run the hook's line once, with a spool of its own"

    def _notes(self) -> Iterator[str]:
        install = self._found.install
        if self._wish.mode is None:
            return
        kinds = KINDS[self._wish.mode]
        if not self._wish.turns_native_memory_off:
            yield from (f"{what}; {hint}" for what, hint in native_memory_notes(install, self._machine))
        if "hooks" in kinds and isinstance(install.hooks, Hooks):
            if install.hooks.note:
                yield install.hooks.note
            if install.hooks.trust is not None:
                yield install.hooks.trust.step
            if off := hooks_turned_off(install, self._machine):
                yield f"the agent was told to run no hooks: {off}"
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
        if self._wish.mode is None or not self._found.is_installed:
            return ()
        made: list[Check] = []
        kinds = KINDS[self._wish.mode]
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
