"""A machine that is not as installed gets clear answers; standard output carries the protocol and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.serve.mcp.clients import TRANSPORTS, Caller, Told, ask
from tests.serve.mcp.homes import Machine, with_history

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def talk(machine: Machine, *lines: bytes | dict[str, Any], answers: int, cwd: Path | None = None) -> list[Any]:
    """Write lines to a server and return its messages: it must answer so many and end well when standard input does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "mcp"],
        env=dict(machine.env),
        cwd=cwd or machine.folder("shop"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for line in lines:
        process.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
    process.stdin.flush()
    got = [json.loads(process.stdout.readline()) for _ in range(answers)]
    rest, _errors = process.communicate(timeout=120)
    assert (process.returncode, rest) == (0, b"")
    assert all(message["jsonrpc"] == "2.0" for message in got)
    return got


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def said(message: Any) -> Told:
    (content,) = message["result"]["content"]
    return Told(content["text"], message["result"].get("isError", False))


def test_a_new_machine_has_nothing_and_says_so(machine: Machine) -> None:
    _hello, answer = talk(machine, INITIALIZE, INITIALIZED, call(2, "search", query="anything"), answers=2)
    assert "Nothing found" in said(answer).text
    assert not said(answer).is_error


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_was_never_taken_in_is_taken_in_at_the_first_call(transport: str, machine: Machine) -> None:
    with_history(machine)

    async def body(caller: Caller) -> str:
        return (await caller.fresh("search", query="flaky checkout", scope="all")).text

    assert "Fix the flaky checkout test" in ask(transport, machine, body)


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="folders that the superuser may not write do not exist"
)
def test_a_home_that_cannot_be_made_is_a_clear_error(machine: Machine) -> None:
    machine.root.chmod(0o500)
    try:
        _hello, answer = talk(machine, INITIALIZE, INITIALIZED, call(2, "search", query="x"), answers=2, cwd=Path("/"))
    finally:
        machine.root.chmod(0o700)
    assert said(answer).is_error
    assert "cannot make the memory's folder" in said(answer).text


def test_a_home_that_is_a_file_is_a_clear_error_and_the_session_goes_on(machine: Machine) -> None:
    machine.home.write_text("not a folder")
    asked = (call(2, "search", query="x"), {"jsonrpc": "2.0", "id": 3, "method": "ping"})
    _hello, *answers = talk(machine, INITIALIZE, INITIALIZED, *asked, answers=3)
    by_id = {message["id"]: message for message in answers}
    assert said(by_id[2]).is_error
    assert "internal_error" not in said(by_id[2]).text
    assert by_id[3]["result"] == {}


def test_a_configuration_that_cannot_be_used_is_told_by_every_call(machine: Machine) -> None:
    machine.home.mkdir()
    (machine.home / "config.toml").write_text("[serach]\nlimit = 1\n", "utf-8")
    _hello, answer = talk(machine, INITIALIZE, INITIALIZED, call(2, "list_sessions"), answers=2)
    assert said(answer).is_error
    assert "serach" in said(answer).text


def test_a_database_that_is_none_is_a_clear_error(history: Machine) -> None:
    for path in history.home.glob("memory.db*"):
        path.write_bytes(b"this is no database at all, whatever its name says" * 100)
    _hello, answer = talk(history, INITIALIZE, INITIALIZED, call(2, "list_sessions"), answers=2)
    assert said(answer).is_error
    assert "internal_error" not in said(answer).text


def test_a_memory_that_another_process_fills_is_read_and_says_so(history: Machine) -> None:
    from recollect.store.lock import IngestLock

    lock = IngestLock(history.home)
    try:
        asked = call(2, "search", query="flaky checkout", scope="all")
        _hello, answer = talk(history, INITIALIZE, INITIALIZED, asked, answers=2)
    finally:
        lock.release()
    assert "Fix the flaky checkout test" in said(answer).text
    assert "catching up" in said(answer).text


def test_a_database_under_another_ones_write_lock_is_read(history: Machine) -> None:
    with closing(apsw.Connection(str(history.home / "memory.db"))) as other:
        other.execute("BEGIN IMMEDIATE")
        _hello, answer = talk(
            history, INITIALIZE, INITIALIZED, call(2, "search", query="flaky checkout", scope="all"), answers=2
        )
    assert "Fix the flaky checkout test" in said(answer).text


def test_an_index_that_is_gone_is_made_again_or_said_to_be(history: Machine) -> None:
    import shutil

    shutil.rmtree(history.home / "index")

    async def body(caller: Caller) -> str:
        return (await caller.fresh("search", query="flaky checkout", scope="all")).text

    assert "Fix the flaky checkout test" in ask("stdio", history, body)


def test_a_part_of_the_index_that_is_damaged_is_said_and_mended_beside_the_answers(history: Machine) -> None:
    for path in (history.home / "index").rglob("*.term"):
        # Its end stays, so that it still opens.
        path.write_bytes(bytes(max(0, path.stat().st_size - 200)) + path.read_bytes()[-200:])

    async def body(caller: Caller) -> str:
        for _ in range(5000):
            text = (await caller.fresh("search", query="flaky checkout", scope="all")).text
            if "was rebuilt" in text:
                return (await caller.call("search", query="flaky checkout", scope="all")).text
            assert "damaged" in text or "Fix the flaky checkout test" in text
        raise AssertionError("it was never mended")

    text = ask("stdio", history, body)
    assert "Fix the flaky checkout test" in text
    assert "left out" not in text


def test_an_agent_that_is_off_is_named_as_missing(history: Machine) -> None:
    (history.home / "config.toml").write_text("[agents.codex]\nenabled = false\n", "utf-8")

    async def body(caller: Caller) -> str:
        return (await caller.fresh("search", query="qwxz")).text

    text = ask("stdio", history, body)
    assert "Coverage is partial" in text
    assert "disabled: codex" in text


def test_a_source_that_cannot_be_read_is_counted_as_missing(history: Machine) -> None:
    # A database that is none: unreadable for everybody, also where the superuser runs the tests.
    database = history.root / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"this is no database" * 500)

    async def body(caller: Caller) -> str:
        return (await caller.fresh("list_sessions")).text

    text = ask("stdio", history, body)
    assert "Coverage is partial" in text
    assert "opencode" in text


def test_lines_that_are_no_messages_break_nothing(history: Machine) -> None:
    hostile = (
        b"not json\n",
        b'{"jsonrpc": "2.0"\n',
        b"[]\n",
        b'{"jsonrpc": "2.0", "id": 7, "method": 5}\n',
        b"\xff\xfe\x00\n",
        b'{"a":' * 3000 + b"\n",
        json.dumps(call(8, "search", query="x" * 2_000_000)).encode() + b"\n",
        b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"search","arguments":{"query":"\\ud800"}}}\n',
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "mcp"],
        env=dict(history.env),
        cwd=history.folder("shop"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for line in (INITIALIZE, INITIALIZED):
        process.stdin.write(json.dumps(line).encode() + b"\n")
    for line in hostile:
        process.stdin.write(line)
    process.stdin.write(json.dumps(call(99, "search", query="flaky checkout", scope="all")).encode() + b"\n")
    process.stdin.flush()
    messages: list[Any] = []
    while not any(message.get("id") == 99 for message in messages):
        messages.append(json.loads(process.stdout.readline()))
    process.stdin.close()
    assert process.wait(timeout=120) == 0
    process.stdout.close()
    by_id = {message.get("id"): message for message in messages}
    assert "Fix the flaky checkout test" in said(by_id[99]).text
    if 8 in by_id:
        assert said(by_id[8]).is_error
        assert "`query`" in said(by_id[8]).text or "larger" in said(by_id[8]).text


@pytest.mark.parametrize(
    ("asked", "negotiated"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("1999-01-01", "2025-11-25"),
    ],
)
def test_the_version_is_the_one_asked_for_or_the_newest_known(machine: Machine, asked: str, negotiated: str) -> None:
    hello = {**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": asked}}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    first, second = talk(machine, hello, INITIALIZED, listing, answers=2)
    assert first["result"]["protocolVersion"] == negotiated
    assert first["result"]["serverInfo"]["name"] == "recollect"
    assert len(second["result"]["tools"]) == 6


def test_a_client_without_a_handshake_is_served_too(history: Machine) -> None:
    """The protocol of 2026-07-28 has none: each request says its version."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    asked = call(1, "search", query="flaky checkout")
    asked["params"]["_meta"] = meta
    (answer,) = talk(history, asked, answers=1)
    assert "Fix the flaky checkout test" in said(answer).text


def test_calls_before_the_handshake_are_refused(machine: Machine) -> None:
    (answer,) = talk(machine, call(1, "search", query="x"), answers=1)
    assert "error" in answer
