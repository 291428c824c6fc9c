"""What `tests/program.py` forks is as what Python starts: it says the same, ends the same, and can be signalled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import program

posix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is POSIX")


@pytest.mark.parametrize(
    "argv", [("--help",), ("sessions", "--json"), ("stats", "--json"), ("nonsense",), ("show",), ("redact", "-")]
)
def test_a_command_says_what_it_says_when_python_starts_it(argv: tuple[str, ...], tmp_path: Path) -> None:
    env = {**os.environ, "RECOLLECT_HOME": str(tmp_path / "memory")}
    said = b"a key: AKIA" + b"Z7Q2" * 4 + b"\n"
    command = [sys.executable, "-m", "recollect", *argv]
    started = subprocess.run(command, env=env, cwd=tmp_path, input=said, capture_output=True, check=False)
    forked = program.run(*argv, env=env, cwd=tmp_path, stdin=said)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


@pytest.mark.parametrize(
    ("script", "code", "error"),
    [
        ("print(1)", 0, ""), ("import sys; sys.exit(3)", 3, ""), ("raise SystemExit('why')", 1, "why\n"),
        ("import os; os._exit(7)", 7, ""), ("raise KeyError('x')", 1, "KeyError: 'x'\n"),
    ],
)  # fmt: skip
def test_a_script_ends_as_python_ends_it(script: str, code: int, error: str) -> None:
    done = program.run_script(script)
    assert (done.returncode, done.stderr[-len(error) :] if error else done.stderr) == (code, error)


@posix_only
def test_a_run_has_its_own_environment_folder_and_arguments_and_leaves_none(tmp_path: Path) -> None:
    script = "import os, sys; print(os.environ.get('ONE'), os.getcwd(), *sys.argv, os.getpid())"
    first = program.run_script(script, "a", env={"ONE": "1"}, cwd=tmp_path).stdout.split()
    second = program.run_script(script, env={}, cwd=tmp_path.parent).stdout.split()
    assert first[:-1] == ["1", str(tmp_path), "-c", "a"]
    assert second[:-1] == ["None", str(tmp_path.parent), "-c"]
    assert first[-1] != second[-1]


@posix_only
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_is_read_while_it_goes_on_and_ends_by_a_signal(number: signal.Signals) -> None:
    with program.Program(script="import time; print('begun', flush=True); time.sleep(600)") as running:
        assert running.stdout.readline() == b"begun\n"
        assert running.poll() is None
        running.send_signal(number)
        assert running.wait() == -number


@posix_only
def test_many_runs_at_once_each_get_their_own_end() -> None:
    def code(number: int) -> int:
        return program.run_script(f"import sys; print('x' * 200_000); sys.exit({number})").returncode

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(code, range(40))) == list(range(40))
