"""A memory whose wrapping key the system's keyring keeps: its backups hold no key, and open where the keyring is."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.archive import system_keyring
from recollect.errors import KeyUnavailable
from recollect.memory import ForgetSelection
from tests.archive.keyrings import Keyrings
from tests.maintenance.backup.conftest import World, found, told


@pytest.fixture
def keyrings(machine: World, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Keyrings:
    """Return the choice of keyrings, after the key was moved into one."""
    keyrings = Keyrings(tmp_path_factory.mktemp("keyrings"), monkeypatch)
    with machine.memory() as memory:
        assert memory.maintenance.keys.move("keyring").kept == "keyring"
    assert not (machine.home / "keys" / "wrapping.key").exists()
    return keyrings


@pytest.mark.parametrize("name", ["copy", "copy.tar.zst"])
@pytest.mark.usefixtures("keyrings")
def test_a_backup_holds_no_key_and_is_restored_where_the_keyring_is(machine: World, tmp_path: Path, name: str) -> None:
    with machine.memory() as memory:
        expected = told(memory)
        report = memory.maintenance.backup(tmp_path / name)
    assert (report.key, report.chunks > 0) == ("elsewhere", True)
    if name == "copy":
        assert not list((tmp_path / name).rglob("wrapping.key"))
    with machine.memory(tmp_path / "again") as memory:
        memory.maintenance.restore(tmp_path / name)
        assert told(memory) == expected
        assert memory.maintenance.keys.status().kept == "keyring"
        assert memory.maintenance.verify().ok
        assert memory.maintenance.forgetting.run(ForgetSelection(session=machine.two.uid)).state == "done"


@pytest.mark.parametrize("keyring", ["Locked", "Broken", "keyring.backends.null.Keyring"])
def test_without_the_keyring_nothing_is_touched(
    machine: World, keyrings: Keyrings, tmp_path: Path, keyring: str
) -> None:
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
        expected = list(told(memory))
    keyrings.choose(keyring)
    system_keyring._read.clear()  # as in another process
    with machine.memory(tmp_path / "again") as memory:
        with pytest.raises(KeyUnavailable, match="no key that opens it"):
            memory.maintenance.restore(tmp_path / "copy")
        assert not (tmp_path / "again" / "memory.db").exists()
    with machine.memory() as memory, pytest.raises(KeyUnavailable, match="no key that opens it"):
        memory.maintenance.restore(tmp_path / "copy", force=True)
    keyrings.choose("Kept")
    with machine.memory() as memory:
        assert list(told(memory)) == expected
        assert memory.maintenance.verify().ok


@pytest.mark.parametrize("then", ["rotate", "move"])
@pytest.mark.usefixtures("keyrings")
def test_a_backup_of_before_another_key_is_opened_with_the_keys_of_the_memory(
    machine: World, tmp_path: Path, then: str
) -> None:
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
        if then == "rotate":
            memory.maintenance.keys.rotate()
        else:
            memory.maintenance.keys.move("file")
        memory.maintenance.restore(tmp_path / "copy", force=True)
        assert memory.maintenance.keys.status().opens
        assert found(memory, "zanzibar")
        assert memory.maintenance.verify().ok


@pytest.mark.usefixtures("keyrings")
def test_another_key_for_one_memory_locks_nobody_out_of_the_other(machine: World, tmp_path: Path) -> None:
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    with machine.memory(tmp_path / "again") as memory:
        memory.maintenance.restore(tmp_path / "copy")
    with machine.memory() as memory:
        memory.maintenance.keys.rotate()
        assert memory.maintenance.verify().ok
    with machine.memory(tmp_path / "again") as memory:
        assert memory.maintenance.keys.status().opens
        assert memory.maintenance.verify().ok


@pytest.mark.usefixtures("keyrings")
def test_a_memory_that_is_put_aside_still_opens_after_another_key(machine: World, tmp_path: Path) -> None:
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
        aside = Path(memory.maintenance.restore(tmp_path / "copy", force=True, keep=True).aside)
        memory.maintenance.keys.rotate()
        assert memory.maintenance.verify().ok
    with machine.memory(aside) as memory:
        assert memory.maintenance.keys.status().opens
        assert memory.maintenance.verify().ok


def test_a_keyring_that_takes_nothing_is_noted(machine: World, keyrings: Keyrings, tmp_path: Path) -> None:
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    keyrings.choose("Forgetful")
    with machine.memory(tmp_path / "again") as memory:
        report = memory.maintenance.restore(tmp_path / "copy")
        assert any("recollect keys move file" in note for note in report.notes)
        assert memory.maintenance.keys.status().opens
