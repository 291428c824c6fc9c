"""Going on with a session: `recollect resume` in its own agent, `recollect handoff` in another one."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.registry import adapters
from recollect.testing.builders import ClaudeTranscript, stable_uuid

Recollect = Callable[..., Any]
WEBHOOK = "claude:2aaeb4f4-04af-429c-b814-51289bf70d40"
COMMANDS = {slug: a.facts.commands for slug, a in adapters().items() if a.facts.commands is not None}


@pytest.fixture
def work(isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is there, in which a session worked."""
    folder = tmp_path / "the  shop; echo no"
    folder.mkdir()
    session = ClaudeTranscript(isolated_home / ".claude", "one", cwd=str(folder))
    session.user("Make the tests pass. Use Postgres instead of SQLite for the ledger.")
    session.tool("Bash", {"command": "pytest -q"}, "2 failed: test_pay", is_error=True)
    session.tool("Bash", {"command": "ruff check ."}, "All checks passed!", toolUseResult={"stdout": "", "stderr": ""})
    session.write(str(folder / "pay.py"), "pass\n")
    session.assistant("I stopped here: the mock of the bank is still missing.")
    session.user("Go on, please")
    return folder


def program(folder: Path, name: str, line: str) -> None:
    """Write a program that stands for an agent."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport os, sys\n{line}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("slug", COMMANDS)
def test_a_command_has_its_placeholder_once_and_a_source(slug: str) -> None:
    commands = COMMANDS[slug]
    for words, mark in ((commands.resume, "{session}"), (commands.start, "{prompt}")):
        assert sum(mark in word for word in words) == bool(words)
        assert all("{" not in word.replace(mark, "") for word in words)
        assert not words or words[0].isalnum()
    assert commands.resume
    assert commands.source


def test_it_prints_the_agents_own_command_and_the_folder(filled: Path, recollect: Recollect) -> None:
    done = recollect("resume", "2aaeb4f4")  # its subagent's id begins like that too
    assert done.code == 0
    assert done.out == "cd /home/dev/shop-api && claude --resume 2aaeb4f4-04af-429c-b814-51289bf70d40\n"
    assert "its folder is not on this machine: /home/dev/shop-api" in done.err
    told = recollect("resume", WEBHOOK, "--json").data
    assert told["command"] == ["claude", "--resume", WEBHOOK.partition(":")[2]]
    assert (told["folder"], told["is_folder_there"]) == ("/home/dev/shop-api", False)


@pytest.mark.skipif(os.name == "nt", reason="a script with a first line that names its program")
def test_run_starts_it_in_the_folder_without_a_shell_and_gives_its_exit_code(
    work: Path, recollect: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recollect("sync")
    tools = tmp_path / "tools"
    tools.mkdir()
    can_stop = "signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    line = f"import signal\nprint(sys.argv[1:], os.getcwd(), {can_stop})\nsys.exit(7)"
    program(tools, "claude", line)
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    uid = recollect("sessions", "--json").data["sessions"][0]["session_uid"]
    done = recollect("resume", uid, "--run")
    assert done.code == 7
    assert done.out == f"{['--resume', uid.partition(':')[2]]} {work} True\n"
    line = recollect("resume", uid).out
    assert shlex.split(line)[:2] == ["cd", str(work)]
    run = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (7, done.out)


@pytest.mark.skipif(os.name == "nt", reason="a script with a first line that names its program")
def test_a_program_in_the_working_directory_is_never_started(
    work: Path, recollect: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(work, "claude", "print('evil')")
    monkeypatch.chdir(work)
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", "/nowhere")))
    done = recollect("resume", f"claude:{stable_uuid('one')}", "--run")
    assert (done.code, done.out) == (2, "")
    assert "`claude` is not on the PATH" in done.err


def test_what_cannot_be_resumed_is_told_on_a_line(
    work: Path, recollect: Recollect, monkeypatch: pytest.MonkeyPatch, isolated_home: Path, tmp_path: Path
) -> None:
    aider = tmp_path / ".aider.chat.history.md"
    aider.write_text("# aider chat started at 2026-01-01 10:00:00\n\n#### hello\n\nHello!\n")
    recollect("import", str(aider))
    evil = ClaudeTranscript(isolated_home / ".claude", "two", cwd=str(tmp_path / "gone"))
    evil.session = "--dangerously-skip-permissions"
    evil.path = evil.path.with_name("--dangerously-skip-permissions.jsonl")
    evil.user("Hello")
    recollect("sync")
    monkeypatch.setenv("PATH", str(tmp_path))
    uids = {s["agent"] + s["title"][:5]: s["session_uid"] for s in recollect("sessions", "--json").data["sessions"]}
    for uid, said in (
        (uids["aiderhello"], "no command is known with which Aider goes on with a session"),
        (uids["claudeHello"], "would read its id as something else"),
        (uids["claudeMake "], "`claude` is not on the PATH"),
        ("claude:nobody", "no session called"),
    ):
        done = recollect("resume", uid, "--run")
        assert (done.code, done.out, said in done.err) == (2, "", True), done.err
        assert len(done.err.splitlines()) <= 2
    work.rmdir()
    done = recollect("resume", uids["claudeMake "], "--run")
    assert done.code == 2
    assert done.err.startswith(f"recollect: its folder is not on this machine: {work}\n")


def test_a_subagents_session_names_its_parent(filled: Path, recollect: Recollect) -> None:
    done = recollect("resume", f"{WEBHOOK}/agent-a41c9be2")
    assert done.code == 2
    assert f"run: recollect resume {WEBHOOK}" in done.err


def test_a_brief_says_what_was_asked_decided_run_changed_and_where_it_stopped(
    filled: Path, recollect: Recollect
) -> None:
    brief = recollect("handoff", WEBHOOK, "--to", "openai-codex", "--json").data
    assert brief["to"] == "codex"
    for line in (
        "Outcome: success (the last test run passes",
        "- “Agreed, database it is. Keep the rows 30 days.”",
        "- holds, by the person: “Agreed, database it is.”",
        "- holds, maybe, by the agent: “I'd decide against a Redis key",
        "- `pytest -q`",
        "shop/webhooks.py",
        "the agent's last words: “Done: a second delivery",
    ):
        assert line in brief["text"]
    shown = {cited: recollect("show", cited, "--json").code for cited in brief["citations"]}
    assert shown == dict.fromkeys(brief["citations"], 0)
    assert all(line.endswith("]") for line in brief["lines"])
    assert brief["tokens"] <= 2_000
    assert brief["start"] == ["codex", brief["text"]]


def test_a_brief_of_a_session_under_way_tells_what_fails_and_what_has_no_answer(
    work: Path, recollect: Recollect
) -> None:
    uid = f"claude:{stable_uuid('one')}"
    assert recollect("handoff", uid, "--to", "gemini", "--no-sync").code == 2
    done = recollect("handoff", uid, "--to", "gemini")
    assert "- holds, by the person: “Use Postgres instead of SQLite for the ledger.”" in done.out
    assert "`pytest -q` failed: “2 failed: test_pay”" in done.out
    assert "- pay.py [" in done.out
    assert "the agent's last words: “I stopped here: the mock of the bank is still missing.”" in done.out
    assert "- without an answer: “Go on, please”" in done.out


def test_a_brief_tells_what_is_left(work: Path, recollect: Recollect) -> None:
    left = ClaudeTranscript(
        Path(os.environ["CLAUDE_CONFIG_DIR"]), "left", cwd=str(work), start=datetime.now(UTC) - timedelta(hours=2)
    )
    left.user("Rotate the keys.")
    left.assistant("Production is done. Still to do: rotate the staging key, I left it for tomorrow.")
    recollect("sync")
    recollect("actions", "add", "Unrelated to the session")
    done = recollect("handoff", left.uid, "--to", "gemini")
    assert "Left to do by this session:\n- “rotate the staging key” [action:" in done.out
    assert "Unrelated" not in done.out


def test_a_brief_keeps_to_its_budget(filled: Path, recollect: Recollect) -> None:
    whole = recollect("handoff", WEBHOOK, "--to", "codex", "--json").data
    less = recollect("handoff", WEBHOOK, "--to", "codex", "--budget", "500", "--json").data
    assert less["tokens"] <= 500 < whole["tokens"]
    assert set(less["lines"]) < set(whole["lines"])
    assert less["left_out"]
    none = recollect("handoff", WEBHOOK, "--to", "codex", "--budget", "20")
    assert (none.code, none.out) == (1, "")
    assert "20 tokens have no room for a brief" in none.err


def test_a_brief_in_a_file_is_what_the_other_agent_is_told_to_read(
    filled: Path, recollect: Recollect, tmp_path: Path
) -> None:
    out = tmp_path / "brief.md"
    done = recollect("handoff", WEBHOOK, "--to", "codex", "-o", str(out))
    prompt = f"'Read {out}, a brief of earlier work on this, and go on with it.'"
    assert done.out.splitlines()[-1] == f"start it with: cd /home/dev/shop-api && codex {prompt}"
    assert out.read_text("utf-8") == recollect("handoff", WEBHOOK, "--to", "codex").out
    assert recollect("handoff", WEBHOOK, "--to", "codex", "-o", str(tmp_path / "no" / "brief.md")).code == 2


def test_an_unknown_agent_is_an_error_that_names_the_nearest(filled: Path, recollect: Recollect) -> None:
    done = recollect("handoff", WEBHOOK, "--to", "codx")
    assert done.code == 2
    assert "did you mean codex" in done.err
