"""The plug-in for Claude Code: what lies in the repository is what the data says, and its lines do what they should."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from recollect import __version__
from recollect.agents.claude.plugin import FOLDER, command_of, events, plugin_files
from recollect.agents.install.described import installs
from recollect.paths import home_dir

PAYLOAD = b'{"hook_event_name":"Stop","session_id":"s1"}'
SPOOLING = next(event for event in events() if event.role == "spool")
STARTING = next(event for event in events() if event.role == "start")


def run(line: str, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["/bin/sh", "-c", line], env=env, input=PAYLOAD, capture_output=True, check=False)


@pytest.mark.parametrize("name", sorted(plugin_files(__version__)))
def test_every_file_is_as_the_data_says(repository: Path, name: str) -> None:
    assert (repository / name).read_text("utf-8") == plugin_files(__version__)[name], "run `make docs`"


def test_nothing_else_is_in_the_plugin(repository: Path) -> None:
    found = {p.relative_to(repository).as_posix() for p in (repository / FOLDER).rglob("*") if p.is_file()}
    assert found == {name for name in plugin_files(__version__) if name.startswith(FOLDER)}


def test_it_has_the_hooks_that_setup_registers(repository: Path) -> None:
    written: dict[str, Any] = json.loads((repository / FOLDER / "hooks" / "hooks.json").read_text("utf-8"))
    groups = [(name, group.get("matcher", "")) for name, all_of in written["hooks"].items() for group in all_of]
    hooks = installs()["claude"].hooks
    assert sorted(groups) == sorted((event.event, event.matcher) for event in getattr(hooks, "events", ()))


@pytest.mark.parametrize("variable", ["RECOLLECT_HOME", "XDG_DATA_HOME", "", "Library/Application Support"])
def test_its_line_keeps_a_payload_where_the_memory_is(tmp_path: Path, variable: str) -> None:
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    if variable.isupper():
        env[variable] = str(tmp_path / "some where")
    elif variable:
        (tmp_path / variable).mkdir(parents=True)
    home = tmp_path / variable / "recollect" if "/" in variable else home_dir(env)
    home.mkdir(parents=True)
    assert run(command_of(SPOOLING), env).returncode == 0
    kept = [path.read_bytes() for path in (home / "spool").iterdir() if path.is_file()]
    assert kept == [PAYLOAD]


@pytest.mark.parametrize("event", [SPOOLING, STARTING])
def test_without_the_program_and_a_memory_it_says_and_leaves_nothing(tmp_path: Path, event: Any) -> None:
    for name in ("cat", "mv", "rm", "mkdir"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        found = next(p for folder in os.environ["PATH"].split(":") if (p := Path(folder, name)).exists())
        (tmp_path / "bin" / name).symlink_to(found)
    done = run(command_of(event), {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [p.name for p in tmp_path.iterdir()] == ["bin"]
