"""Commands that ask the daemon print what they print without one, and load none of what opens a memory."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from typing import NamedTuple

import pytest

from recollect.client import UNANSWERED
from tests.serve.daemon.conftest import Desk

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no Unix sockets")

NOT_LOADED = ("apsw", "cryptography", "numpy", "recollect.ingest", "recollect.index", "recollect.memory.memory",
              "recollect.store.connection", "tantivy")  # fmt: skip
LOADED = f"""
import sys
from recollect.cli.main import run
code = run(sys.argv[1:])
print(*(name for name in {NOT_LOADED!r} if name in sys.modules), file=sys.stderr)
sys.exit(code)
"""
_TAKEN = re.compile(r'"took_ms":[\d.e-]+|[\d.]+ (?:ms|s)$', re.MULTILINE)
"""How long a search took: the only thing that differs."""


class Said(NamedTuple):
    code: int
    out: str
    err: str


def said(desk: Desk, *command: str) -> Said:
    done = desk.run(*command)
    return Said(done.returncode, _TAKEN.sub("", done.stdout), done.stderr)


def written(desk: Desk) -> str:
    """Have two sessions; return the uid of one."""
    desk.configure("[embedding]\nin_background = false\n")
    desk.claude("beside", cwd=str(desk.root)).user("why does the wombat sleep?")
    talk = desk.claude("talk", cwd=str(desk.root))
    talk.user("please add the quokka endpoint")
    talk.assistant("Added the quokka endpoint.")
    return f"claude:{talk.session}"


def commands(uid: str) -> list[tuple[str, ...]]:
    named: list[tuple[str, ...]] = [
        ("search", "quokka"), ("search", "quokka", "--limit", "1"), ("search", "no such thing"),
        ("search", "q repo:none"), ("sessions",), ("sessions", "--agent", "codex"), ("sessions", "--agent", "nobody"),
        ("show", uid), ("show", f"{uid}#1"), ("show", f"{uid}#99"), ("show", "claude:nobody"), ("show", "note:nobody"),
        ("usage",), ("usage", "--by", "session"), ("usage", "--repo", "none"),
    ]  # fmt: skip
    return [*named, *((*command, "--json") for command in named)]


def test_a_command_prints_with_a_daemon_what_it_prints_without(desk: Desk) -> None:
    uid = written(desk)
    assert said(desk, "sync").code == 0  # so that no analysis by the daemon comes between two answers
    daemon = desk.up()
    with_it = {command: said(desk, *command) for command in commands(uid)}
    daemon.end()
    without = {command: said(desk, *command) for command in commands(uid)}
    assert with_it == without
    assert {told.code for told in without.values()} == {0, 1, 2}


@pytest.mark.parametrize("command", [("search", "quokka", "--json"), ("sessions",), ("usage",), ("show",)])
def test_a_command_that_the_daemon_answers_opens_no_memory(desk: Desk, command: tuple[str, ...]) -> None:
    uid = written(desk)
    desk.up()
    whole = (*command, uid) if command == ("show",) else command
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *whole], env=desk.env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "\n")


def test_a_secret_in_a_name_is_hidden_by_who_is_told_it_too(desk: Desk) -> None:
    secret = "gh" + "p_" + "AB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z07"
    path = desk.claude_home / "projects" / "-work" / f"{secret}.jsonl"
    path.parent.mkdir(parents=True)
    record = {"type": "user", "uuid": "u1", "sessionId": secret, "message": {"role": "user", "content": "quokka"}}
    path.write_text(json.dumps({**record, "timestamp": "2026-10-01T10:00:00.000Z", "cwd": "/work"}) + "\n")
    desk.up()
    (shown,) = json.loads(said(desk, "sessions", "--json").out)["sessions"]
    commands = [("search", "quokka"), ("sessions",), ("show", shown["session_uid"]), ("usage", "--by", "session")]
    told = [said(desk, *command, *form) for command in commands for form in ((), ("--json",))]
    assert {one.code for one in told} <= {0, 1}
    assert [one for one in told if secret in one.out + one.err] == []


def test_what_a_daemon_at_work_does_not_answer_is_read_from_the_disk_and_says_so(desk: Desk) -> None:
    uid = written(desk)
    assert said(desk, "sync").code == 0  # as above
    desk.env["TZ"] = "Asia/Kolkata"
    daemon = desk.up()
    desk.env["TZ"] = "UTC"
    asked = [(*command, "--json") for command in (("search", "quokka"), ("sessions",), ("usage",), ("show", uid))]
    unanswered = [said(desk, *command) for command in asked]
    daemon.end(signal.SIGKILL)
    alone = [said(desk, *command) for command in asked]
    assert [told[:2] for told in unanswered] == [told[:2] for told in alone]
    assert all(told.err.startswith(f"recollect: {UNANSWERED}") for told in unanswered)
    assert [told.err for told in alone] == [""] * len(alone)
