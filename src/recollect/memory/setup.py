"""`memory.setup`: sets agents up to use this memory, and undoes that."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from recollect.agents.install.contract import ConfigFile, FilePlace, Folder
from recollect.agents.install.described import installs
from recollect.agents.install.values import SetKey
from recollect.agents.registry import adapters, slug_of
from recollect.errors import UnknownName, UsageError
from recollect.ingest.open_home import OpenHome
from recollect.maintenance.setup.agent_settings import Mode, load_manifest, replace_settings
from recollect.maintenance.setup.discovery import Machine, find_agent, this_machine
from recollect.maintenance.setup.planner import SetupOptions, Step, plan_config
from recollect.maintenance.setup.setup import AgentReport, AgentSetup
from recollect.store.home import make_home


class SetupFacet:
    """Changes agents' settings, and one switch in our own. Writes nothing until `do` is called on the prepared
    change.
    """

    def __init__(self, home: OpenHome) -> None:
        self._home = home.home
        self._config_path = home.config_path
        context, writes = home.config.context, home.config.mcp.writing_tools
        self._machine: Machine = this_machine(home.home, home.env, answers_prompts=context.per_prompt, writes=writes)
        self._make_home = partial(make_home, home.home)

    def slugs(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the slugs of named agents without duplicates. Raises UnknownName for one that cannot be set up."""
        found: list[str] = []
        for name in names:
            slug = slug_of(name)
            if slug not in installs():
                known = tuple(installs())
                raise UnknownName("agent that setup knows", name, hint=f"it knows {', '.join(known)}")
            found.append(slug)
        return tuple(dict.fromkeys(found))

    def installed(self) -> tuple[str, ...]:
        """Return the agents on this machine that can be set up."""
        known = installs().items()
        return tuple(slug for slug, one in known if find_agent(one, self._machine, ask_version=False).is_installed)

    def recorded(self) -> tuple[str, ...]:
        """Return the agents that were set up. Raises SettingsError when the manifest is damaged."""
        return tuple(load_manifest(self._home).agents)

    def prepare_writing(self, *, is_on: bool) -> PreparedWriting:
        """Plan to give agents the writing tools, or to remove them; later plans take this into account.

        Raises SettingsError when the configuration cannot be read or changed, UsageError if the memory has none.
        """
        if self._config_path is None:
            raise UsageError("this memory was opened without a configuration file")
        self._machine = self._machine._replace(writes=is_on)
        return PreparedWriting(str(self._config_path), is_on=is_on)

    def prepare(self, slug: str, mode: Mode | None, *, turns_native_memory_off: bool = False) -> PreparedSetup:
        """Plan one agent's set-up. mode None: remove everything of ours."""
        wish = SetupOptions(mode, turns_native_memory_off)
        work = AgentSetup(self._home, self._machine, installs()[slug], adapters()[slug].facts.name, wish)
        return PreparedSetup(work.planned, partial(work.do, self._make_home))


class PreparedWriting:
    """The planned configuration change (`step`) that turns the writing tools on or off."""

    def __init__(self, path: str, *, is_on: bool) -> None:
        edit = SetKey(("mcp", "writing_tools"), is_on, overwrites=True)
        place = FilePlace(Folder((os.path.dirname(path),)), (os.path.basename(path),))
        plan = plan_config(path, [("writing_tools", ConfigFile(place, "toml", lambda _: (edit,)), (edit,))], None)
        self._change = plan.change
        self.step: Step = plan.steps[0]

    def do(self) -> None:
        """Carry it out. Raises SettingsError if the file changed since the plan or cannot be written."""
        if self._change is not None and self._change.after is not None:
            replace_settings(self._change.before, self._change.after)


class PreparedSetup(NamedTuple):
    """The planned set-up of one agent. do: carries it out, tests it, and returns the result; it leaves a file alone
    that changed since the plan."""

    planned: AgentReport
    do: Callable[[], AgentReport]
