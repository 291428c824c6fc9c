"""`backup`, `restore`, `verify --deep` and `doctor --fix` as a person runs them: text, JSON shapes, exit codes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from recollect.cli.commands.config import result_types

Recollect = Callable[..., Any]


@pytest.fixture
def home(history: Path, recollect: Recollect) -> Path:
    """Return the home of a memory of this user, with the sample in it."""
    assert recollect("sync").code == 0
    return Path(os.environ["RECOLLECT_HOME"])


def test_a_backup_restored_to_another_home_says_the_same(home: Path, recollect: Recollect, tmp_path: Path) -> None:
    made = recollect("backup", str(tmp_path / "copy.tar.zst"), "--json")
    assert made.code == 0, made
    report = msgspec.json.decode(made.out, type=result_types()["backup"])
    again = recollect("restore", str(tmp_path / "copy.tar.zst"), "--home", str(tmp_path / "again"), "--json")
    assert again.code == 0, again
    restored = msgspec.json.decode(again.out, type=result_types()["restore"])
    assert (restored.sessions, restored.events) == (report.sessions, report.events)
    expected = recollect("search", "webhook", "--no-sync", "--json").data
    shutil.rmtree(home)
    shutil.move(tmp_path / "again", home)
    found = recollect("search", "webhook", "--no-sync", "--json").data
    assert (found["hits"], found["total"]) == (expected["hits"], expected["total"])
    assert found["total"] > 0


def test_what_backup_and_restore_print(home: Path, recollect: Recollect, tmp_path: Path) -> None:
    made = recollect("backup", str(tmp_path / "copy"), "--without-key")
    assert "it does not contain the wrapping key" in made.out
    assert "every hash matches" in made.out
    refused = recollect("restore", str(tmp_path / "copy"))
    assert refused.code == 2
    assert "--force replaces it" in refused.err
    done = recollect("restore", str(tmp_path / "copy"), "--force", "--keep")
    assert done.code == 0, done
    assert "the old memory is in" in done.out
    assert "vectors are made" in done.out


def test_what_is_no_backup_fails(home: Path, recollect: Recollect, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    failed = recollect("restore", str(tmp_path / "empty"), "--force", "--json")
    assert failed.code == 3
    assert "is no backup" in failed.err + failed.out


def test_a_deep_check_passes_and_fails(home: Path, recollect: Recollect) -> None:
    sound = recollect("verify", "--deep", "--json")
    assert sound.code == 0, sound
    report = msgspec.json.decode(sound.out, type=result_types()["verify"])
    assert [part.name for part in report.deep if not part.ok] == []
    assert len(report.deep) == 8
    db = apsw.Connection(str(home / "memory.db"))
    db.execute("UPDATE usage SET output = output + 1").fetchall()
    db.close()
    broken = recollect("verify", "--deep")
    assert broken.code == 3
    assert "DIFFERS  usage" in broken.out
    assert broken.out.endswith("NOT ok: derived data differs from the archive\n")
    assert recollect("verify").code == 0
    assert recollect("verify", "--deep", "x.jsonl").code == 2


def test_doctor_says_what_it_does_before_it_does_it(home: Path, recollect: Recollect) -> None:
    (home / "memory.db").chmod(0o644)
    planned = recollect("doctor", "--fix", "--dry-run")
    assert "to do: make the home private" in planned.out
    assert (home / "memory.db").stat().st_mode & 0o077
    done = recollect("doctor", "--fix")
    assert done.code == 0
    assert done.out.index("to do: make the home private") < done.out.index("done: make the home private")
    assert not (home / "memory.db").stat().st_mode & 0o077
    report = msgspec.json.decode(recollect("doctor", "--fix", "--json").out, type=result_types()["doctor"])
    assert "permissions" not in {step.id for step in report.fixes}
    assert recollect("doctor", "--dry-run").code == 2
