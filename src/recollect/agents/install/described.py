"""Turns the table `[install]` of an agent's file into set-up data.

A place of a file is `FOLDER:NAME|NAME`, the folder being one of `paths`. Entries, commands and handlers are templates:
`{command}`, `{args}`, `{env}` and `{entry}` are our MCP server; `{line}`, `{text}`, `{powershell}`, `{words}`,
`{program}` and `{arguments}` are a hook's command for a POSIX shell, for the system's shell, for PowerShell, for who
splits words himself, and its parts. A list in a list is spread; `{env?}` is left out where there is nothing in it;
`{env:--env}` becomes `--env NAME=VALUE` for each; `{args:--arg}` puts a word before each.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import msgspec

from recollect.agents.facts import facts_of, install_table
from recollect.agents.install.contract import (
    Command,
    ConfigFile,
    CrossRead,
    FilePlace,
    Folder,
    HookEvent,
    Hooks,
    HookTrust,
    Install,
    InstallContext,
    Mcp,
    McpCommand,
    NativeMemory,
    OwnFile,
    Platform,
    Plugins,
    Server,
    Source,
    Switch,
    Unsupported,
)
from recollect.agents.install.shapes import NAME, hooks_document, powershell_text, shim_text, skill_text
from recollect.agents.install.values import AppendItem, Edit, Format, SetKey
from recollect.model.capabilities import AgentFacts
from recollect.model.own import SERVER

_GONE = object()
"""What a template becomes that is left out."""
_STDIO = {"command": "{command}", "args": "{args}", "env": "{env?}"}
Edits = Callable[[InstallContext], tuple[Edit, ...]]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a file: an unknown key is an error."""


class WrittenMcp(_Table, frozen=True, kw_only=True):
    """How our server is registered.

    add, remove: the agent's own command; it is not used where it can't say the variables. edits: a function that makes
    the edits, where a template can't say them.
    """

    place: FilePlace
    format: Format = "json"
    under: tuple[str, ...] = ("mcpServers",)
    entry: Mapping[str, Any] = msgspec.field(default_factory=lambda: _STDIO)
    edits: str = ""
    frame: dict[str, Any] = {}
    other_names: dict[str, str] = {}
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class WrittenTrust(_Table, frozen=True, kw_only=True):
    """See `HookTrust`. allows: the function."""

    place: FilePlace
    format: Format
    allows: str
    step: str


class WrittenHooks(_Table, frozen=True, kw_only=True):
    """What is registered for which events (name, role, perhaps a matcher).

    shape: the layout below `hooks`: by event in groups, by event, or in one list. Without a format the file is ours
    alone. handlers: by platform, `all` for the others. shim: a file of this package that is written instead, for agents
    that load a module.
    """

    place: FilePlace
    format: Format | None = None
    shape: str = "groups"
    events: tuple[tuple[str, ...], ...]
    handlers: dict[str, dict[str, Any]] = {}
    frame: dict[str, Any] = {}
    shim: str = ""
    trust: WrittenTrust | None = None
    note: str = ""
    switches: tuple[Switch, ...] = ()


class WrittenInstall(_Table, frozen=True, kw_only=True):
    """The table `[install]`. folders: names of paths. mcp, hooks: a text says why there are none."""

    paths: dict[str, Folder]
    folders: tuple[str, ...]
    executables: tuple[str, ...]
    version_args: tuple[str, ...] = ("--version",)
    mcp: WrittenMcp | str
    hooks: WrittenHooks | str
    skill: str
    native_memory: tuple[NativeMemory, ...] = ()
    steps: tuple[str, ...] = ()
    plugins: Plugins | None = None
    is_graphical: bool = False
    depends_on_version: bool = False
    verified_version: str
    read_on: str
    sources: dict[str, str]


def install_of(facts: AgentFacts, written: Mapping[str, Any]) -> Install:
    """Return what `recollect setup` knows of an agent. Raises msgspec.ValidationError for what a file may not say."""
    paths = msgspec.convert(written["paths"], dict[str, Folder])
    told = msgspec.convert({**_placed(written, paths), "paths": paths}, WrittenInstall)
    skill = _place(f"{told.skill}/{NAME}/SKILL.md", paths)
    return Install(
        slug=facts.slug,
        folders=tuple(paths[name] for name in told.folders),
        executables=told.executables,
        version_args=told.version_args,
        mcp=Unsupported(told.mcp) if isinstance(told.mcp, str) else _mcp(told.mcp, told.executables[0]),
        hooks=Unsupported(told.hooks) if isinstance(told.hooks, str) else _hooks(facts.slug, told.hooks),
        skill=OwnFile(skill, lambda given: skill_text(writes=given.writes)),
        native_memory=told.native_memory,
        steps=told.steps,
        cross_reads=tuple(CrossRead(*one) for one in (facts.hooks.runs_hooks_of.items() if facts.hooks else ())),
        plugins=told.plugins,
        is_graphical=told.is_graphical,
        depends_on_version=told.depends_on_version,
        verified_version=told.verified_version,
        sources=tuple(Source(what, url, told.read_on) for what, url in told.sources.items()),
    )


def _place(file: str, paths: Mapping[str, Folder]) -> FilePlace:
    folder, _, names = file.partition(":")
    return FilePlace(paths[folder], tuple(names.split("|")))


def _placed(value: Any, paths: Mapping[str, Folder]) -> Any:
    """Return a table whose files, and those of the tables in it, are places."""
    if isinstance(value, list):
        return [_placed(one, paths) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: _placed(one, paths) for key, one in value.items() if key != "file"}
    return {**found, "place": _place(value["file"], paths)} if "file" in value else found


def _mcp(told: WrittenMcp, executable: str) -> Mcp:
    def edits(given: InstallContext) -> tuple[Edit, ...]:
        entry = filled(told.entry, _of_server(given.server))
        return (SetKey((*told.under, SERVER), entry),)

    def add(given: InstallContext) -> tuple[str, ...]:
        server = given.server
        if server.env and not any("{env" in word or word == "{entry}" for word in told.add):
            return ()
        entry = msgspec.json.encode(filled(told.entry, _of_server(server))).decode()
        return tuple(filled(list(told.add), _of_server(server) | {"entry": entry}))

    made: Edits = named(told.edits) if told.edits else edits
    file = ConfigFile(told.place, told.format, made, told.frame, told.other_names)
    return Mcp(file, McpCommand(executable, add, told.remove) if told.add else None)


def _hooks(slug: str, told: WrittenHooks) -> Hooks:
    events = tuple(HookEvent(*event) for event in told.events)  # type: ignore[arg-type]  # a test holds the roles

    def edits(given: InstallContext) -> tuple[Edit, ...]:
        return tuple(_hook(told, event, given) for event in events)

    part: ConfigFile | OwnFile
    if told.shim:
        part = OwnFile(told.place, shim_text(slug, f"recollect.agents.{slug}", told.shim))
    elif told.format is None:
        part = OwnFile(told.place, hooks_document(edits, **told.frame))
    else:
        part = ConfigFile(told.place, told.format, edits, told.frame)
    asked, trust = told.trust, None
    if asked is not None:
        trust = HookTrust(asked.place, asked.format, asked.step, named(asked.allows))
    return Hooks(events, part, trust, told.note, told.switches)


def _hook(told: WrittenHooks, event: HookEvent, given: InstallContext) -> Edit:
    command = given.commands[event.role]
    template = told.handlers.get(given.platform) or told.handlers["all"]
    handler = filled(template, _of_command(command, given.platform) | {"event": event.event})
    if told.shape == "list":
        return AppendItem(("hooks",), handler)
    matcher = {"matcher": event.matcher} if event.matcher else {}
    return AppendItem(("hooks", event.event), {**matcher, "hooks": [handler]} if told.shape == "groups" else handler)


def _of_server(server: Server) -> dict[str, Any]:
    return {"command": server.command, "args": list(server.args), "env": dict(server.env)}


def _of_command(command: Command, platform: Platform) -> dict[str, Any]:
    is_windows = platform == "windows"
    windows = subprocess.list2cmdline(command.argv)
    return {
        "line": command.line,
        "text": windows if is_windows else command.line,
        "words": windows if is_windows else shlex.join(command.argv),
        "powershell": powershell_text(command),
        "program": command.argv[0],
        "arguments": list(command.argv[1:]),
    }


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with its values; see the module."""
    if isinstance(template, Mapping):
        found = {key: filled(one, values) for key, one in template.items()}
        return {key: one for key, one in found.items() if one is not _GONE}
    if isinstance(template, list):
        return [word for one in template for word in _spread(filled(one, values))]
    if not isinstance(template, str) or "{" not in template:
        return template
    name, _, before = template.strip("{}").partition(":")
    value = values.get(name.rstrip("?"), _GONE)
    if value is _GONE:
        return template.format_map(values)
    if before:
        words = [f"{key}={one}" for key, one in value.items()] if isinstance(value, dict) else value
        return [word for one in words for word in (before, one)]
    return value if value or not name.endswith("?") else _GONE


def _spread(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def named(path: str) -> Any:
    """Return what `module:name` below the agents names."""
    module, _, name = path.partition(":")
    return getattr(import_module(f"recollect.agents.{module}"), name)


_INSTALLS = (
    "claude codex gemini qwen kimi cursor opencode codewhale grok vscode copilot windsurf zed goose hermes pi"
).split()
"""The agents whose file has a table `[install]`, in the order in which they are shown."""


@cache
def installs() -> dict[str, Install]:
    """Return every install by slug. The caller must not change it."""
    return {slug: install_of(facts_of(slug), install_table(slug)) for slug in _INSTALLS}
