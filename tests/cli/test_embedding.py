"""`embed`: makes vectors, says so to people and programs, and deletes them on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.index.vectors.embed import LOCK_NAME
from recollect.store.lock import IngestLock

Recollect = Callable[..., Any]


@pytest.fixture
def synced(history: Path, recollect: Recollect) -> Path:
    assert recollect("sync").code == 0
    return history


def vectors(home: Path) -> Path:
    return home / "recollect" / "index" / "vectors"


def test_vectors_are_made_and_told(synced: Path, recollect: Recollect, isolated_home: Path) -> None:
    made = recollect("embed")
    assert made.code == 0
    assert "making vectors" in made.err
    assert "model builtin" in made.out
    covered = next(line for line in made.out.splitlines() if "covered" in line).split()
    assert covered[0] == covered[2] != "0"
    again = recollect("embed", "--json").data
    assert (again["state"], again["events"], again["covered"]) == ("done", 0, int(covered[0]))
    assert f"vectors of {covered[0]} of {covered[0]} events" in recollect("stats").out
    assert (vectors(isolated_home) / LOCK_NAME).exists()


def test_a_search_says_that_there_are_no_vectors_until_there_are(synced: Path, recollect: Recollect) -> None:
    question = ("search", "what is the matter with the invoices", "--json", "--no-sync")
    before = recollect(*question).data
    assert any("vector" in note for note in before["notes"])
    recollect("embed")
    after = recollect(*question).data
    assert not any("vector" in note for note in after["notes"])


def test_vectors_are_deleted_on_request(synced: Path, recollect: Recollect, isolated_home: Path) -> None:
    recollect("embed")
    removed = recollect("embed", "--remove", "--json")
    assert (removed.code, removed.data["state"]) == (0, "removed")
    assert not list(vectors(isolated_home).glob("*/manifest.json"))
    assert "vectors deleted" in recollect("embed", "--remove").out


def test_all_are_made_anew(synced: Path, recollect: Recollect) -> None:
    first = recollect("embed", "--json").data
    anew = recollect("embed", "--anew", "--json").data
    assert anew["was_begun_anew"] is True
    assert anew["chunks"] == first["chunks"] > 0


def test_time_that_is_up_is_told(synced: Path, recollect: Recollect) -> None:
    done = recollect("embed", "--max-seconds", "0")
    assert (done.code, "continues from here" in done.out) == (130, True)


def test_a_second_process_does_nothing(synced: Path, recollect: Recollect, isolated_home: Path) -> None:
    vectors(isolated_home).mkdir(parents=True)
    lock = IngestLock(vectors(isolated_home), name=LOCK_NAME, work="making vectors for")
    try:
        done = recollect("embed")
    finally:
        lock.release()
    assert done.code == 3
    assert "making vectors for this memory" in done.out


def test_switched_off_is_said(synced: Path, recollect: Recollect, isolated_home: Path) -> None:
    (isolated_home / "recollect" / "config.toml").write_text("[embedding]\nmodel = 'off'\n", "utf-8")
    done = recollect("embed")
    assert (done.code, "switched off" in done.out) == (0, True)
    assert "vectors" not in recollect("stats").out


def test_a_server_without_an_address_is_a_wrong_configuration(
    synced: Path, recollect: Recollect, isolated_home: Path
) -> None:
    config = "[embedding]\napi = 'openai'\nmodel = 'm'\n"
    (isolated_home / "recollect" / "config.toml").write_text(config, "utf-8")
    done = recollect("embed")
    assert done.code == 2
    assert "[embedding] url" in done.err
    assert recollect("search", "what is the matter with the invoices", "--no-sync").code in (0, 1)
