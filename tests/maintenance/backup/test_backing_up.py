"""A backup shows one moment, is whole or none, and is read again before it counts."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from recollect.archive.keys import load_keys
from recollect.archive.sealer import Sealer
from recollect.errors import BackupUnusable, UsageError
from recollect.maintenance.backup import contents as moments
from recollect.maintenance.backup.contents import BackupCheck, check_folder, places_by_pack
from recollect.maintenance.backup.manifest import MANIFEST, PARTIAL, BackupManifest, last_backup, read_manifest
from recollect.memory import ForgetSelection, Memory
from recollect.store.lock import IngestLock
from recollect.store.snapshots import Snapshot, open_copy
from tests import program
from tests.maintenance.backup.conftest import World


def checked(folder: Path, home: Path) -> int:
    """Check a backup as it lies there; return how many chunks opened."""
    manifest = read_manifest(folder)
    assert manifest is not None
    with open_copy(folder / stored(manifest, "memory.db")) as copy:
        check = BackupCheck(manifest, places_by_pack(copy.chunks()), Sealer(load_keys(home / "keys")))
    check_folder(folder, manifest, check)
    return check.chunks


def stored(manifest: BackupManifest, place: str) -> str:
    found = manifest.file(place)
    assert found is not None
    return found.stored


def test_a_backup_is_read_again_and_private(machine: World, tmp_path: Path) -> None:
    with machine.memory() as memory:
        report = memory.maintenance.backup(tmp_path / "copy")
    assert (report.sessions, report.key, report.in_step, report.form) == (2, "included", True, "folder")
    assert report.chunks == checked(tmp_path / "copy", machine.home) > 0
    paths = [tmp_path / "copy", *(tmp_path / "copy").rglob("*")]
    assert {stat.S_IMODE(p.stat().st_mode) for p in paths if p.is_file()} == {0o600}
    assert {stat.S_IMODE(p.stat().st_mode) for p in paths if p.is_dir()} == {0o700}
    assert not (tmp_path / "copy" / PARTIAL).exists()
    assert not any("index" in p.parts for p in (tmp_path / "copy").rglob("*"))
    last = last_backup(machine.home)
    assert last is not None
    assert (last.target, last.made_at) == (str(tmp_path / "copy"), report.made_at)


def test_the_key_can_be_left_out(machine: World, tmp_path: Path) -> None:
    with machine.memory() as memory:
        report = memory.maintenance.backup(tmp_path / "copy", with_key=False)
    assert report.key == "left_out"
    assert [p.name for p in (tmp_path / "copy").rglob("*.key")] == ["data.key"]


def test_a_second_backup_copies_what_is_new(machine: World, tmp_path: Path) -> None:
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    pack = tmp_path / "copy" / "packs" / "000001.pack"
    before = pack.stat()
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    assert (pack.stat().st_ino, pack.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    machine.grow("more " * 100)
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    assert pack.stat().st_ino == before.st_ino
    assert pack.stat().st_size == (machine.home / "archive" / "packs" / "000001.pack").stat().st_size > before.st_size
    assert checked(tmp_path / "copy", machine.home) > 0
    assert [p.name for p in (tmp_path / "copy").glob("g*")] == ["g3"]


def test_a_pack_that_became_another_one_is_copied_anew(machine: World, tmp_path: Path) -> None:
    """As after the archive was made smaller, or another memory is backed up to the same place on purpose."""
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    other = tmp_path / "other"
    with machine.memory(other) as memory:
        memory.sync()
        memory.maintenance.backup(tmp_path / "copy", force=True)
    assert checked(tmp_path / "copy", other) > 0
    assert len(list((tmp_path / "copy" / "packs").iterdir())) == 1


@pytest.mark.parametrize("name", ["copy", "copy.tar.zst"])
def test_the_backup_of_another_memory_is_replaced_only_on_purpose(machine: World, tmp_path: Path, name: str) -> None:
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / name)
        memory.maintenance.rebuild()
        kept = memory.maintenance.backup(tmp_path / name)
    with machine.memory(tmp_path / "other") as memory:
        memory.sync()
        with pytest.raises(UsageError, match=r"the backup of another memory \(2 sessions\)") as refused:
            memory.maintenance.backup(tmp_path / name)
        assert "--force" in refused.value.hint
        with machine.memory(tmp_path / "restored") as restored:
            assert restored.maintenance.restore(tmp_path / name).made_at == kept.made_at
        assert memory.maintenance.backup(tmp_path / name, force=True).sessions == 2


def test_a_file_that_is_no_backup_is_not_replaced(machine: World, tmp_path: Path) -> None:
    (tmp_path / "mine.tar.zst").write_bytes(b"letters")
    with machine.memory() as memory, pytest.raises(BackupUnusable, match="not a whole backup"):
        memory.maintenance.backup(tmp_path / "mine.tar.zst")
    assert (tmp_path / "mine.tar.zst").read_bytes() == b"letters"


def test_a_backup_goes_on_while_something_is_taken_in(machine: World, tmp_path: Path) -> None:
    """Another process writes on and on; every backup meanwhile is whole."""
    script = (
        "import os, sys\n"
        "from recollect.config import Config\n"
        "from recollect.memory import Memory\n"
        "from recollect.testing.builders import ClaudeTranscript\n"
        "from pathlib import Path\n"
        "env = dict(os.environ)\n"
        "memory = Memory.open(sys.argv[1], config=Config(), env=env)\n"
        "number = 0\n"
        "while not os.path.exists(sys.argv[2]):\n"
        "    number += 1\n"
        "    t = ClaudeTranscript(Path(env['CLAUDE_CONFIG_DIR']), f'more{number}')\n"
        "    t.user(f'question {number} ' * 200); t.assistant('answer ' * 2000)\n"
        "    memory.sync()\n"
        "    print(number, flush=True)\n"
    )
    stop = tmp_path / "stop"
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(machine.home), str(stop)],
        env={**os.environ, **machine.env}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    try:
        sessions = []
        for number in range(4):
            assert child.stdout.readline()
            with machine.memory() as memory:
                sessions.append(memory.maintenance.backup(tmp_path / f"copy{number % 2}").sessions)
            assert checked(tmp_path / f"copy{number % 2}", machine.home) > 0
    finally:
        stop.touch()
        child.communicate()
    assert sessions == sorted(sessions)
    assert sessions[-1] > sessions[0]


def test_a_long_sync_that_keeps_the_lock_does_not_keep_a_backup_waiting(
    machine: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.maintenance.backup.contents.LOCK_WAIT_S", 0.0)
    lock = IngestLock(machine.home)
    try:
        with machine.memory() as memory:
            report = memory.maintenance.backup(tmp_path / "copy")
    finally:
        lock.release()
    assert not report.in_step
    assert checked(tmp_path / "copy", machine.home) == report.chunks


@pytest.mark.parametrize("name", ["copy", "copy.tar.zst"])
def test_an_archive_that_is_written_anew_meanwhile_is_looked_at_again(
    machine: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Packs that the snapshot names are gone when their turn comes: the next moment is taken."""
    real = moments.take_snapshot
    looks = []

    def take_then_forget(home: Path) -> Snapshot:
        snapshot = real(home)
        looks.append(snapshot)
        if len(looks) == 1:
            lock.release()
            files = list(moments._originals(home))
            with machine.memory() as memory:
                memory.maintenance.forgetting.run(ForgetSelection(session=machine.one.uid))
            monkeypatch.setattr(moments, "_originals", lambda _home: files if len(looks) == 1 else originals(_home))
        return snapshot

    originals = moments._originals
    monkeypatch.setattr(moments, "LOCK_WAIT_S", 0.0)
    monkeypatch.setattr(moments, "take_snapshot", take_then_forget)
    lock = IngestLock(machine.home)
    with machine.memory() as memory:
        report = memory.maintenance.backup(tmp_path / name)
    assert (len(looks), report.sessions, report.in_step) == (2, 1, True)


@pytest.mark.parametrize("name", ["memory.db", "archive/journal.log", "archive/packs/000001.pack"])
def test_one_changed_bit_shows(machine: World, tmp_path: Path, name: str) -> None:
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    manifest = read_manifest(tmp_path / "copy")
    assert manifest is not None
    path = tmp_path / "copy" / stored(manifest, name)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(BackupUnusable):
        checked(tmp_path / "copy", machine.home)


def test_what_goes_wrong_while_writing_is_found_before_it_counts(
    machine: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that keeps other bytes than were written: the manifest never comes, the backup before stays."""
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    before = (tmp_path / "copy" / MANIFEST).read_bytes()
    machine.grow("later")
    from recollect.maintenance.backup import create as backing_up

    real = backing_up.check_folder

    def spoil_then_check(folder: Path, manifest: BackupManifest, check: BackupCheck) -> None:
        path = folder / stored(manifest, "archive/journal.log")
        path.write_bytes(path.read_bytes()[:-1] + b"?")
        real(folder, manifest, check)

    monkeypatch.setattr(backing_up, "check_folder", spoil_then_check)
    with machine.memory() as memory, pytest.raises(BackupUnusable):
        memory.maintenance.backup(tmp_path / "copy")
    assert (tmp_path / "copy" / MANIFEST).read_bytes() == before
    assert (tmp_path / "copy" / PARTIAL).exists()
    assert checked(tmp_path / "copy", machine.home) > 0  # packs that grew are still what the manifest says
    monkeypatch.undo()
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    assert checked(tmp_path / "copy", machine.home) > 0


def test_killed_at_any_step_a_backup_is_none_or_the_one_before(machine: World, tmp_path: Path) -> None:
    """A child is ended at the n-th file it makes durable, for every n, first in a new folder, then in a used one."""
    script = (
        "import os, sys\n"
        "from recollect.config import Config\n"
        "from recollect.memory import Memory\n"
        "left = [int(sys.argv[3])]\n"
        "real = os.fsync\n"
        "def fsync(fd):\n"
        "    left[0] -= 1\n"
        "    if left[0] < 0: os._exit(9)\n"
        "    real(fd)\n"
        "os.fsync = fsync\n"
        "from pathlib import Path\n"
        "Memory.open(sys.argv[1], config=Config(), env=dict(os.environ)).maintenance.backup(Path(sys.argv[2]))\n"
    )

    def run(target: Path, steps: int) -> int:
        env = {**os.environ, **machine.env}
        return program.run_script(script, machine.home, target, steps, env=env).returncode

    for steps in (0, 4, 9):
        assert run(tmp_path / "new", steps) == 9
        assert read_manifest(tmp_path / "new") is None
    assert run(tmp_path / "new", 1000) == 0
    before = read_manifest(tmp_path / "new")
    machine.grow("then more")
    for steps in (2, 8):
        assert run(tmp_path / "new", steps) == 9
        assert read_manifest(tmp_path / "new") == before
        assert checked(tmp_path / "new", machine.home) > 0
    assert run(tmp_path / "new", 1000) == 0
    assert read_manifest(tmp_path / "new") != before


def test_a_folder_with_something_else_in_it_is_left_alone(machine: World, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with machine.memory() as memory:
        with pytest.raises(UsageError, match="something other than a backup"):
            memory.maintenance.backup(tmp_path / "mine")
        with pytest.raises(UsageError, match="inside"):
            memory.maintenance.backup(machine.home / "copies")
        with pytest.raises(UsageError, match="not a folder"):
            memory.maintenance.backup(tmp_path / "mine" / "letter.txt")
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_nothing_stored_is_nothing_to_back_up(machine: World, tmp_path: Path) -> None:
    with machine.memory(tmp_path / "empty") as memory, pytest.raises(UsageError, match="nothing is stored"):
        memory.maintenance.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_two_backups_to_one_folder_do_not_meet(machine: World, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    outcomes: list[str] = []

    def one(memory: Memory) -> None:
        try:
            memory.maintenance.backup(tmp_path / "copy")
            outcomes.append("made")
        except Exception as error:  # noqa: BLE001  whatever it is, the main thread judges it
            outcomes.append(getattr(error, "code", repr(error)))

    with machine.memory() as memory:
        threads = [threading.Thread(target=one, args=(memory,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert "made" in outcomes
    assert set(outcomes) <= {"made", "store_locked"}
    assert checked(tmp_path / "copy", machine.home) > 0


def test_one_file_is_whole_or_not_there(machine: World, tmp_path: Path) -> None:
    with machine.memory() as memory:
        report = memory.maintenance.backup(tmp_path / "copy.tar.zst")
    assert report.form == "tar.zst"
    assert report.chunks > 0
    assert sorted(p.name for p in tmp_path.iterdir() if "copy" in p.name) == ["copy.tar.zst"]
    assert stat.S_IMODE((tmp_path / "copy.tar.zst").stat().st_mode) == 0o600


def test_the_manifest_says_no_more_than_it_must(machine: World, tmp_path: Path) -> None:
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    text = (tmp_path / "copy" / MANIFEST).read_text()
    assert "SQLite" not in text
    manifest = msgspec.json.decode(text)
    assert {one["place"].split("/")[0] for one in manifest["files"]} <= {"memory.db", "archive", "keys", "spool"}
