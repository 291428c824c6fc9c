"""The program beside the hook's interpreter is run without starting Python once more, and says the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import recollect
from recollect import Memory
from recollect.hook.run_program import own_arguments
from tests.hook.processes import HOOK, environment, run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a process that is made of another")
SAID = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "from a program that was started"}}
WORKED = [
    {
        "type": "user", "uuid": "u1", "sessionId": "s1", "timestamp": "2026-08-03T09:00:00.000Z", "cwd": "{cwd}",
        "message": {"role": "user", "content": "Round the cart's totals to whole cents, please."},
    },
    {
        "type": "assistant", "uuid": "a1", "parentUuid": "u1", "sessionId": "s1", "cwd": "{cwd}",
        "timestamp": "2026-08-03T09:01:00.000Z",
        "message": {
            "id": "m1", "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": "The cart keeps its totals in cents now."}],
        },
    },
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository that was worked in."""
    made = tmp_path / "shop"
    (made / ".git").mkdir(parents=True)
    return made


@pytest.fixture
def home(tmp_path: Path, folder: Path) -> Path:
    """A memory with one session in that repository, and no block that was made ready."""
    transcripts = tmp_path / "claude" / "projects" / "-shop"
    transcripts.mkdir(parents=True)
    lines = (json.dumps(record).replace("{cwd}", str(folder)) for record in WORKED)
    (transcripts / "s1.jsonl").write_text("".join(f"{line}\n" for line in lines))
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    with Memory.open(tmp_path / "home", env=env) as memory:
        memory.sync()
    for block in (tmp_path / "home" / "ready").glob("*"):
        block.unlink()
    return tmp_path / "home"


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of an environment of its own, with a program beside it that tells that it was started."""
    made = tmp_path / "environment"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(made), "platbase": str(made)}))
    packages.mkdir(parents=True)
    source = Path(recollect.__file__).parents[1]
    (packages / "here.pth").write_text(f"{source}\n{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    (made / "bin").mkdir()
    (made / "pyvenv.cfg").write_text(f"home = {Path(os.path.realpath(sys.executable)).parent}\n")
    (made / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    program = made / "bin" / "recollect"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\nprintf '%s' '{json.dumps(SAID)}'\n")
    program.chmod(0o700)
    return made / "bin" / "python"


def start_of(folder: Path) -> bytes:
    return json.dumps({"session_id": "s2", "cwd": str(folder), "source": "startup"}).encode()


def answer(
    python: Path, home: Path, payload: bytes, *, program: Path | None = None, pass_fds: tuple[int, ...] = ()
) -> bytes:
    command = [python, "-I", "-S", HOOK, "claude", "start", home / "spool", program or python.with_name("recollect")]
    done = subprocess.run(
        command, input=payload, env=environment(home), capture_output=True, check=False, timeout=60, pass_fds=pass_fds
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def test_the_answer_is_that_of_the_verb_and_no_program_was_started(home: Path, folder: Path, python: Path) -> None:
    made = answer(python, home, start_of(folder))
    assert "The cart keeps its totals in cents now." in json.loads(made)["hookSpecificOutput"]["additionalContext"]
    verb = [sys.executable, "-m", "recollect", "context", "--hook", "claude", "--event", "start"]
    told = subprocess.run(verb, input=start_of(folder), env=environment(home), capture_output=True, check=True)
    assert made == told.stdout
    with Memory.open(home) as memory:
        given = memory.context_facet.shown()
    assert len(given) == 2


def test_another_program_is_started(home: Path, folder: Path, python: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "recollect"
    python.with_name("recollect").rename(elsewhere)
    assert json.loads(answer(python, home, start_of(folder), program=elsewhere)) == SAID


def test_the_input_ends_whatever_else_is_open(home: Path, folder: Path, python: Path) -> None:
    """An agent that leaves many descriptors open to its hooks: the pipes get numbers behind them."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    opened = [os.dup(nowhere) for _ in range(40)]
    try:
        made = answer(python, home, start_of(folder), pass_fds=tuple(opened))
    finally:
        for descriptor in (nowhere, *opened):
            os.close(descriptor)
    assert b"The cart keeps its totals" in made


def test_a_memory_that_cannot_be_opened_is_the_empty_answer(home: Path, folder: Path, python: Path) -> None:
    (home / "memory.db").write_bytes(b"no database" * 1000)
    assert answer(python, home, start_of(folder)) == b""


def test_the_verb_has_its_own_program_too(home: Path, folder: Path) -> None:
    verb = [sys.executable, "-m", "recollect", "hook", "claude", "start", str(home / "spool")]
    done = subprocess.run(verb, input=start_of(folder), env=environment(home), capture_output=True, check=True)
    assert b"The cart keeps its totals" in done.stdout
    assert (
        done.stdout
        == run("claude", "start", home, start_of(folder), Path(sys.executable).with_name("recollect")).stdout
    )


def test_which_commands_are_the_program_itself() -> None:
    beside = os.path.join(os.path.dirname(sys.executable), "recollect")
    assert own_arguments([beside, "context", "--hook"]) == ["context", "--hook"]
    assert own_arguments([sys.executable, "-I", "-m", "recollect", "context"]) == ["context"]
    assert own_arguments(["/elsewhere/recollect", "context"]) is None
    assert own_arguments([sys.executable, "-m", "recollect", "context"]) is None
    assert own_arguments([f"{beside}2", "context"]) is None


def test_what_was_loaded_lightly_is_whole_when_it_is_asked_for() -> None:
    """Stand-ins for modules are gone afterwards, and whoever holds one gets what is in the module."""
    script = r"""
import sys
from recollect import late
names = ("typing_extensions", "textwrap", "msgspec.inspect", "ipaddress", "platform", "inspect")
late.load_lightly("msgspec", "pathlib", "zstandard", "click")
assert not set(names) & set(sys.modules), set(names) & set(sys.modules)
import msgspec, urllib.parse, uuid
from msgspec import _json_schema
assert urllib.parse.urlsplit("http://[::1]:80/").hostname == "::1"
assert _json_schema.textwrap.dedent("  a") == "a"
assert uuid.UUID(int=1).version is None and uuid.getnode()
class Told(msgspec.Struct):
    "A text."
    text: str
assert "Told" in msgspec.json.schema(Told)["$defs"]
assert msgspec.inspect.type_info(Told).fields[0].name == "text"
from click import core
told = ("", " One\tline. ", "Two\n  lines.\n", "\n")
cleaned = [core.inspect.cleandoc(text) for text in told]
import inspect, platform, textwrap, ipaddress, typing_extensions
assert cleaned == [inspect.cleandoc(text) for text in told]
assert core.inspect.isfunction(inspect.cleandoc)
assert msgspec.inspect is sys.modules["msgspec.inspect"]
assert all(sys.modules[name].__spec__ for name in names)
assert platform.python_implementation() == late.LatePlatform.python_implementation()
assert platform.system() == late.LatePlatform.system()
"""
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
