"""Nothing in the working directory is ever executed: an agent works in repositories that anyone may have written."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from recollect.agents.install.described import installs
from recollect.maintenance.service.service import job_for
from recollect.maintenance.setup.discovery import find_agent, given_for, this_machine
from recollect.processes import own_command
from recollect.testing.builders import ClaudeTranscript

SCRIPT = Path(sys.executable).with_name("recollect.exe" if os.name == "nt" else "recollect")
MODULES = (
    "recollect", "sitecustomize", "usercustomize", "json", "msgspec", "apsw", "tantivy", "numpy", "keyring",
    "zstandard", "click", "mcp", "matplotlib",
)  # fmt: skip
START_WORKERS_BYTES = 6_500_000
PAYLOAD = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1", "cwd": "/w", "prompt": "words"}
REQUESTS = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "search", "arguments": {"query": "handbook", "scope": "all"}}},
]  # fmt: skip


class Clone:
    """A repository that plants code wherever Python might look for some. That code would boast in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "clone"
        self._boasts = folder / "boasts"
        boast = (
            "import os, sys\n"
            f"with open({os.fspath(self._boasts)!r}, 'a') as boasts:\n"
            "    boasts.write(f'{os.getpid()} {__name__} of {sys.orig_argv}\\n')\n"
        )
        for name in MODULES:
            package = self.folder / name
            package.mkdir(parents=True)
            (package / "__init__.py").write_text(boast)
            (package / "__main__.py").write_text(boast)
        (self.folder / "planted.pth").write_text(f"import sys; exec({boast!r})\n")
        (self.folder / ".env").write_text(f"PYTHONPATH={self.folder}\nPYTHONSTARTUP={self.folder}/json/__init__.py\n")
        (self.folder / "matplotlibrc").write_text("backend: module://sitecustomize\ntext.usetex: True\n")

    @property
    def python_variables(self) -> dict[str, str]:
        """What an agent's environment may say after it read `.env`."""
        return {"PYTHONPATH": str(self.folder), "PYTHONSTARTUP": str(self.folder / "json" / "__init__.py")}

    def boasts(self, *, but_of: int = 0) -> list[str]:
        """Return what planted code said; but_of: of any process but this one."""
        if not self._boasts.exists():
            return []
        return [line for line in self._boasts.read_text().splitlines() if int(line.split()[0]) != but_of]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def _write_sessions(folder: Path, *, total_bytes: int) -> None:
    for number in range(2):
        one = ClaudeTranscript(folder / ".claude", f"s{number}", cwd="/w")
        one.user("where is the handbook kept?")
        for part in range(total_bytes // 2 // 200_000 + 1):
            one.tool("Bash", {"command": f"cat page{part}"}, f"page {part} " + "of the handbook " * 12_500)
        one.assistant("The handbook is kept in docs.")


@pytest.fixture
def history(isolated_home: Path) -> Iterator[Path]:
    """Write a small history; yield the memory's home."""
    _write_sessions(isolated_home, total_bytes=1000)
    home = isolated_home / "recollect"
    yield home
    _recollect("up", "--stop", cwd=isolated_home)


def _recollect(*arguments: str, cwd: Path, **more: str) -> tuple[int, subprocess.CompletedProcess[bytes]]:
    """Run the console script, as a person does; return its process number too."""
    env = {**os.environ, "RECOLLECT_BACKGROUND": "1", **more}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([SCRIPT, *arguments], cwd=cwd, env=env, **pipes) as started:  # type: ignore[call-overload]
        out, err = started.communicate(json.dumps(PAYLOAD).encode())
    return started.pid, subprocess.CompletedProcess(arguments, started.returncode, out, err)


STARTING_WORKERS: tuple[tuple[str, ...], ...] = (
    ("sync",), ("search", "handbook"), ("rebuild", "all"), ("import",), ("up", "--once"),
)  # fmt: skip
OTHERS: tuple[tuple[str, ...], ...] = (
    ("hook", "session-end", "--export-env"),
    ("hook", "claude", "start"),
    ("hook", "claude", "end"),
    ("up", "--detach"),
    ("embed",),
    ("keys", "move", "keyring"),
    ("doctor",),
    ("retro", "--since", "2026-01-01", "--out", "retro.html"),
)


@pytest.mark.parametrize("verb", STARTING_WORKERS, ids=" ".join)
def test_no_worker_runs_code_of_the_folder_that_a_verb_is_called_in(
    clone: Clone, history: Path, verb: tuple[str, ...]
) -> None:
    _write_sessions(history.parent, total_bytes=START_WORKERS_BYTES)
    if verb[0] == "rebuild":
        _recollect("sync", cwd=history.parent)
        _wait_for_background(history)
    _runs_nothing_of(clone, history, verb)


def test_no_other_verb_runs_code_of_the_folder_that_it_is_called_in(clone: Clone, history: Path) -> None:
    _recollect("sync", cwd=history.parent)
    _wait_for_background(history)
    for verb in OTHERS:
        _runs_nothing_of(clone, history, verb)


def _runs_nothing_of(clone: Clone, history: Path, verb: tuple[str, ...]) -> None:
    _, done = _recollect(*verb, cwd=clone.folder)
    _wait_for_background(history)
    assert b"Traceback" not in done.stderr, verb
    assert done.returncode in ((0, 3) if verb[0] in ("keys", "doctor") else (0,)), (verb, done.stderr)
    assert clone.boasts() == [], verb


def test_workers_obey_no_python_variable(clone: Clone, history: Path) -> None:
    """The person's own process obeys `PYTHONPATH`, as every Python script does; what it starts must not."""
    _write_sessions(history.parent, total_bytes=START_WORKERS_BYTES)
    (clone.folder / "usercustomize" / "__init__.py").unlink()
    for name in MODULES:
        if name != "sitecustomize":
            (clone.folder / name / "__init__.py").unlink(missing_ok=True)
            (clone.folder / name / "__main__.py").unlink(missing_ok=True)
            (clone.folder / name).rmdir()
    number, done = _recollect("sync", "--json", cwd=clone.folder, **clone.python_variables)
    _wait_for_background(history)
    assert done.returncode == 0, done.stderr
    assert clone.boasts(but_of=number) == []
    assert len(clone.boasts()) == 1


def _wait_for_background(home: Path) -> None:
    """Wait until nothing of ours runs in the background: its lock can be had."""
    from recollect.memory import Memory

    with Memory.open(home) as memory:
        for _ in range(1200):
            card = memory.live.card()
            if card is not None:
                _recollect("up", "--stop", cwd=home)
            if not _runs(home):
                return
            threading.Event().wait(0.1)


def _runs(home: Path) -> bool:
    """Tell whether a process works for this home. What a hook starts knows it from its environment alone."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if process.name != str(os.getpid()) and str(home).encode() in (
                (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            ):
                return True
    return False


REGISTERED = ("start", "compact", "prompt", "flush", "end", "spool")


def _registered(home: Path) -> dict[str, Sequence[str]]:
    """Return every command that `setup` and `service` register, by a name; the same ones are there once."""
    machine = this_machine(home, os.environ, answers_prompts=True)
    found: dict[str, Sequence[str]] = {}
    for install in installs().values():
        given = given_for(find_agent(install, machine, ask_version=False), machine)
        server = (given.server.command, *given.server.args)
        found.setdefault(f"server {server}", server)
        for role in REGISTERED:
            command = given.commands[role]  # type: ignore[index]
            found.setdefault(f"{role} {install.slug}", command.argv)
            found.setdefault(f"{role} {install.slug} line", ("/bin/sh", "-c", command.line))
    for kind in ("scheduled", "daemon"):
        job = job_for(home, os.environ, kind, "hourly")  # type: ignore[arg-type]
        found[f"service {kind}"] = (*job.command, *job.arguments)
    return found


@pytest.mark.skipif(os.name == "nt", reason="lines are for POSIX shells")
def test_every_registered_command_is_an_absolute_isolated_python(history: Path) -> None:
    for name, argv in _registered(history).items():
        words = shlex.split(argv[2]) if argv[0] == "/bin/sh" else list(argv)
        if words[0].startswith("d="):  # the line that keeps a payload starts no Python
            continue
        assert os.path.isabs(words[0]), name
        assert words[1] == "-I", name


@pytest.mark.skipif(os.name == "nt", reason="lines are for POSIX shells")
def test_no_registered_command_runs_planted_code(clone: Clone, history: Path) -> None:
    _recollect("sync", cwd=history.parent)
    registered = _registered(history)
    for role in (*REGISTERED, "server", "service scheduled", "service daemon"):
        chosen = [argv for name, argv in registered.items() if name.startswith(role)]
        chosen = [argv for argv in chosen if argv[0] != "/bin/sh" or " claude " in argv[2] or "n=claude" in argv[2]]
        assert chosen, role
        for argv in chosen[:3]:
            code, err = _ended(argv, role, clone, history)
            assert code == 0, (argv, err)
        _wait_for_background(history)
        assert clone.boasts() == [], role


def _ended(argv: Sequence[str], role: str, clone: Clone, history: Path) -> tuple[int, str]:
    """Run a command as an agent or the system does; return how it ended and what it said to people."""
    env = {**os.environ, "RECOLLECT_BACKGROUND": "1", **clone.python_variables}
    pipe = subprocess.PIPE
    with (
        TemporaryFile() as err,
        subprocess.Popen(argv, cwd=clone.folder, env=env, stdin=pipe, stdout=pipe, stderr=err) as started,
    ):
        assert started.stdin is not None
        assert started.stdout is not None
        if role == "server":
            started.stdin.write(b"".join(json.dumps(request).encode() + b"\n" for request in REQUESTS))
            started.stdin.flush()
            answers = [started.stdout.readline() for _ in range(2)]
            assert b"handbook" in answers[1]
            started.stdin.close()
        elif role == "service daemon":
            _until_daemon(history)
            _recollect("up", "--stop", cwd=history.parent)
        else:
            started.communicate(json.dumps(PAYLOAD).encode())
        started.wait()
        err.seek(0)
        return started.returncode, err.read().decode()


def _until_daemon(home: Path) -> None:
    from recollect.memory import Memory

    ends = time.monotonic() + 120
    with Memory.open(home) as memory:
        while memory.live.card() is None:
            assert time.monotonic() < ends
            threading.Event().wait(0.05)


def test_a_planted_matplotlibrc_changes_no_plot(clone: Clone, history: Path) -> None:
    for month in (3, 5, 7):  # fewer bars are not drawn
        began = datetime(2026, month, 1, tzinfo=UTC)
        one = ClaudeTranscript(history.parent / ".claude", f"month{month}", cwd="/w", start=began)
        one.user("where is the handbook kept?")
        one.assistant("The handbook is kept in docs.")
    _recollect("sync", cwd=history.parent)
    pages = []
    for folder in (history.parent, clone.folder):
        _, done = _recollect("retro", "--since", "2026-01-01", "--out", "retro.html", cwd=folder)
        assert done.returncode == 0, done.stderr
        pages.append(re.findall(r"<svg.*?</svg>", (folder / "retro.html").read_text(), re.DOTALL))
    assert pages[0] == pages[1] != []


def test_only_one_module_says_how_recollect_starts_itself(repository: Path) -> None:
    """Whatever starts Python goes through `own_command`; a new place that does not is found here."""
    allowed = {"processes.py", "hook/run_program.py", "maintenance/setup/discovery.py"}
    root = repository / "src" / "recollect"
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"\bsys\.executable\b", path.read_text("utf-8"))
    }
    assert found == allowed


def test_an_installation_of_one_user_is_found_though_isolated(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-I` would hide the folder that `pip install --user` writes to."""
    import site

    import recollect.processes as processes

    monkeypatch.setattr(site, "getusersitepackages", lambda: str(Path(processes.__file__).parents[1]))
    assert own_command("sync")[1:] == ("-E", "-P", "-m", "recollect", "sync")
