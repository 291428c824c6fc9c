"""`memory.setup`: sets agents up to use this memory, and takes that out again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from recollect.agents.installing.catalogue import installs
from recollect.agents.registry import adapters, slug_of
from recollect.errors import UnknownName
from recollect.maintenance.setup.discovery import Machine, find_agent, this_machine
from recollect.maintenance.setup.manifest import Mode, load_manifest
from recollect.maintenance.setup.planner import Wish
from recollect.maintenance.setup.setup import AgentReport, Work


class SetupFacet:
    """Writes into agents' own settings, and nowhere else. Nothing is written before `PreparedSetup.do`."""

    def __init__(
        self, home: Path, env: Mapping[str, str], *, make_home: Callable[[], None], answers_prompts: bool = False
    ) -> None:
        self._home = home
        self._machine: Machine = this_machine(home, env, answers_prompts=answers_prompts)
        self._make_home = make_home

    def slugs(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the slugs of named agents, each once. Raises UnknownName for one that cannot be set up."""
        found: list[str] = []
        for name in names:
            slug = slug_of(name)
            if slug not in installs():
                known = tuple(installs())
                raise UnknownName("agent that setup knows", name, hint=f"it knows {', '.join(known)}")
            found.append(slug)
        return tuple(dict.fromkeys(found))

    def installed(self) -> tuple[str, ...]:
        """Return the agents that are on this machine and can be set up."""
        known = installs().items()
        return tuple(slug for slug, one in known if find_agent(one, self._machine, ask_version=False).is_installed)

    def recorded(self) -> tuple[str, ...]:
        """Return the agents that were set up. Raises SettingsError when the manifest is damaged."""
        return tuple(load_manifest(self._home).agents)

    def prepare(self, slug: str, mode: Mode | None, *, turns_native_memory_off: bool = False) -> PreparedSetup:
        """Plan for one agent. mode None: take everything of ours out."""
        wish = Wish(mode, turns_native_memory_off)
        work = Work(self._home, self._machine, installs()[slug], adapters()[slug].facts.name, wish)
        return PreparedSetup(work, self._make_home)


class PreparedSetup:
    """What would be done with one agent (`planned`), and doing it."""

    def __init__(self, work: Work, make_home: Callable[[], None]) -> None:
        self._work = work
        self._make_home = make_home
        self.planned: AgentReport = work.planned

    def do(self) -> AgentReport:
        """Do it, probe it, and return how it went. A file that changed since the plan is not written."""
        return self._work.do(self._make_home)
