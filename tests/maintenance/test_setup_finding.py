"""Where agents and their settings are looked for on every platform, and how a registered server is read back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.install.contract import FilePlace, Folder, Platform, Program
from recollect.errors import UsageError
from recollect.maintenance.setup.discovery import (
    Launch,
    Machine,
    file_path,
    folder_path,
    launch_of,
    probe_server,
    this_machine,
)

PROGRAM = Program("/opt/recollect", "/opt/python", "/opt/hook.py", "/srv/spool")


def machine(home: Path, platform: Platform = "linux", **env: str) -> Machine:
    return Machine(platform, {"HOME": str(home), **env}, home / "memory", PROGRAM)


def test_a_variable_that_is_set_decides_whether_its_folder_is_there_or_not(tmp_path: Path) -> None:
    folder = Folder(("$AGENT_HOME/etc", "~/.agent", "~/.old-agent"))
    (tmp_path / ".old-agent").mkdir()
    assert folder_path(folder, machine(tmp_path, AGENT_HOME="/srv/a")) == "/srv/a/etc"
    assert folder_path(folder, machine(tmp_path, AGENT_HOME="")) == str(tmp_path / ".old-agent")


def test_of_several_folders_the_first_that_is_there_else_the_first(tmp_path: Path) -> None:
    folder = Folder(("~/.agent", "~/.old-agent"))
    assert folder_path(folder, machine(tmp_path)) == str(tmp_path / ".agent")
    (tmp_path / ".old-agent").mkdir()
    assert folder_path(folder, machine(tmp_path)) == str(tmp_path / ".old-agent")
    (tmp_path / ".agent").mkdir()
    assert folder_path(folder, machine(tmp_path)) == str(tmp_path / ".agent")


def test_a_platform_has_templates_of_its_own(tmp_path: Path) -> None:
    folder = Folder(("~/.config/a",), macos=("~/Library/A",), windows=("$APPDATA/A",))
    assert folder_path(folder, machine(tmp_path)) == str(tmp_path / ".config" / "a")
    assert folder_path(folder, machine(tmp_path, "macos")) == str(tmp_path / "Library" / "A")
    assert folder_path(folder, machine(tmp_path, "windows", APPDATA="/r")) == "/r/A"
    with pytest.raises(UsageError, match="APPDATA"):
        folder_path(folder, machine(tmp_path, "windows"))


def test_of_several_names_the_first_that_is_there_else_the_first(tmp_path: Path) -> None:
    place = FilePlace(Folder(("~/.agent",)), ("a.jsonc", "sub/a.json"))
    assert file_path(place, machine(tmp_path)) == str(tmp_path / ".agent" / "a.jsonc")
    (tmp_path / ".agent" / "sub").mkdir(parents=True)
    (tmp_path / ".agent" / "sub" / "a.json").touch()
    assert file_path(place, machine(tmp_path)) == str(tmp_path / ".agent" / "sub" / "a.json")


@pytest.mark.parametrize(
    "place", ["/home/a/.cache/uv/archive-v0/x/bin", "/home/a/.local/pipx/.cache/x/bin", "C:\\a\\uv\\builds-v0\\x"]
)
def test_a_program_that_will_be_cleaned_away_is_not_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere" / "python"))
    monkeypatch.setattr("shutil.which", lambda *_, **__: f"{place}/recollect")
    with pytest.raises(UsageError, match="not installed permanently"):
        this_machine(tmp_path, {})


@pytest.mark.parametrize(
    ("entry", "launch"),
    [
        ({"command": "/r", "args": ["mcp"], "env": {"A": "b"}}, Launch(("/r", "mcp"), (("A", "b"),))),
        ({"type": "local", "command": ["/r", "mcp"], "environment": {"A": "b"}}, Launch(("/r", "mcp"), (("A", "b"),))),
        ({"cmd": "/r", "args": ["mcp"], "envs": {}}, Launch(("/r", "mcp"), ())),
        ({"command": {"path": "/r", "args": ["mcp"], "env": {"A": "b"}}}, Launch(("/r", "mcp"), (("A", "b"),))),
        ({"url": "https://example.test/mcp"}, None),
        ("text", None),
        (None, None),
    ],
)
def test_an_entry_of_any_agent_is_read(entry: Any, launch: Launch | None) -> None:
    assert launch_of(entry) == launch


def test_a_server_that_is_not_there_or_says_nothing_fails_the_probe() -> None:
    gone = probe_server(Launch(("/no/such/program",), ()), {})
    assert (gone.state, "cannot be started" in gone.detail) == ("fail", True)
    silent = probe_server(Launch((sys.executable, "-c", "print('hello')"), ()), {})
    assert (silent.state, "does not answer" in silent.detail) == ("fail", True)
