"""Hooks, reads and agents ask the daemon: over its socket and over MCP."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from recollect.memory.live import CONFIGURATION_CHANGED
from recollect.paths import config_file, home_dir
from recollect.wire import ask, socket_path
from tests.serve.daemon.conftest import Daemon, Desk, wait_until

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no Unix sockets")


def question(desk: Desk, kind: str, **texts: str) -> str | None:
    asked = {"kind": kind, "agent": "claude", **texts}
    return ask(str(desk.home), asked, connect_s=1, answer_s=5, max_bytes=1 << 20)


def test_a_sessions_start_gets_what_the_memory_says(desk: Desk) -> None:
    folder = desk.root / "work"
    folder.mkdir()
    talk = desk.claude("one", cwd=str(folder))
    talk.user("please add the quokka endpoint")
    talk.assistant("Added the quokka endpoint.")
    desk.up()
    with desk.memory() as memory:
        expected = memory.context(cwd=str(folder), event="start").text
    assert "quokka" in expected
    assert question(desk, "context", event="start", cwd=str(folder), session="new") == expected
    assert desk.status().counters.hook_answers == 1


def test_a_prompt_is_answered_only_where_the_configuration_says_so(desk: Desk) -> None:
    desk.claude("one", cwd=str(desk.root)).user("about the quokka endpoint of the shop")
    desk.up()
    assert question(desk, "context", event="prompt", cwd=str(desk.root), prompt="quokka endpoint") == ""


def test_a_configuration_that_was_changed_since_is_told(desk: Desk) -> None:
    desk.configure("[retention]\nraw_max_age_days = 30\n")
    desk.up()
    assert CONFIGURATION_CHANGED not in desk.run("up", "--status").stdout
    desk.configure("[retention]\nraw_max_age_days = 60\n")
    told = desk.run("up", "--status", "--json")
    assert CONFIGURATION_CHANGED in json.loads(told.stdout)["status"]["notes"]


def test_a_changed_configuration_is_told_where_it_lies_in_a_folder_of_its_own(desk: Desk) -> None:
    del desk.env["RECOLLECT_HOME"]
    desk.env["XDG_DATA_HOME"] = str(desk.root)
    desk.env["XDG_CONFIG_HOME"] = desk.env["APPDATA"] = str(desk.root / "configuration")
    desk.home = home_dir(desk.env)
    path = config_file(desk.env)
    path.parent.mkdir(parents=True)
    path.write_text("[retention]\nraw_max_age_days = 30\n", "utf-8")
    desk.up()
    assert CONFIGURATION_CHANGED not in desk.run("up", "--status").stdout
    path.write_text("[retention]\nraw_max_age_days = 60\n", "utf-8")
    assert CONFIGURATION_CHANGED in desk.run("up", "--status").stdout


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One daemon for the questions that change nothing."""
    made = Desk(tmp_path_factory.mktemp("running"))
    daemon = made.up()
    yield made
    assert daemon.end() == (0, "")
    made.close()


@pytest.mark.parametrize("kind", ["", "unheard-of", "context"])
def test_what_is_not_known_gets_an_empty_text(running: Desk, kind: str) -> None:
    assert question(running, kind, event="no such event") == ""


@pytest.mark.parametrize(
    "line", [b"no json\n", b"[]\n", b'{"version": 99, "kind": "settle"}\n', b"\xff\xfe\n", b"[" * 100_000 + b"\n"]
)
def test_garbage_gets_an_empty_text_and_hurts_nobody(running: Desk, line: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.connect(socket_path(str(running.home)))
        channel.sendall(line)
        assert json.loads(channel.makefile().readline()) == {"version": 1, "text": ""}
    assert question(running, "settle") is not None


def test_one_that_says_nothing_keeps_nobody_else_waiting(running: Desk) -> None:
    silent = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(4)]
    try:
        for channel in silent:
            channel.connect(socket_path(str(running.home)))
        assert question(running, "context", event="start", cwd="/nowhere") == ""
    finally:
        for channel in silent:
            channel.close()


def test_a_real_hook_leaves_its_drop_and_the_daemon_takes_it_in(desk: Desk) -> None:
    desk.up()
    said = {
        "session_id": "6f1d1c3e-9b1f-4d0a-8a52-0123456789ab", "hook_event_name": "UserPromptSubmit",
        "cwd": str(desk.root), "prompt": "a prompt that only the hook told: quokka",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "recollect", "hook", "claude", "prompt"],
        env=desk.env, input=json.dumps(said).encode(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    desk.wait_for("quokka")
    waiting = [path for path in (desk.home / "spool").iterdir() if path.is_file()]
    assert waiting == []


def test_the_end_of_a_session_has_it_looked_at_and_analysed(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("about the quokka")
    desk.up()
    passes = desk.status().counters.passes
    assert question(desk, "ended", event="end", session=talk.session) == ""
    wait_until(lambda: desk.status().counters.passes > passes)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reaches a socket through an open folder")
def test_a_home_deeper_than_the_path_of_a_socket_is_asked_like_any_other(desk: Desk) -> None:
    desk.home = desk.root / ("deep-" * 20) / ("memory-" * 20)
    desk.env["RECOLLECT_HOME"] = str(desk.home)
    talk = desk.claude("one")
    talk.user("it begins")
    daemon = desk.up()
    assert len(socket_path(str(desk.home))) > 200
    talk.user("just now: quokka")
    desk.wait_for("quokka")
    assert question(desk, "context", event="start", cwd="/nowhere") == ""
    assert json.loads(desk.run("up", "--status", "--json").stdout)["no_socket"] == ""
    assert daemon.end() == (0, "")
    assert not Path(socket_path(str(desk.home))).exists()


def test_reads_leave_the_looking_to_the_daemon_and_still_see_the_newest(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("it begins")
    desk.up()
    for number in range(5):
        talk.user(f"just now: quokka{number}x")
        with desk.memory() as memory:
            wait_until(lambda n=number: bool(memory.search(f"quokka{n}x").hits))
            assert memory.last_sync is None, "this process never looked itself"


def test_without_a_daemon_reads_look_themselves(desk: Desk) -> None:
    desk.claude("one").user("it begins with a quokka")
    desk.up().end()
    desk.claude("two").user("nobody watches the wombat")
    with desk.memory() as memory:
        assert memory.search("wombat").hits
        assert memory.last_sync is not None


def call_mcp(daemon: Daemon, **arguments: str) -> str:
    async def call() -> str:
        headers = {"Authorization": f"Bearer {daemon.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=120) as http,
            streamable_http_client(f"{daemon.url}/mcp", http_client=http) as streams,
            ClientSession(streams[0], streams[1]) as client,
        ):
            await client.initialize()
            answer = await client.call_tool("search", arguments)
            return str(answer.content[0].text)  # type: ignore[union-attr]

    return anyio.run(call)


def test_a_client_of_mcp_finds_what_was_just_written(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("it begins")
    daemon = desk.up()
    talk.user("tell nobody of the quokka")
    desk.wait_for("quokka")
    assert talk.uid in call_mcp(daemon, query="quokka")
    assert daemon.end() == (0, ""), "a client that has just been there does not keep it from stopping"


def test_times_that_an_agent_names_count_in_utc_wherever_the_daemon_runs(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("the quokka sleeps")  # at 09:00 UTC
    desk.env["TZ"] = "America/Los_Angeles"
    daemon = desk.up()
    assert talk.uid in call_mcp(daemon, query="quokka", after="2026-08-01T05:00")


def test_what_wrote_the_log_says_nothing_of_transcripts(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("a word that must not be logged: quokka")
    desk.up().end()
    log = Path(desk.home / "logs" / "daemon.log").read_text("utf-8")
    assert "started" in log
    assert "stopped" in log
    assert "quokka" not in log
