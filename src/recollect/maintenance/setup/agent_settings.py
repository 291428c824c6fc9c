"""What an agent's own settings say that concerns us: a memory of its own, hooks turned off, our plug-in turned on.

Read only. Settings that cannot be read say nothing here; planning tells what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from recollect.agents.installing.contract import FilePlace, Hooks, Install, NativeMemory
from recollect.agents.installing.editing.documents import load
from recollect.agents.installing.editing.edits import Format
from recollect.agents.installing.editing.values import covers, shown, value_at
from recollect.errors import SettingsError
from recollect.maintenance.setup.discovery import Machine, file_path
from recollect.maintenance.setup.files import read_settings
from recollect.model.own import SERVER

_ON = ("1", "true", "yes", "on")


def native_memory_notes(install: Install, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield (what, hint) for a memory of the agent's own that also puts text before the model."""
    for memory in install.native_memory:
        if is_on(memory, machine):
            path = file_path(memory.place, machine)
            hint = f"to turn it off: `{memory.line}` in {path} (or `recollect setup --disable-native-memory`)"
            yield f"{memory.name} of the agent also brings what it remembers into a session", hint


def is_on(memory: NativeMemory, machine: Machine) -> bool:
    """Tell whether a memory of the agent's own is turned on, as far as its settings and the environment say."""
    if memory.variable and machine.env.get(memory.variable, "").lower() in _ON:
        return False
    value = _said(memory.place, memory.format, memory.path, machine)
    return memory.default_on if value is None else not covers(value, memory.off)


def hooks_turned_off(install: Install, machine: Machine) -> str:
    """Return where the agent was told to run no hooks at all, empty where it wasn't."""
    if isinstance(install.hooks, Hooks):
        for switch in install.hooks.switches:
            value = _said(switch.place, switch.format, switch.path, machine)
            if value is not None and covers(value, switch.off):
                return f"`{shown(switch.path)}` in {file_path(switch.place, machine)}"
    return ""


def plugin_turned_on(install: Install, machine: Machine) -> str:
    """Return the file in which our own plug-in is turned on, empty where it isn't. It brings what `setup` writes."""
    listed = install.plugins
    if listed is None:
        return ""
    plugins = _said(listed.place, listed.format, listed.path, machine)
    if not isinstance(plugins, Mapping):
        return ""
    is_there = any(name.split("@")[0] == SERVER and (not isinstance(on, bool) or on) for name, on in plugins.items())
    return file_path(listed.place, machine) if is_there else ""


def _said(place: FilePlace, form: Format, path: tuple[str, ...], machine: Machine) -> Any:
    try:
        settings = read_settings(file_path(place, machine))
        return None if settings.data is None else value_at(load(settings.text, form), path)
    except SettingsError:
        return None
