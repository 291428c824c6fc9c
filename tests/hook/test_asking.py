"""A hook asks the daemon, else `recollect context`; both for real: sockets, processes, deadlines."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from recollect import wire
from tests.hook.processes import command, environment, run

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX") or os.name == "nt", reason="Unix sockets, signals")
START = b'{"session_id": "s1", "cwd": "/repo", "source": "startup", "hook_event_name": "SessionStart"}'
CONTEXT = '{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "from the program"}}'


def context_of(said: bytes) -> str:
    value: str = json.loads(said)["hookSpecificOutput"]["additionalContext"]
    return value


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("h")  # a socket's path may have about a hundred characters


@contextmanager
def listening(home: Path, answer: Callable[[bytes], bytes | None], *, mode: int = 0o700) -> Iterator[list[bytes]]:
    """A daemon: answers one line with another. None: it keeps the connection and says nothing."""
    folder = home / wire.RUN_FOLDER
    folder.mkdir()
    folder.chmod(mode)
    heard: list[bytes] = []
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(wire.socket_path(str(home)))
    server.listen()
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                channel, _ = server.accept()
            except OSError:
                return
            with channel.makefile("rb") as lines:
                heard.append(lines.readline())
            said = answer(heard[-1])
            if said is None:
                held.append(channel)
                continue
            with channel, suppress(BrokenPipeError, ConnectionResetError):  # a hook hangs up when it has heard enough
                channel.sendall(said)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(5)
        for channel in held:
            channel.close()


def program(home: Path, body: str) -> Path:
    """A stand-in for the console script, with the arguments in `sys.argv`."""
    path = home / "recollect program"
    path.write_text(f"#!{sys.executable} -IS\nimport os, sys, time, json, subprocess\n{body}\n")
    path.chmod(0o700)
    return path


def test_the_daemon_is_asked_first(home: Path) -> None:
    with listening(home, lambda _: b'{"version": 1, "text": "from the daemon"}\n') as heard:
        done = run("claude", "start", home, START, program(home, f"print({CONTEXT!r})"))
    assert context_of(done.stdout) == "from the daemon"
    assert json.loads(heard[0]) == {
        "version": 1, "kind": "context", "agent": "claude", "event": "start", "session": "s1", "cwd": "/repo",
        "source": "startup", "prompt": "",
    }  # fmt: skip


def test_whoever_is_asked_is_told_the_slug(home: Path) -> None:
    with listening(home, lambda _: b'{"version": 1, "text": "from the daemon"}\n') as heard:
        assert context_of(run("claude_code", "start", home, START).stdout) == "from the daemon"
    assert json.loads(heard[0])["agent"] == "claude"


def test_a_daemon_with_nothing_to_say_is_believed(home: Path) -> None:
    with listening(home, lambda _: b'{"version": 1, "text": ""}\n'):
        assert run("gemini", "start", home, START, program(home, f"print({CONTEXT!r})")).stdout == b"{}"


def test_a_start_after_a_compaction_is_told_as_one(home: Path) -> None:
    with listening(home, lambda _: b'{"version": 1, "text": "t"}\n') as heard:
        run("claude", "start", home, START.replace(b"startup", b"compact"))
    assert json.loads(heard[0])["event"] == "compact"


def test_the_end_of_a_session_is_only_told(home: Path) -> None:
    with listening(home, lambda _: b'{"version": 1, "text": ""}\n') as heard:
        done = run("claude", "end", home, START, program(home, f"open({str(home / 'ran')!r}, 'w')"))
    assert (done.stdout, json.loads(heard[0])["kind"]) == (b"", "ended")
    assert not (home / "ran").exists()


@pytest.mark.parametrize(("event", "kind"), [("flush", "flush"), ("end", "ended")])
def test_what_was_said_is_taken_in_before_it_is_asked_for(home: Path, event: str, kind: str) -> None:
    """Without a daemon a sync is started that outlives the hook; a daemon is told instead."""
    writes = f"open({str(home / 'ran')!r}, 'w').write(' '.join(sys.argv[1:]) + ' in ' + os.getcwd())"
    with listening(home, lambda _: b'{"version": 1, "text": ""}\n') as heard:
        run("claude", event, home, START, program(home, writes))
    assert json.loads(heard[0])["kind"] == kind
    shutil.rmtree(home / wire.RUN_FOLDER)
    assert run("claude", event, home, START, program(home, writes)).stdout == b""
    said = _read_soon(home / "ran")
    assert said == f"sync --json in {os.sep}"

    (home / "ran").unlink()
    run("claude", event, home, START, program(home, writes), RECOLLECT_BACKGROUND="0")
    time.sleep(0.5)
    assert not (home / "ran").exists()


def _read_soon(path: Path) -> str:
    for _ in range(600):
        if path.exists() and (said := path.read_text("utf-8")):
            return said
        time.sleep(0.05)
    raise AssertionError(f"{path} was not written")


@pytest.mark.parametrize(
    "said", [b"", b"\n", b"null\n", b"{}\n", b'{"version": 9, "text": "x"}\n', b"\xff\xfe\n", b"x" * 3_000_000, None]
)
def test_what_is_no_answer_is_taken_for_none(home: Path, said: bytes | None) -> None:
    with listening(home, lambda _: said):
        done = run("claude", "start", home, START, program(home, f"print({CONTEXT!r})"))
    assert (done.returncode, context_of(done.stdout)) == (0, "from the program")


def test_a_socket_without_a_listener_is_passed_over(home: Path) -> None:
    with listening(home, lambda _: b""):
        pass
    assert os.path.exists(wire.socket_path(str(home)))
    done = run("claude", "start", home, START, program(home, f"print({CONTEXT!r})"))
    assert context_of(done.stdout) == "from the program"


def test_a_socket_that_others_can_reach_is_told_nothing(home: Path) -> None:
    with listening(home, lambda _: b'{"version": 1, "text": "from a stranger"}\n', mode=0o755) as heard:
        done = run("gemini", "start", home, START)
    assert (done.stdout, heard) == (b"{}", [])


def test_the_program_gets_the_payload_and_opens_the_same_home(home: Path) -> None:
    body = (
        "said = {'arguments': sys.argv[1:], 'home': os.environ['RECOLLECT_HOME'], 'input': sys.stdin.read()}\n"
        "text = json.dumps(said)\n"
        "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'SessionStart', 'additionalContext': text}}))"
    )
    arguments = command("codex", "start", home, program(home, body))
    env = {name: value for name, value in environment(home).items() if name != "RECOLLECT_HOME"} | {"HOME": "/nowhere"}
    done = subprocess.run(arguments, input=START, env=env, capture_output=True, check=False, timeout=120)
    said: dict[str, Any] = json.loads(context_of(done.stdout))
    assert said["arguments"] == ["context", "--hook", "codex", "--event", "start"]
    assert said["home"] == str(home)
    assert said["input"].encode() == START


@pytest.mark.parametrize(
    "body",
    [
        "sys.exit(3)",
        "print('Traceback: something')",
        'print(\'{"decision": "block", "reason": "x"}\')',
        "os.write(1, bytes(5_000_000))",
        "sys.stderr.write('loud'); os.abort()",
        "os.close(0); os.close(1)",
        "pass",
    ],
)
def test_a_program_that_fails_is_the_empty_answer(home: Path, body: str) -> None:
    done = run("gemini", "start", home, START, program(home, body))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")


def test_a_program_that_hangs_is_ended(home: Path) -> None:
    """It says who it is and hangs; afterwards there is no such process, not even a zombie of ours."""
    body = "open(os.path.join(os.path.dirname(sys.argv[0]), 'pid'), 'w').write(str(os.getpid()))\ntime.sleep(600)"
    done = run("gemini", "prompt", home, START, program(home, body))
    assert (done.returncode, done.stdout) == (0, b"{}")
    number = int((home / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_a_program_ends_by_itself_when_its_hook_was_killed(home: Path) -> None:
    body = "open(os.path.join(os.path.dirname(sys.argv[0]), 'pid'), 'w').write(str(os.getpid()))\ntime.sleep(600)"
    arguments = command("gemini", "prompt", home, program(home, body))
    with subprocess.Popen(arguments, env=environment(home), stdin=subprocess.PIPE) as running:
        assert running.stdin is not None
        running.stdin.write(START)
        running.stdin.close()
        while not (home / "pid").exists() or not (home / "pid").read_text():
            os.sched_yield()
        running.kill()
    number = int((home / "pid").read_text())
    while not _is_over(number):  # its own alarm ends it; the test's timeout is the limit
        os.sched_yield()


def _is_over(number: int) -> bool:
    """Where the first process of a container reaps nobody, what has ended stays in the table."""
    try:
        os.kill(number, 0)
        stat = Path(f"/proc/{number}/stat")
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
