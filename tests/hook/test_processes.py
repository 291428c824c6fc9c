"""The hook as a process: exit code 0 and valid output whatever happens to it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.agent_names import ANSWERS
from recollect.hook.answer_formats import is_valid
from recollect.hook.handle import main
from recollect.wire import INTERNAL_VARIABLE, MAX_EVENT_BYTES
from tests.examples import tried
from tests.hook.processes import HOOK, command, drops, environment, run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and limits of POSIX")
EVENTS = ("spool", "start", "compact", "prompt", "flush", "end")
AGENTS = (*ANSWERS, "nobody")


def is_good(done: subprocess.CompletedProcess[bytes], agent: str, event: str) -> bool:
    empty = b"" if event == "spool" else None
    said = done.stdout == empty if empty is not None else is_valid(agent, event, done.stdout)
    return done.returncode == 0 and done.stderr == b"" and said


@pytest.mark.parametrize("event", EVENTS)
def test_a_payload_is_kept_at_every_event(tmp_path: Path, event: str) -> None:
    assert is_good(run("claude", event, tmp_path, b'{"session_id": "s"}'), "claude", event)
    (drop,) = drops(tmp_path)
    assert drop.read_bytes() == b'{"session_id": "s"}'
    assert drop.name.startswith("claude.claude.")
    assert stat.S_IMODE(drop.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "spool").stat().st_mode) == 0o700


@pytest.mark.parametrize(("name", "slug"), [("gemini-cli", "gemini"), ("Claude Code", "claude"), ("CC", "claude")])
def test_an_agent_is_known_by_each_of_its_names(tmp_path: Path, name: str, slug: str) -> None:
    assert run(name, "start", tmp_path).stdout == run(slug, "start", tmp_path).stdout
    assert [drop.name.partition(".")[0] for drop in drops(tmp_path)] == [slug, slug]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("event", ["start", "prompt", "end"])
def test_without_anybody_to_ask_the_answer_is_the_valid_empty_one(tmp_path: Path, agent: str, event: str) -> None:
    done = run(agent, event, tmp_path)
    assert is_good(done, agent, event)
    assert b"additional" not in done.stdout


HOSTILE = {
    "empty": b"",
    "no JSON": b"{{{{",
    "cut off": b'{"session_id": "s", "prompt": "',
    "not UTF-8": b'{"session_id": "\xff\xfe\x80", "prompt": "\xed\xa0\x80"}',
    "NUL": b"\x00" * 1000,
    "a list": b"[1, 2]",
    "null": b"null",
    "deep": b"[" * 200_000,
    "numbers": b'{"session_id": 1e999, "cwd": -0, "prompt": {"a": []}}',
    "huge number": b'{"session_id": ' + b"9" * 10_000 + b"}",
    "surrogates": rb'{"session_id": "\ud800", "cwd": "\udfff"}',
    "twice the same key": b'{"session_id": "a", "session_id": "b"}',
    "paths": b'{"session_id": "../../etc/passwd", "cwd": "/dev/zero\\u0000"}',
    "options": b'{"session_id": "--help", "prompt": "$(reboot)`reboot`"}',
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("event", ["spool", "start"])
def test_hostile_input_is_survived(tmp_path: Path, name: str, event: str) -> None:
    assert is_good(run("gemini", event, tmp_path, HOSTILE[name], "/bin/cat"), "gemini", event)


@given(payload=st.binary(max_size=300), event=st.sampled_from(EVENTS))
@settings(max_examples=tried(30, floor=10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_input_is_survived(tmp_path: Path, payload: bytes, event: str) -> None:
    assert is_good(run("qwen", event, tmp_path, payload), "qwen", event)


def test_what_is_too_large_is_read_to_its_end_and_counted(tmp_path: Path) -> None:
    done = run("gemini", "start", tmp_path, b"x" * (MAX_EVENT_BYTES + 1_000_000))
    assert (done.returncode, done.stdout) == (0, b"{}")
    (lost,) = drops(tmp_path)
    assert lost.suffix == ".lost"
    assert lost.stat().st_size == 0


def test_no_room_leaves_nothing_half(tmp_path: Path) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = subprocess.run(
        command("gemini", "start", tmp_path), input=b"x" * 100_000, env=environment(tmp_path), capture_output=True,
        check=False, timeout=60, preexec_fn=limit,
    )  # fmt: skip
    assert is_good(done, "gemini", "start")
    assert [path.suffix for path in drops(tmp_path)] == [".lost"]
    assert list((tmp_path / "spool" / "tmp").iterdir()) == []


def test_too_little_memory_is_survived(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))

    done = subprocess.run(
        command("gemini", "start", tmp_path), input=b"x" * (30 << 20), env=environment(tmp_path), capture_output=True,
        check=False, timeout=60, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout in (b"", b"{}")


@pytest.mark.parametrize("home", ["gone", "file"])
def test_without_a_home_nothing_is_made(tmp_path: Path, home: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert is_good(run("gemini", "start", tmp_path / home), "gemini", "start")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_read_only_home_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o500)
    arguments = command("gemini", "start", home)
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("needs setpriv to give up root's rights")
        arguments = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *arguments]
        os.chown(home, 65534, 65534)
    done = subprocess.run(arguments, input=b"{}", env=environment(home), capture_output=True, check=False, timeout=60)
    assert is_good(done, "gemini", "start")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "</dev/null"])
def test_closed_channels_are_survived(tmp_path: Path, closing: str) -> None:
    line = f'exec {closing}\n"$@"'
    arguments = ["/bin/sh", "-c", line, "sh", *command("gemini", "start", tmp_path)]
    done = subprocess.run(
        arguments, input=b"{}", env=environment(tmp_path), capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout in (b"", b"{}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM])
def test_a_signal_ends_it_with_the_empty_answer(tmp_path: Path, number: signal.Signals) -> None:
    """Sent once it listens; the alarm is the last that it takes. Before that it is the interpreter starting."""
    with subprocess.Popen(
        command("gemini", "start", tmp_path), env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        status = Path(f"/proc/{running.pid}/status")
        if not status.exists():
            pytest.skip("needs /proc to see when it listens")
        mask = 1 << (signal.SIGALRM - 1)
        while not mask & int(status.read_text().partition("SigCgt:")[2].split()[0], 16):
            os.sched_yield()
        running.send_signal(number)
        said = running.stdout.read() if running.stdout else b""
        assert (running.wait(), said) == (0, b"{}")


def test_input_that_never_ends_is_given_up(tmp_path: Path) -> None:
    with subprocess.Popen(
        command("gemini", "end", tmp_path), env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        said = running.stdout.read() if running.stdout else b""
        assert (running.wait(), said) == (0, b"{}")


@pytest.mark.parametrize("arguments", [[], ["gemini"], ["gemini", "nonsense"], ["", ""], ["../../x", "spool"]])
def test_wrong_arguments_are_survived(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(HOOK), *arguments], input=b"{}", env=environment(tmp_path),
        capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout in (b"", b"{}")


def test_an_installation_that_is_broken_is_survived(tmp_path: Path) -> None:
    """Half an upgrade: the file is there and what it imports is not, or is no Python any more."""
    folder = tmp_path / "src" / "recollect" / "hook"
    folder.mkdir(parents=True)
    shutil.copy(HOOK, folder)
    (folder / "drops.py").write_text("def broken(:")
    arguments = command("gemini", "start", tmp_path)
    arguments[3] = str(folder / HOOK.name)
    done = subprocess.run(
        arguments, input=b"{}", env=environment(tmp_path), capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_fifty_at_once_are_fifty_drops(tmp_path: Path) -> None:
    with ThreadPoolExecutor(50) as threads:
        done = list(threads.map(lambda i: run("claude", "end", tmp_path, json.dumps({"i": i}).encode()), range(50)))
    assert all(is_good(one, "claude", "end") for one in done)
    assert sorted(json.loads(drop.read_bytes())["i"] for drop in drops(tmp_path)) == list(range(50))


def test_our_own_programs_leave_no_trace(tmp_path: Path) -> None:
    done = run("gemini", "start", tmp_path, b"{}", **{INTERNAL_VARIABLE: "1"})
    assert (done.returncode, done.stdout) == (0, b"{}")
    assert drops(tmp_path) == []


def test_the_host_is_in_the_name(tmp_path: Path) -> None:
    run("claude", "spool", tmp_path, GROK_HOOK_EVENT="stop")
    assert [drop.name.split(".")[:2] for drop in drops(tmp_path)] == [["claude", "grok"]]


def test_the_verb_is_the_same_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "recollect", "hook", "gemini", "end"], input=b"{}", env=environment(tmp_path),
        capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")
    assert len(drops(tmp_path)) == 1


def test_it_imports_the_standard_library_only(tmp_path: Path) -> None:
    """What a hook loads, on its longest way, is its own package and where things are."""
    arguments = command("claude", "start", tmp_path, "/bin/false")
    arguments[1:1] = ["-X", "importtime"]
    done = subprocess.run(
        arguments, input=b"{}", env=environment(tmp_path), capture_output=True, check=False, timeout=60
    )
    names = {
        line.rpartition(b"|")[2].strip().decode()
        for line in done.stderr.splitlines()
        if line.startswith(b"import time:")
    }
    roots = {name.partition(".")[0] for name in names} - {"imported package"}
    assert {n for n in names if n.startswith("recollect.")} <= {
        "recollect.hook", "recollect.hook.handle", "recollect.hook.event_file", "recollect.hook.answer",
        "recollect.hook.answer_formats", "recollect.wire", "recollect.files", "recollect.hook.run_program",
        "recollect.paths", "recollect.hook.prepared_block", "recollect.processes", "recollect.ready_blocks",
        "recollect.clock", "recollect.agent_names",
    }  # fmt: skip
    assert roots - set(sys.stdlib_module_names) == {"recollect"}


def test_main_never_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_arguments: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr("recollect.hook.handle._arm", lambda: None)
    monkeypatch.setattr("recollect.hook.handle._disarm", lambda: None)
    monkeypatch.setattr("recollect.hook.handle._handle", broken)
    monkeypatch.setattr("recollect.hook.handle._print", lambda said: None)
    assert main(["claude", "start"]) == 0


def test_time_that_ends_where_nothing_can_be_raised_is_not_printed(tmp_path: Path) -> None:
    """Python prints what a callback raises, that of a weak reference, as imports have them, too."""
    script = """
import sys, weakref
from recollect.hook import event_file, handle
class Loaded: pass
def stop(_gone):
    print("stopped", file=sys.__stdout__)
    raise handle.Stop
def read():
    loaded = Loaded()
    held = weakref.ref(loaded, stop)
    del loaded
    return b"{}"
event_file.read_input = read
handle.main(["gemini", "spool", sys.argv[1]])
print("told", file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "spool")], env=environment(tmp_path), capture_output=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"stopped\n", b"told\n")
