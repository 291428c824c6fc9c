"""The lines that agents run, run by /bin/sh: with odd paths, without a home, on full and closed pipes, many at once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recollect.agents.install import contract as commands
from recollect.agents.install.contract import ANSWER_EVENTS, Program, answer_command, spool_command, spool_line
from recollect.agents.registry import adapters
from recollect.wire import MAX_EVENT_BYTES

HOOK = Path(commands.__file__).parents[2] / "hook" / "__main__.py"
PAYLOAD = b'{"hook_event_name":"PostToolUse","session_id":"s","tool_use_id":"t","tool_input":{"a":"%s"}}'
ODD = ("plain", "with space", 'it\'s "quoted" $HOME `x`', "a*b?[c]", "tab\there", "ünïcode", "-dash")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the line is for POSIX shells")


def program(home: Path) -> Program:
    return Program("/nowhere/recollect", sys.executable, str(HOOK), str(home / "spool"))


def environment(**more: str) -> dict[str, str]:
    names = ("PATH", "LANG", "TMPDIR")
    return {name: os.environ[name] for name in names if name in os.environ} | more


def run_line(home: Path, payload: bytes, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/sh", "-c", spool_line(program(home), "claude")],
        input=payload,
        env=environment(**env),
        capture_output=True,
        check=False,
        timeout=120,
    )


def is_silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def kept(home: Path) -> list[Path]:
    spool = home / "spool"
    return sorted(path for path in spool.iterdir() if path.name != "tmp") if spool.is_dir() else []


@pytest.fixture(params=ODD)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    path.mkdir()
    return path


def test_a_payload_is_kept_whole_in_a_private_file(home: Path) -> None:
    payload = PAYLOAD % b"x" * 1000 + b"\xff\x00\n"
    assert is_silent(run_line(home, payload))
    (drop,) = kept(home)
    assert drop.read_bytes() == payload
    assert drop.name.startswith("claude.claude.")
    assert drop.suffix == ".json"
    assert stat.S_IMODE(drop.stat().st_mode) == 0o600
    assert [stat.S_IMODE(p.stat().st_mode) for p in (home / "spool", home / "spool" / "tmp")] == [0o700, 0o700]
    assert list((home / "spool" / "tmp").iterdir()) == []


def test_a_line_is_one_line_without_a_version() -> None:
    from recollect import __version__

    for slug in adapters():
        line = spool_line(program(Path("/h")), slug)
        assert "\n" not in line
        assert __version__ not in line
        assert line == spool_line(program(Path("/h")), slug)
        for event in ANSWER_EVENTS:
            assert __version__ not in " ".join(answer_command(program(Path("/h")), slug, event)[3:])


def test_without_a_home_nothing_is_made(tmp_path: Path) -> None:
    assert is_silent(run_line(tmp_path / "gone", PAYLOAD % b"x"))
    assert list(tmp_path.iterdir()) == []


def test_the_environment_may_be_empty(tmp_path: Path) -> None:
    line = spool_line(program(tmp_path), "claude")
    done = subprocess.run(["/bin/sh", "-c", line], input=b"{}", env={}, capture_output=True, check=False, timeout=120)
    assert is_silent(done)
    assert [drop.read_bytes() for drop in kept(tmp_path)] == [b"{}"]


def test_a_read_only_home_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "spool" / "tmp").mkdir(parents=True)
    for folder in (home / "spool" / "tmp", home / "spool", home):
        folder.chmod(0o500)
    try:
        line = spool_line(program(home), "claude")
        command = ["/bin/sh", "-c", line]
        if os.geteuid() == 0:  # root writes everywhere: the test gives that up where it can
            if shutil.which("setpriv") is None:
                pytest.skip("needs setpriv to give up root's rights")
            drop_rights = ("--bounding-set=-all", "--inh-caps=-all")
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *drop_rights, *command]
        done = subprocess.run(command, input=PAYLOAD % b"x", capture_output=True, check=False, timeout=120)
        assert is_silent(done)
        assert kept(home) == []
    finally:
        for folder in (home, home / "spool", home / "spool" / "tmp"):
            folder.chmod(0o700)


def test_more_than_a_pipe_holds_is_kept(tmp_path: Path) -> None:
    payload = PAYLOAD % (b"x" * 5_000_000)
    assert is_silent(run_line(tmp_path, payload))
    assert [drop.read_bytes() == payload for drop in kept(tmp_path)] == [True]


def test_what_is_too_large_is_read_to_its_end_and_counted(tmp_path: Path) -> None:
    done = run_line(tmp_path, b"x" * (MAX_EVENT_BYTES + 3_000_000))  # communicate() fails on a broken pipe
    assert is_silent(done)
    (lost,) = kept(tmp_path)
    assert lost.suffix == ".lost"
    assert lost.stat().st_size == 0
    assert list((tmp_path / "spool" / "tmp").iterdir()) == []


def test_no_room_leaves_nothing_half(tmp_path: Path) -> None:
    line = "ulimit -f 8;" + spool_line(program(tmp_path), "claude").replace("ulimit -f 65536", "ulimit -f 8")
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        input=b"x" * 1_000_000,
        env=environment(),
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert is_silent(done)
    assert [path.suffix for path in kept(tmp_path)] == [".lost"]
    assert list((tmp_path / "spool" / "tmp").iterdir()) == []


@pytest.mark.parametrize("closing", ["<&-", ">&-", "<&- >&- 2>&-", "</dev/null"])
def test_closed_channels_are_no_matter(tmp_path: Path, closing: str) -> None:
    script = f"exec {closing}\n{spool_line(program(tmp_path), 'claude')}"
    done = subprocess.run(["/bin/sh", "-c", script], input=b"{}", capture_output=True, check=False, timeout=120)
    assert is_silent(done)
    assert list((tmp_path / "spool" / "tmp").iterdir()) == []


def test_a_killed_line_leaves_no_drop(tmp_path: Path) -> None:
    line = spool_line(program(tmp_path), "claude")
    with subprocess.Popen(["/bin/sh", "-c", line], stdin=subprocess.PIPE, start_new_session=True) as running:
        assert running.stdin is not None
        running.stdin.write(b"{")
        running.stdin.flush()
        while not list(tmp_path.glob("spool/tmp/*")):
            os.sched_yield()
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        running.stdin.close()
    assert kept(tmp_path) == []


def test_names_that_are_taken_are_not_overwritten(tmp_path: Path) -> None:
    """Where there is no random name, a process number that comes back must not cost an older drop."""
    line = spool_line(program(tmp_path), "claude").replace("/proc/sys/kernel/random/uuid", "/nowhere/uuid")
    script = f"d=1;f() {{ ({line.replace('.$$;', '.77;')}); }};echo 1|f;echo 2|f;echo 3|f"
    assert is_silent(subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=False, timeout=120))
    assert sorted(drop.read_text() for drop in kept(tmp_path)) == ["1\n", "2\n", "3\n"]


def test_fifty_at_once_are_fifty_files(tmp_path: Path) -> None:
    with ThreadPoolExecutor(50) as threads:
        done = list(threads.map(lambda i: run_line(tmp_path, json.dumps({"i": i}).encode()), range(50)))
    assert all(is_silent(one) for one in done)
    assert sorted(json.loads(drop.read_bytes())["i"] for drop in kept(tmp_path)) == list(range(50))


def test_the_host_is_in_the_name(tmp_path: Path) -> None:
    run_line(tmp_path, b"{}", GROK_HOOK_EVENT="pre_tool_use", CURSOR_VERSION="3.1")
    run_line(tmp_path, b"{}", CURSOR_VERSION="3.1")
    assert sorted(drop.name.split(".")[:2] for drop in kept(tmp_path)) == [["claude", "cursor"], ["claude", "grok"]]


def test_our_own_programs_leave_no_trace(tmp_path: Path) -> None:
    assert is_silent(run_line(tmp_path, PAYLOAD % (b"x" * 500_000), RECOLLECT_INTERNAL="1"))
    assert kept(tmp_path) == []


def test_it_starts_two_programs(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    (tmp_path / "spool" / "tmp").mkdir(parents=True)
    log = tmp_path / "log"
    line = spool_line(program(tmp_path), "claude")
    command = ["strace", "-f", "-e", "trace=execve", "-o", str(log), "/bin/sh", "-c", line]
    if subprocess.run(command, input=b"{}", capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    assert log.read_text().count("execve(") - log.read_text().count("ENOENT") == 3


def test_commands_without_a_shell_name_their_files() -> None:
    where = program(Path("/h o"))
    assert spool_command(where, "codex") == (
        sys.executable, "-I", "-S", str(HOOK), "codex", "spool", "/h o/spool",
    )  # fmt: skip
    assert answer_command(where, "codex", "compact")[4:6] == ("codex", "compact")
