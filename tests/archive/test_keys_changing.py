"""Another wrapping key takes the place of the present one: the data key stays, and no crash locks anybody out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.archive.keys import change_wrapping, finish_change, key_status, load_keys, load_or_create_keys
from recollect.errors import DiskFull, KeyUnavailable
from tests import program
from tests.archive.keyrings import Keyrings

posix_only = pytest.mark.skipif(os.name == "nt", reason="kills a forked process")
FILES = ["data.key", "wrapping.key"]


@pytest.fixture
def keyrings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Keyrings:
    """Return the choice of keyrings; at first one that works."""
    return Keyrings(tmp_path_factory.mktemp("keyrings"), monkeypatch)


def names(folder: Path) -> list[str]:
    """Return the files of a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_rotation_changes_the_wrapping_key_and_no_other(tmp_path: Path) -> None:
    made = load_or_create_keys(tmp_path)
    wrapping, data = ((tmp_path / name).read_bytes() for name in ("wrapping.key", "data.key"))
    change = change_wrapping(tmp_path, "file")
    assert load_keys(tmp_path) == made
    assert names(tmp_path) == FILES
    assert change.key_id != change.key_id_before
    assert json.loads((tmp_path / "wrapping.key").read_bytes())["key"] != json.loads(wrapping)["key"]
    (tmp_path / "wrapping.key").write_bytes(wrapping)
    with pytest.raises(KeyUnavailable, match="is not the key that seals"):
        load_keys(tmp_path)
    (tmp_path / "data.key").write_bytes(data)
    assert load_keys(tmp_path) == made  # a backup of both files from before still opens


def test_the_wrapping_key_moves_into_the_keyring_and_back(tmp_path: Path, keyrings: Keyrings) -> None:
    made = load_or_create_keys(tmp_path)
    there = change_wrapping(tmp_path, "keyring")
    assert (there.kept_before, there.kept) == ("file", "keyring")
    assert names(tmp_path) == ["data.key"]
    assert there.key_id in keyrings.text
    assert load_keys(tmp_path) == made
    again = change_wrapping(tmp_path, "keyring")
    assert there.key_id not in keyrings.text
    assert again.key_id in keyrings.text
    assert load_keys(tmp_path) == made
    change_wrapping(tmp_path, "file")
    assert keyrings.text == "{}"
    assert names(tmp_path) == FILES
    assert load_keys(tmp_path) == made


def test_another_process_finds_the_key_in_the_keyring(tmp_path: Path, keyrings: Keyrings) -> None:
    made = load_or_create_keys(tmp_path)
    change_wrapping(tmp_path, "keyring")
    assert _loaded_elsewhere(tmp_path) == made.name_key.hex()


@pytest.mark.parametrize(
    ("keyring", "told"),
    [
        ("Locked", "is locked"),
        ("Asking", "the system's keyring"),
        ("Broken", "the service went away"),
        ("Readable", "does not store keys safely"),
        ("keyring.backends.fail.Keyring", "does not store keys safely"),
        ("keyring.backends.null.Keyring", "does not store keys safely"),
        ("no.such.Keyring", "No module named"),
    ],
)
def test_a_keyring_that_gives_nothing_is_told_in_one_line_and_asks_nobody(
    tmp_path: Path, keyrings: Keyrings, keyring: str, told: str
) -> None:
    load_or_create_keys(tmp_path)
    change_wrapping(tmp_path, "keyring")
    keyrings.choose(keyring)
    said = _loaded_elsewhere(tmp_path)
    assert said.startswith("KeyUnavailable")
    assert told in said
    assert "\n" not in said


@pytest.mark.parametrize("keyring", ["Locked", "Broken", "Forgetful", "Readable", "keyring.backends.null.Keyring"])
def test_a_keyring_that_does_not_take_the_key_changes_nothing(tmp_path: Path, keyrings: Keyrings, keyring: str) -> None:
    made = load_or_create_keys(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in FILES}
    keyrings.choose(keyring)
    with pytest.raises(KeyUnavailable):
        change_wrapping(tmp_path, "keyring")
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == before
    keyrings.choose("Kept")
    finish_change(tmp_path)
    assert names(tmp_path) == FILES
    assert load_keys(tmp_path) == made


@pytest.mark.parametrize("keyring", ["Readable", "keyring.backends.fail.Keyring"])
def test_where_no_keyring_can_be_used_no_change_is_begun(tmp_path: Path, keyrings: Keyrings, keyring: str) -> None:
    keys = tmp_path / "keys"
    load_or_create_keys(keys)
    before = {path.name for path in keys.iterdir()}
    keyrings.choose(keyring)
    with pytest.raises(KeyUnavailable):
        change_wrapping(keys, "keyring")
    assert not key_status(keys).is_unfinished
    assert {path.name for path in keys.iterdir()} == before


def test_an_entry_that_somebody_deleted_from_the_keyring_is_named(tmp_path: Path, keyrings: Keyrings) -> None:
    load_or_create_keys(tmp_path)
    change = change_wrapping(tmp_path, "keyring")
    keyrings.path.write_text("{}")
    assert f"has no entry 'wrapping key {change.key_id}'" in _loaded_elsewhere(tmp_path)


def test_an_old_key_that_the_keyring_keeps_is_taken_away_next_time(tmp_path: Path, keyrings: Keyrings) -> None:
    made = load_or_create_keys(tmp_path)
    old = change_wrapping(tmp_path, "keyring")
    load_keys(tmp_path)  # read once: kept by this process
    keyrings.choose("Locked")
    change = change_wrapping(tmp_path, "file")
    assert len(change.notes) == 1
    assert key_status(tmp_path).is_unfinished
    assert old.key_id in keyrings.text
    keyrings.choose("Kept")
    assert change_wrapping(tmp_path, "file").notes == ()
    assert keyrings.text == "{}"
    assert not key_status(tmp_path).is_unfinished
    assert load_keys(tmp_path) == made


def test_the_status_is_of_now(tmp_path: Path, keyrings: Keyrings) -> None:
    load_or_create_keys(tmp_path)
    status = key_status(tmp_path)
    assert (status.kept, status.opens, status.keyring) == ("file", True, "keyring_of_tests.Kept")
    keyrings.choose("keyring.backends.fail.Keyring")
    (tmp_path / "wrapping.key").unlink()
    status = key_status(tmp_path)
    assert (status.opens, status.keyring) == (False, "")
    assert "missing" in status.problem


def test_a_change_without_room_leaves_the_present_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = load_or_create_keys(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in FILES}
    written = 0
    write = os.write

    def full(fd: int, data: bytes) -> int:
        nonlocal written
        written += 1
        if written == 3:  # the sealed data key
            raise OSError(28, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(DiskFull, match="no space"):
        change_wrapping(tmp_path, "file")
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before
    assert load_keys(tmp_path) == made


_KILLED = """
import os, shutil, sys
from pathlib import Path
from recollect.archive.keys import load_keys
from recollect.archive.keys import change_wrapping, finish_change
from recollect.archive.keys import read_envelope

start, kept, keyring = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
made, before = load_keys(start), keyring.read_text()

def counted(function):
    def call(*args, **kwargs):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return function(*args, **kwargs)
    return call

def change_and_die(folder):
    for name in ("fsync", "replace", "unlink"):
        setattr(os, name, counted(getattr(os, name)))
    change_wrapping(folder, kept)
    os._exit(0)

for steps in range(100):
    left, folder = steps, start.with_name(f"killed-{steps}")
    shutil.copytree(start, folder)
    keyring.write_text(before)
    pid = os.fork()
    if not pid:
        change_and_die(folder)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, 9), code
    assert load_keys(folder) == made
    finish_change(folder)
    assert load_keys(folder) == made
    there = read_envelope(folder)
    files = ["data.key", "wrapping.key"] if there.kept == "file" else ["data.key"]
    assert sorted(os.listdir(folder)) == files, (steps, os.listdir(folder))
    entries = keyring.read_text()
    assert entries == "{}" if there.kept == "file" else there.wrapped_by in entries, (steps, entries)
    if not code:
        assert there.kept == kept
        print(steps)
        break
"""


@posix_only
@pytest.mark.parametrize(("first", "then"), [("file", "file"), ("file", "keyring"), ("keyring", "file")])
def test_killed_anywhere_a_change_leaves_a_home_that_opens(
    tmp_path: Path, keyrings: Keyrings, first: str, then: str
) -> None:
    start = tmp_path / "start"
    load_or_create_keys(start)
    keyrings.path.write_text("{}")
    if first == "keyring":
        change_wrapping(start, "keyring")
    command = [sys.executable, "-c", _KILLED, str(start), then, str(keyrings.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 8


def _loaded_elsewhere(folder: Path) -> str:
    """Return what a process of its own gets, without a terminal and with nothing to read."""
    script = (
        "import sys; from pathlib import Path; from recollect.archive.keys import load_keys\n"
        "from recollect.errors import KeyUnavailable\n"
        "try: print(load_keys(Path(sys.argv[1])).name_key.hex())\n"
        "except KeyUnavailable as error: print('KeyUnavailable', error)"
    )
    done = program.run_script(script, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
