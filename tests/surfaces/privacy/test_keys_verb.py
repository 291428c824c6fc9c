"""`recollect keys`, and what a memory still does when its key is gone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import program
from tests.archive.keyrings import Keyrings
from tests.cli.conftest import Outcome, demo, recollect

__all__ = ["demo", "recollect"]

Recollect = Callable[..., Outcome]


@pytest.fixture
def home(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the sample's home, the user's own for this test."""
    home = tmp_path / "home"
    shutil.copytree(demo, home)
    monkeypatch.setenv("RECOLLECT_HOME", str(home))
    return home


@pytest.fixture
def keyrings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Keyrings:
    """Return the choice of keyrings; at first one that works."""
    return Keyrings(tmp_path_factory.mktemp("keyrings"), monkeypatch)


def packs(home: Path) -> dict[str, bytes]:
    """Return every file of the archive."""
    return {str(path): path.read_bytes() for path in (home / "archive").rglob("*") if path.is_file()}


def test_a_rotation_rewrites_nothing_of_the_archive(home: Path, recollect: Recollect) -> None:
    before, status = packs(home), recollect("keys", "status", "--json").data
    change = recollect("keys", "rotate", "--json")
    assert change.code == 0
    assert change.data["key_id_before"] == status["key_id"] != change.data["key_id"]
    assert packs(home) == before
    assert recollect("verify", "--json").data["ok"]
    assert recollect("keys", "status", "--json").data["key_id"] == change.data["key_id"]


def test_a_memory_lives_with_its_key_in_the_keyring(home: Path, keyrings: Keyrings, recollect: Recollect) -> None:
    moved = recollect("keys", "move", "keyring")
    assert moved.code == 0, moved.err
    assert "in the system's keyring" in moved.out
    assert not (home / "keys" / "wrapping.key").exists()
    assert recollect("sync", "--json").data["state"] == "done"
    assert recollect("verify", "--json").data["ok"]
    again = recollect("keys", "move", "keyring")
    assert (again.code, "already" in again.err) == (2, True)
    assert recollect("keys", "move", "file").code == 0
    assert recollect("keys", "status", "--json").data["kept"] == "file"


def test_a_keyring_that_is_locked_when_a_process_starts_is_told(
    home: Path, keyrings: Keyrings, recollect: Recollect
) -> None:
    recollect("keys", "move", "keyring")
    keyrings.choose("Locked")
    sync = program.run_text("sync")
    assert sync.returncode == 3
    assert "the system's keyring is locked" in sync.stderr
    status = program.run_text("keys", "status")
    assert status.returncode == 3
    assert "CANNOT be opened" in status.stdout


@pytest.fixture
def keyless(home: Path) -> Path:
    """Return a home whose key is gone."""
    (home / "keys" / "wrapping.key").unlink()
    return home


@pytest.mark.parametrize(
    "argv",
    [
        ("search", "test"),
        ("sessions",),
        ("timeline",),
        ("decisions",),
        ("usage",),
        ("stats",),
        ("retro", "--since", "2026-09-01"),
    ],
    ids=lambda argv: argv[0],
)
def test_without_its_key_what_was_derived_still_answers(
    keyless: Path, recollect: Recollect, argv: tuple[str, ...]
) -> None:
    answer = recollect(*argv, "--json")
    assert answer.code == 0, answer.err
    assert answer.data


def test_without_its_key_sessions_can_be_read(keyless: Path, recollect: Recollect) -> None:
    for session in recollect("sessions", "--json", "--limit", "50").data["sessions"]:
        shown = recollect("show", session["session_uid"], "--json", "--limit", "1000")
        assert shown.code == 0, shown.err
        assert shown.data["events"]
        assert recollect("digest", session["session_uid"], "--json").code == 0


def test_without_its_key_long_texts_say_why_they_are_not_there(isolated_home: Path, recollect: Recollect) -> None:
    folder = isolated_home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    session = "5f0c0000-0000-4000-8000-000000000000"
    common = {"sessionId": session, "timestamp": "2026-10-01T10:00:00.000Z", "cwd": "/work", "version": "2.0.0"}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make story"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "a long story\n" * 400}
    records = [
        {"type": "user", "uuid": "u1", **common, "message": {"role": "user", "content": "tell me"}},
        {"type": "assistant", "uuid": "u2", **common, "message": {"id": "m1", "role": "assistant", "content": [call]}},
        {"type": "user", "uuid": "u3", **common, "message": {"role": "user", "content": [result]}},
    ]
    (folder / f"{session}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert recollect("sync", "--json").data["state"] == "done"
    (isolated_home / "recollect" / "keys" / "wrapping.key").unlink()
    shown = recollect("show", "claude:5f0c", "--json")
    assert shown.code == 0
    assert "[5,200 characters not available: the archive's key is missing" in shown.out
    assert recollect("search", "long story", "--json").data["total"] >= 1


@pytest.mark.parametrize("argv", [("sync",), ("verify",), ("keys", "rotate"), ("keys", "status")], ids="-".join)
def test_without_its_key_what_needs_it_says_so(keyless: Path, recollect: Recollect, argv: tuple[str, ...]) -> None:
    outcome = recollect(*argv)
    assert outcome.code == 3
    assert "the archive's key is missing" in outcome.err + outcome.out
    assert "backup" in outcome.err + outcome.out
    assert not (keyless / "keys" / "wrapping.key").exists()


def test_a_memory_without_anything_has_no_key_yet(recollect: Recollect) -> None:
    outcome = recollect("keys", "status")
    assert outcome.code == 3
    assert "nothing is stored yet" in outcome.err


def test_every_change_of_keys_is_in_the_audit(home: Path, recollect: Recollect) -> None:
    from recollect.store.audit import read_audit

    change = recollect("keys", "rotate", "--json").data
    (entry,) = read_audit(home, actions=("rotate",))
    assert entry.value["key_id"] == change["key_id"]
    assert entry.value["by"]


@pytest.mark.parametrize("argv", [("move",), ("rotate", "file"), ("status", "keyring")], ids="-".join)
def test_a_place_goes_with_moving_only(recollect: Recollect, argv: tuple[str, ...]) -> None:
    assert recollect("keys", *argv).code == 2
