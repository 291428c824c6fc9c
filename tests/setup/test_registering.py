"""Claude Code, Codex, Gemini CLI and Qwen Code register a server by a command of their own, where it is found.

The stand-ins write what the real programs write, and keep what they were called with.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from recollect.maintenance.setup.planner import SetupOptions
from recollect.paths import home_dir
from tests.setup.configurations import CONFIGURATIONS
from tests.setup.desk import OUT, SERVER, Desk, done

START = """
with LOG.open("a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
words = sys.argv[1:]
if words == ["--version"]:
    sys.exit(print("stand-in 9.8.7"))
if (HOME / "broken").exists():
    sys.exit("no such scope")
"""
CLAUDE = (
    START
    + """
path = HOME / ".claude.json"
data = json.loads(path.read_text())
if words[:4] == ["mcp", "add-json", "--scope", "user"]:
    assert words[4] not in data["mcpServers"]
    data["mcpServers"][words[4]] = json.loads(words[5])
else:
    assert words[:4] == ["mcp", "remove", "--scope", "user"]
    del data["mcpServers"][words[4]]
path.write_text(json.dumps(data, indent=2) + "\\n")
"""
)
CODEX = (
    START
    + """
path = HOME / ".codex/config.toml"
if words[:2] == ["mcp", "add"]:
    at = words.index("--")
    env = [word for word in words[3:at] if word != "--env"]
    text = path.read_text() + f"\\n[mcp_servers.{words[2]}]\\ncommand = {json.dumps(words[at + 1])}\\n"
    text += f"args = {json.dumps(words[at + 2:])}\\n"
    if env:
        text += f"\\n[mcp_servers.{words[2]}.env]\\n"
        text += "".join(f"{k} = {json.dumps(v)}\\n" for k, _, v in (word.partition("=") for word in env))
else:
    text = path.read_text().partition("\\n[mcp_servers.recollect]")[0]
path.write_text(text)
"""
)
SETTINGS = (
    START
    + """
path = HOME / FOLDER / "settings.json"
lines = [line.partition(" //")[0] for line in path.read_text().splitlines()]
data = json.loads("\\n".join(line for line in lines if not line.strip().startswith(("//", "/*"))))
if words[1] == "add":
    at = words.index("user") + 1
    assert words[at - 2] == "--scope"
    entry = {"command": words[at + 1], "args": words[at + 2 :]}
    env = dict(word.split("=", 1) for word in words[2 : at - 2] if word != "--env")
    data["mcpServers"][words[at]] = {**entry, "env": env} if env else entry
else:
    del data["mcpServers"][words[-1]]
path.write_text(json.dumps(data, indent=2))
"""
)
PROGRAMS = {
    "claude": CLAUDE,
    "codex": CODEX,
    "gemini": "FOLDER = '.gemini'\n" + SETTINGS,
    "qwen": "FOLDER = '.qwen'\n" + SETTINGS,
}
FILES = {
    "claude": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
}
every_program = pytest.mark.parametrize("slug", sorted(PROGRAMS))


@pytest.fixture
def desk(tmp_path: Path, slug: str) -> Desk:
    made = Desk(tmp_path)
    made.write(CONFIGURATIONS[slug])
    made.put_program(slug, PROGRAMS[slug])
    return made


def calls(desk: Desk, slug: str) -> list[list[str]]:
    """Return what the program was asked, without questions for its version."""
    log = desk.bin / f"{slug}.log"
    said = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [words for words in said if words != ["--version"]]


def servers(desk: Desk, slug: str) -> dict[str, Any]:
    text = (desk.home / FILES[slug]).read_text()
    data = tomllib.loads(text) if slug == "codex" else json.loads(text)
    found: dict[str, Any] = data["mcp_servers" if slug == "codex" else "mcpServers"]
    return found


@every_program
def test_its_own_command_registers_and_removes(desk: Desk, slug: str) -> None:
    others = CONFIGURATIONS[slug][FILES[slug]]
    assert ("mcp", "run") in done(desk.plan(slug).steps)
    assert calls(desk, slug) == []
    desk.do(slug, SetupOptions("pull"))
    entry = servers(desk, slug)["recollect"]
    assert [entry["command"], *entry["args"]] == SERVER
    assert entry["env"] == {"RECOLLECT_HOME": str(desk.memory)}
    assert len(calls(desk, slug)) == 1
    desk.do(slug, OUT)
    assert len(calls(desk, slug)) == 2
    assert "recollect" not in (desk.home / FILES[slug]).read_text()
    assert not desk.manifest().agents
    assert others


@every_program
def test_a_memory_in_its_usual_place_needs_no_variable(desk: Desk, slug: str) -> None:
    env = {name: value for name, value in desk.machine.env.items() if name != "RECOLLECT_HOME"}
    desk.memory = home_dir(env)
    desk.memory.mkdir(parents=True)
    desk.machine = desk.machine._replace(env=env, home=desk.memory)
    desk.do(slug, SetupOptions("pull"))
    assert "env" not in servers(desk, slug)["recollect"]


@every_program
def test_twice_runs_it_once_and_other_parts_come_and_go(desk: Desk, slug: str) -> None:
    desk.do(slug)
    desk.do(slug)
    assert len(calls(desk, slug)) == 1
    assert not desk.plan(slug).changes
    desk.do(slug, SetupOptions("push"))
    assert "recollect" not in servers(desk, slug)
    assert len(calls(desk, slug)) == 2
    desk.do(slug, SetupOptions("both"))
    assert "recollect" in servers(desk, slug)
    desk.do(slug, OUT)
    assert "recollect" not in (desk.home / FILES[slug]).read_text()
    assert not desk.manifest().agents


@every_program
def test_where_its_command_fails_the_file_is_edited_and_it_is_said(desk: Desk, slug: str) -> None:
    (desk.home / "broken").touch()
    before = desk.tree()
    steps = desk.do(slug)
    failed = [step for step in steps if step.action == "blocked"]
    assert [step.command[0] for step in failed] == [str(desk.bin / slug)]
    assert "no such scope" in failed[0].detail
    assert all(word in (desk.home / FILES[slug]).read_text() for word in SERVER)
    desk.do(slug, OUT)
    assert desk.tree() == before


@every_program
def test_where_its_program_is_gone_the_entry_is_taken_out_of_the_file(desk: Desk, slug: str) -> None:
    desk.do(slug)
    (desk.bin / slug).unlink()
    desk.do(slug, OUT)
    assert "recollect" not in (desk.home / FILES[slug]).read_text()
    assert not desk.manifest().agents


@every_program
def test_a_moved_program_is_registered_anew(desk: Desk, slug: str) -> None:
    desk.do(slug, SetupOptions("pull"))
    desk.machine = desk.machine._replace(program=desk.machine.program._replace(python="/new/python"))
    desk.do(slug, SetupOptions("pull"))
    assert [words[1] for words in calls(desk, slug)[1:]] == ["remove", calls(desk, slug)[0][1]]
    assert servers(desk, slug)["recollect"]["command"] == "/new/python"


@every_program
def test_an_entry_that_the_person_made_is_left_alone(desk: Desk, slug: str) -> None:
    desk.do(slug, SetupOptions("pull"))
    (desk.memory / "setup.json").unlink()
    before = (desk.home / FILES[slug]).read_bytes()
    assert ("mcp", "none") in done(desk.do(slug, SetupOptions("pull")))
    desk.do(slug, OUT)
    assert (desk.home / FILES[slug]).read_bytes() == before
    assert len(calls(desk, slug)) == 1


@every_program
def test_its_version_is_asked_for(desk: Desk, slug: str) -> None:
    assert desk.planner(slug).given.version == "9.8.7"
