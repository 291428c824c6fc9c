"""`hook session-end --export-env`: shell-safe lines of one session, or nothing; always exit 0."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.surfaces.looking_back.desk import Desk, a_fixed_error, make_desk

EXPORT = ("hook", "session-end", "--export-env")
NAMES = [
    "HELIX_SESSION_UID", "HELIX_REPO", "HELIX_FLAVOR", "HELIX_TOKENS", "HELIX_INFRA_OVERHEAD_SHARE", "HELIX_STORE_DB",
]  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def in_shell(lines: str) -> dict[str, str]:
    """Return what a POSIX shell makes of the lines."""
    script = lines + "".join(f'printf "%s\\0" "${name}";' for name in NAMES)
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True, env={"PATH": "/usr/bin:/bin"})
    return dict(zip(NAMES, done.stdout.decode().split("\0")[:-1], strict=True))


def test_a_session_that_just_ended_is_taken_in_analysed_and_exported(desk: Desk) -> None:
    session = a_fixed_error(desk)
    payload = json.dumps({"session_id": session.session, "hook_event_name": "SessionEnd"}).encode()
    done = desk.run(*EXPORT, stdin=payload)
    assert (done.code, done.err) == (0, "")
    values = in_shell(done.out)
    digest = desk.run("digest", session.uid, "--json").data
    cost = digest["cost"]
    assert values == {
        "HELIX_SESSION_UID": session.uid,
        "HELIX_REPO": "shop-api",
        "HELIX_FLAVOR": "claude",
        "HELIX_TOKENS": str(cost["input_tokens"] + cost["output_tokens"]),
        "HELIX_INFRA_OVERHEAD_SHARE": "0.0000",
        "HELIX_STORE_DB": str(desk.root / "memory" / "memory.db"),
    }
    assert int(values["HELIX_TOKENS"]) > 0
    with sqlite3.connect(values["HELIX_STORE_DB"]) as db:
        ((text,),) = db.execute("SELECT json FROM digests WHERE session_uid = ?", (session.uid,)).fetchall()
    stored = json.loads(text)
    assert stored.pop("tool_kinds") == {}
    assert stored["cost"].pop("active_s") == digest["cost"]["active_s"]
    assert stored == desk.run("digest", session.uid, "--json", "--schema", "1").data


def test_a_session_under_way_is_exported_as_far_as_it_has_come(desk: Desk) -> None:
    session = desk.claude(start=datetime.now(UTC))
    session.user("look around")
    session.tool("mcp__tracker__list", {"q": "x"}, "none")
    for _ in range(2):
        session.tool("Bash", {"command": "ls"}, "app.py")
    first = in_shell(desk.run(*EXPORT, "--session", session.uid).out)
    assert first["HELIX_INFRA_OVERHEAD_SHARE"] == "0.3333"
    session.assistant("There is little.", output_tokens=1000)
    second = in_shell(desk.run(*EXPORT, "--session", session.uid).out)
    assert int(second["HELIX_TOKENS"]) == int(first["HELIX_TOKENS"]) + 1005


def test_nothing_in_a_name_is_run_by_the_shell(desk: Desk) -> None:
    hostile = "a$(touch pwned)`touch pwned`';\" x"
    session = desk.claude(cwd=f"/w/{hostile}")
    session.user("hello")
    session.assistant("hello")
    values = in_shell(desk.run(*EXPORT, "--session", session.uid).out)
    assert values["HELIX_REPO"] == hostile
    assert not (desk.root / "pwned").exists()


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (EXPORT, b""),
        (EXPORT, b"{}"),
        (EXPORT, b"\xff\xfe not json"),
        (EXPORT, b'{"session_id": 7}'),
        (EXPORT, b'{"session_id": "no-such-session"}'),
        ((*EXPORT, "--session", "claude:no-such-session"), b""),
        ((*EXPORT, "--session"), b""),
        ((*EXPORT, "--what", "is this"), b""),
        (("hook", "session-end"), b"{}"),
    ],
)
def test_where_there_is_nothing_to_say_nothing_is_said(desk: Desk, arguments: tuple[str, ...], stdin: bytes) -> None:
    assert desk.run(*arguments, stdin=stdin) == (0, "", "")


def test_a_home_that_cannot_be_made_is_silence(desk: Desk) -> None:
    session = a_fixed_error(desk)
    (desk.root / "memory").write_text("a file stands where the home should be", "utf-8")
    assert desk.run(*EXPORT, "--session", session.uid) == (0, "", "")


def test_nothing_in_the_agents_folder_is_run(desk: Desk) -> None:
    session = a_fixed_error(desk)
    for name in ("recollect", "msgspec", "json"):
        (desk.repo / name).mkdir()
        (desk.repo / name / "__init__.py").write_text("open('pwned', 'w').close()\n", "utf-8")
    command = [sys.executable, "-P", "-m", "recollect", *EXPORT, "--session", session.uid]
    done = subprocess.run(command, env=desk.env, cwd=desk.repo, capture_output=True, check=False)
    assert done.stdout.startswith(b"export HELIX_SESSION_UID=")
    assert not (desk.repo / "pwned").exists()


def test_a_broken_configuration_is_silence(desk: Desk) -> None:
    session = a_fixed_error(desk)
    (desk.root / "memory").mkdir()
    (desk.root / "memory" / "config.toml").write_text("[distill]\nnonsense = 1\n", "utf-8")
    assert desk.run(*EXPORT, "--session", session.uid) == (0, "", "")


def test_what_takes_too_long_is_ended_with_all_that_it_started(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The deadline is set to nothing: whatever the child is at, it is gone when the hook returns."""
    from recollect.cli import session_end

    session = a_fixed_error(desk)
    for name, value in desk.env.items():
        monkeypatch.setenv(name, value)
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def noted(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(real(*arguments, **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(session_end, "DEADLINE_S", 0.0)
    monkeypatch.setattr(session_end.subprocess, "Popen", noted)
    assert session_end.close_session(session_end.SessionEndOptions(export_env=True, session=session.uid)) == 0
    assert [child.poll() is not None for child in started] == [True]
    assert capfdbinary.readouterr() == (b"", b"")
    monkeypatch.undo()
    assert desk.run(*EXPORT, "--session", session.uid).out.startswith("export HELIX_SESSION_UID=")


def test_another_process_that_ingests_is_waited_for_until_the_deadline(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    from recollect.cli import session_end
    from recollect.memory import Memory

    session = a_fixed_error(desk)
    for name, value in desk.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(session_end, "DEADLINE_S", 0.0)
    with Memory.open() as memory, memory.writing(), pytest.raises(TimeoutError):
        session_end.main(["--session", session.uid])
    assert capfdbinary.readouterr().out == b""


def test_json_is_the_same_as_data(desk: Desk) -> None:
    session = a_fixed_error(desk)
    told = desk.run("hook", "session-end", "--json", "--session", session.uid)
    assert told.data == in_shell(desk.run(*EXPORT, "--session", session.uid).out)
    assert desk.run("hook", "session-end", "--json", "--session", "claude:none").data == {}
