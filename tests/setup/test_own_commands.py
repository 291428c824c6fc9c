"""Agents that register a server by a command of their own: stand-ins for the programs write what the real ones do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.agents.install.described import installs
from recollect.paths import home_dir
from tests.setup.configurations import CONFIGURATIONS
from tests.setup.desk import OUT, SERVER, Desk, done

_START = """
with LOG.open("a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
words = sys.argv[1:]
if words == ["--version"]:
    sys.exit(print("3.2.1"))
name = "recollect"
"""
GROK = (
    _START
    + """
path = HOME / ".grok/config.toml"
if words[1] == "add":
    assert words[2:6] == ["--scope", "user", "recollect", "--"]
    text = path.read_text() + "\\n[mcp_servers.recollect]\\n"
    text += f"command = {json.dumps(words[6])}\\nargs = {words[7:]}\\nenabled = true\\n"
else:
    text = path.read_text().partition("\\n[mcp_servers.recollect]")[0]
path.write_text(text)
"""
)
CODEWHALE = (
    _START
    + """
path = HOME / ".codewhale/mcp.json"
data = json.loads(path.read_text())
servers = data.setdefault("servers", {})
if words[1] == "add":
    servers[words[2]] = {
        "command": words[words.index("--command") + 1],
        "args": [b for a, b in zip(words, words[1:]) if a == "--arg"],
        "env": {},
        "disabled": False,
    }
else:
    del servers[words[2]]
path.write_text(json.dumps(data, indent=2))
"""
)
COPILOT = (
    _START
    + """
path = HOME / ".copilot/mcp-config.json"
data = json.loads(path.read_text()) if path.exists() else {}
servers = data.setdefault("mcpServers", {})
if words[1] == "add":
    at = words.index("--")
    tools = words[words.index("--tools") + 1]
    env = dict(b.split("=", 1) for a, b in zip(words, words[1:]) if a == "--env")
    servers[words[2]] = {"tools": [tools], "command": words[at + 1], "args": words[at + 2 :], "env": env}
else:
    del servers[words[2]]
path.write_text(json.dumps(data))
"""
)
PROGRAMS = {"grok": GROK, "codewhale": CODEWHALE, "copilot": COPILOT}
every_command = pytest.mark.parametrize("slug", PROGRAMS)


@pytest.fixture
def desk(tmp_path: Path, slug: str) -> Desk:
    made = Desk(tmp_path)
    made.write(CONFIGURATIONS[slug])
    made.make_folders(slug)
    env = {"HOME": str(made.home), "PATH": f"{made.bin}:/usr/bin:/bin"}
    at_home = home_dir(env)  # where it is looked for by itself: no variable has to be passed on
    at_home.mkdir(parents=True)
    made.memory = at_home
    made.machine = made.machine._replace(home=at_home, env=env)
    return made


def calls(log: Path) -> list[list[str]]:
    """Return what a stand-in was asked, but for its version."""
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    return [words for words in asked if words != ["--version"]]


def data_of(desk: Desk, slug: str) -> str:
    """Return the text of the file that lists servers."""
    return desk.files_of(slug)["mcp"][0].read_text()


@every_command
def test_it_is_shown_then_run_once_and_taken_back(desk: Desk, slug: str) -> None:
    log = desk.put_program(slug, PROGRAMS[slug])
    text = data_of(desk, slug)
    plan = desk.plan(slug)
    assert len(plan.commands) == 1
    assert calls(log) == []
    steps = desk.do(slug)
    assert ("mcp", "run") in done(steps)
    (add,) = calls(log)
    assert add[:2] == ["mcp", "add"]
    assert add == list(plan.commands[0][1:])
    assert all(word in data_of(desk, slug) for word in SERVER)
    assert not desk.plan(slug).commands
    assert not desk.plan(slug).changes
    desk.do(slug, OUT)
    assert calls(log)[1][:2] == ["mcp", "remove"]
    assert "recollect" not in data_of(desk, slug)
    assert data_of(desk, slug).split() == text.split() or json.loads(data_of(desk, slug)) == json.loads(text)
    assert not desk.manifest().agents


@every_command
@pytest.mark.parametrize("script", ["sys.exit('no such subcommand')", "pass"])
def test_where_it_does_nothing_the_file_is_edited(desk: Desk, slug: str, script: str) -> None:
    desk.put_program(slug, f"{_START}\n{script}\n")
    text = data_of(desk, slug)
    desk.do(slug)
    assert all(word in data_of(desk, slug) for word in SERVER)
    assert not desk.plan(slug).commands
    assert not desk.plan(slug).changes
    desk.do(slug, OUT)
    assert data_of(desk, slug) == text


@every_command
def test_where_the_program_is_gone_it_is_taken_out_of_the_file(desk: Desk, slug: str) -> None:
    desk.put_program(slug, PROGRAMS[slug])
    desk.do(slug)
    (desk.bin / slug).unlink()
    desk.do(slug, OUT)
    assert "recollect" not in data_of(desk, slug)
    assert not desk.manifest().agents


@every_command
def test_where_its_removal_fails_it_is_taken_out_of_the_file(desk: Desk, slug: str) -> None:
    desk.put_program(slug, PROGRAMS[slug])
    desk.do(slug)
    desk.put_program(slug, f"{_START}\nsys.exit('not now')\n")
    steps = desk.do(slug, OUT)
    assert ("mcp", "blocked") in done(steps)
    assert ("mcp", "remove") in done(steps)
    assert "recollect" not in data_of(desk, slug)
    assert not desk.manifest().agents


@pytest.mark.parametrize("slug", ["grok", "codewhale"])
def test_a_memory_elsewhere_goes_into_the_file_because_the_command_has_no_variables(desk: Desk, slug: str) -> None:
    log = desk.put_program(slug, PROGRAMS[slug])
    elsewhere = desk.home / "elsewhere"
    desk.memory = elsewhere
    env = {**desk.machine.env, "RECOLLECT_HOME": str(elsewhere)}
    desk.machine = desk.machine._replace(home=elsewhere, env=env)
    desk.do(slug)
    assert calls(log) == []
    assert str(elsewhere) in data_of(desk, slug)


@pytest.mark.parametrize("slug", ["copilot"])
def test_a_memory_elsewhere_is_told_the_command(desk: Desk, slug: str) -> None:
    log = desk.put_program(slug, PROGRAMS[slug])
    elsewhere = desk.home / "elsewhere"
    desk.memory = elsewhere
    env = {**desk.machine.env, "RECOLLECT_HOME": str(elsewhere)}
    desk.machine = desk.machine._replace(home=elsewhere, env=env)
    desk.do(slug)
    ((*_, start, isolated, module, name, verb),) = calls(log)
    assert [start, isolated, module, name, verb] == SERVER
    servers = json.loads(data_of(desk, slug))["mcpServers"]
    assert servers["recollect"]["env"] == {"RECOLLECT_HOME": str(elsewhere)}


def test_every_command_of_its_own_is_tried_here_or_beside() -> None:
    named = {slug for slug, install in installs().items() if getattr(install.mcp, "command", None) is not None}
    assert set(PROGRAMS) <= named
