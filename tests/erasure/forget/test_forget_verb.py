"""`recollect forget`, as a person or a program runs it: in a process of its own, in a temporary home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from recollect.memory import ForgetReport, ForgottenList
from recollect.testing.builders import ClaudeTranscript


@pytest.fixture
def one(isolated_home: Path) -> ClaudeTranscript:
    transcript = ClaudeTranscript(isolated_home / ".claude", "one")
    transcript.user("please deploy zanzibarquux")
    transcript.assistant("done")
    return transcript


def recollect(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "recollect", *arguments], input=stdin, capture_output=True, text=True, check=False,
        env=os.environ.copy(),
    )  # fmt: skip


def test_from_looking_to_the_list(one: ClaudeTranscript) -> None:
    assert recollect("sync").returncode == 0
    looked = recollect("forget", "--session", one.uid, "--dry-run", "--json")
    planned = msgspec.json.decode(looked.stdout, type=ForgetReport)
    assert (looked.returncode, planned.state, planned.sessions[0].session_uid) == (0, "planned", one.uid)
    text = recollect("forget", "--session", one.uid, "--dry-run")
    assert (text.returncode, one.uid in text.stdout, "would go" in text.stdout) == (0, True, True)
    done = recollect("forget", "--session", one.uid, "--yes", "--json")
    report = msgspec.json.decode(done.stdout, type=ForgetReport)
    assert (done.returncode, report.state, report.whole_sessions, report.sessions) == (0, "done", 1, [])
    assert json.loads(recollect("search", "zanzibarquux", "--json").stdout)["total"] == 0
    listed = recollect("forget", "--list", "--json")
    groups = msgspec.json.decode(listed.stdout, type=ForgottenList).groups
    assert (listed.returncode, [(g.kind, g.count) for g in groups]) == (0, [("session", 1)])
    assert "sessions" in recollect("forget", "--list").stdout
    for arguments in (("--repo", "no-such"), ("--pattern", "zanzibarquux")):
        nothing = recollect("forget", *arguments, "--yes")
        assert (nothing.returncode, "nothing in the memory" in nothing.stdout) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--yes",),
        ("--session", "claude:x"),  # nobody can be asked
        ("--pattern", "(", "--yes"),
        ("--since", "not a time", "--yes"),
        ("--list", "--repo", "x"),
        ("--session", "claude:none", "--yes"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_and_changes_nothing(
    one: ClaudeTranscript, arguments: tuple[str, ...]
) -> None:
    recollect("sync")
    refused = recollect("forget", *arguments)
    assert refused.returncode == 2, refused
    assert "Traceback" not in refused.stderr
    assert json.loads(recollect("sessions", "--json").stdout)["total"] == 1


def test_an_empty_memory_has_nothing_to_forget() -> None:
    nothing = recollect("forget", "--repo", "x", "--yes", "--json")
    assert (nothing.returncode, json.loads(nothing.stdout)["state"]) == (1, "nothing")
    assert recollect("forget", "--list").returncode == 1


def test_who_names_nothing_is_told_to_name_something(one: ClaudeTranscript) -> None:
    for arguments in ((), ("--yes",), ("--dry-run",)):
        refused = recollect("forget", *arguments)
        assert (refused.returncode, "no option says what to forget" in refused.stderr) == (2, True)
