"""What a command prints of the memory is not remembered again: every verb that prints it is declared."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from recollect.cli.main import group, run
from recollect.config import Config
from recollect.memory import Memory
from recollect.model.own import is_own_command
from recollect.testing.builders import ClaudeTranscript
from recollect.verbs import RECALLING, VERBS

MARKER = "quetzal"
Ways = dict[str, list[list[str]]]


class Home(NamedTuple):
    """A memory that has the marker in everything it holds, and what can be named in it."""

    env: dict[str, str]
    repository: Path
    session: str
    learning: str
    ways: Ways


def leaves() -> Iterator[str]:
    """Yield every command by its words: verbs, and the subcommands of those that have some."""
    ctx = click.Context(group)
    for verb in VERBS:
        command = group.get_command(ctx, verb.name)
        names = command.commands if isinstance(command, click.Group) else [""]
        yield from (f"{verb.name} {name}".strip() for name in names)


SERVERS = {"mcp", "otlp", "ui"}
"""They run until they are stopped and print where they listen. What `mcp` answers comes with the protocol."""
LEAVES = sorted(set(leaves()) - SERVERS)


class _Stdin(io.TextIOWrapper):
    def __init__(self, text: str) -> None:
        super().__init__(io.BytesIO(text.encode()))


def keep(*words: str) -> None:
    assert run(words) == 0, words


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    root = tmp_path_factory.mktemp("recalling")
    repository = root / f"{MARKER}-shop"
    for folder in (".git", "docs", "src"):
        (repository / folder).mkdir(parents=True)
    (repository / "docs" / f"{MARKER}.md").write_text(f"# The {MARKER}\n\nIt flies.\n")
    code = repository / "src" / "bird.py"
    env = {
        "HOME": str(root), "USERPROFILE": str(root), "RECOLLECT_HOME": str(root / "memory"),
        "RECOLLECT_BACKGROUND": "0", "PATH": str(root / "no-programs"),
        "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex"),
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        patch.chdir(repository)
        one = ClaudeTranscript(root / "claude", "one", cwd=str(repository))
        one.user(f"Fix the {MARKER} parser. We always use {MARKER} feathers here, never wool.")
        one.tool("Bash", {"command": f"pytest -k {MARKER}"}, f"FAILED test_{MARKER}", is_error=True)
        code.write_text(f"{MARKER} = 1\n")
        one.write(str(code), f"{MARKER} = 1\n")
        one.raw(json.dumps({"type": f"{MARKER}-record", "sessionId": one.session}).encode() + b"\n")
        one.assistant(f"I decided to keep the {MARKER} in SQLite instead of Postgres.")
        old = ClaudeTranscript(root / "claude", "old", cwd=str(repository))
        old.user("Is anybody here?")
        old.assistant("Nobody.")
        with Memory.open(root / "memory", config=Config(), env=env) as memory:
            memory.sync()
            memory.distilling.run()
        keep("facts", "add", MARKER, "eats", "avocados")
        keep("facts", "add", MARKER, "eats", "figs")
        keep("diary", "write", f"Fed the {MARKER}.")
        keep("decisions", "add", f"We keep the {MARKER}", "--chosen", MARKER, "--session", one.uid)
        keep("learnings", "add", f"The {MARKER} needs Docker")
        keep("actions", "add", f"Feed the {MARKER}")
        keep("tag", one.uid, MARKER)
        keep("pin", one.uid)
        keep("docs", "add", str(repository))
        with Memory.open(root / "memory", config=Config(), env=env) as memory:
            learning = next(x.id for x in memory.learn.actions(limit=1))
            keep("learnings", "confirm", learning)
        keep("backup", str(root / "copy"))
        plain = ClaudeTranscript(root / "elsewhere", "two", cwd="/w/plain")
        plain.user("Which database do we use?")
        plain.assistant("I decided to use SQLite instead of Postgres, because it is one file.")
        plain.user("Yes, do that.")
        (root / "memory" / "config.toml").write_text("[retention]\nraw_soft_cap_bytes = 0\n")
        yield Home(env, repository, one.uid, learning, _ways(one.uid, learning, repository, plain.path, root))


def _ways(session: str, learning: str, repository: Path, plain: Path, root: Path) -> Ways:
    """Return arguments with which each command prints the most. Commands on files are given one without the marker."""
    return {
        "up": [["--once"], ["--status"]],
        "docs add": [[str(repository)]],
        "docs show": [[f"{MARKER}-shop"]],
        "docs remove": [["nothing"]],
        "import": [[str(plain)], [str(plain), "--dry-run"]],
        "export": [[session, "--out", "-"], [session, "--format", "markdown", "--out", "-"]],
        "search": [[MARKER]],
        "show": [[session], [f"{session}#0"]],
        "blame": [["src/bird.py:1"]],
        "digest": [[session]],
        "handoff": [[session, "--to", "codex"]],
        "decisions add": [[f"The {MARKER} stays", "--session", session]],
        "context show": [[], ["--hook", "claude"]],
        "retro": [["--since", "2020-01-01"]],
        "learnings show": [[learning]],
        "learnings why": [[learning]],
        "learnings confirm": [[learning]],
        "learnings correct": [[learning, f"Feed the {MARKER} twice"]],
        "learnings retire": [[learning]],
        "learnings add": [[f"The {MARKER} sings"]],
        "learnings ask": [[session, "--dry-run"]],
        "actions done": [[learning]],
        "actions add": [[f"Wash the {MARKER}"]],
        "diary write": [[f"The {MARKER} slept"]],
        "facts add": [[MARKER, "lives_in", "forests"]],
        "facts replace": [[MARKER, "lives_in", "trees"]],
        "facts end": [[MARKER, "eats", "figs"]],
        "facts retract": [[MARKER, "eats", "avocados"]],
        "facts means": [[MARKER, "trogon"]],
        "tag": [[], [session], ["--list", MARKER]],
        "undo": [["--list"]],
        "usage": [["--by", "session"], ["--by", "repo"]],
        "stats sessions": [["--since", "2020-01-01"]],
        "agents": [["--all"], ["--drift"]],
        "setup": [["--dry-run", "claude"]],
        "hook": [["claude", "start"], ["session-end", "--session", session, "--export-env"]],
        "conformance": [["claude", str(root / "elsewhere")]],
        "doctor": [[], ["--fix", "--dry-run"]],
        "embed": [["--max-seconds", "0"]],
        "verify": [[], [str(plain)]],
        "repair": [["--dry-run"]],
        "backup": [[str(root / "another")]],
        "sync-folder": [[str(root)]],
        "restore": [[str(root / "copy"), "--home", str(root / "restored")]],
        "evict": [["--dry-run"]],
        "rebuild": [["index"]],
        "redact": [[str(plain)]],
        "reveal": [[f"{session}#0", "--yes"], ["--log"]],
        "forget": [["--repo", f"{MARKER}-shop", "--dry-run"], ["--list"]],
        "keys move": [["file"]],
        "parse": [[str(plain)]],
        "replay": [[str(plain)]],
        "service install": [["--dry-run"]],
        "service remove": [["--dry-run"]],
        "watch": [["--once", "--since", "2020-01-01"]],
    }


@pytest.fixture
def printed(
    home: Home, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[[str], bytes]:
    """Return a function that gives all that a command prints, in all the ways in which it is tried."""
    for name, value in home.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home.repository)
    stdin = json.dumps({"session_id": "x", "cwd": str(home.repository), "hook_event_name": "SessionStart"})

    def said(leaf: str) -> bytes:
        for arguments in home.ways.get(leaf, [[]]):
            for form in ([], ["--json"]):
                monkeypatch.setattr(sys, "stdin", _Stdin(stdin))
                run([*leaf.split(), *arguments, *form])
                sys.stdout.flush()
        return capfdbinary.readouterr().out

    return said


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_command_that_prints_the_memory_is_declared_and_known(leaf: str, printed: Callable[[str], bytes]) -> None:
    said = printed(leaf)
    assert said
    if MARKER.encode() in said.lower():
        assert leaf.partition(" ")[0] in RECALLING
        assert is_own_command(f"uv run recollect {leaf} x | head")


@pytest.mark.parametrize("verb", sorted(RECALLING - SERVERS - {"team"}))  # what it prints, a team's server tells
def test_what_is_declared_to_print_the_memory_does(verb: str, printed: Callable[[str], bytes]) -> None:
    assert any(MARKER.encode() in printed(leaf).lower() for leaf in LEAVES if leaf.partition(" ")[0] == verb)


def test_every_way_is_of_a_command_that_is_there(home: Home) -> None:
    assert set(home.ways) - set(LEAVES) == set()
