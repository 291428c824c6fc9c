"""A restored memory answers the same, and nothing is touched before the backup was found whole."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import BackupUnusable, KeyUnavailable, SchemaTooNew, StoreLocked, UsageError
from recollect.insights.notes.diary import NewEntry
from recollect.insights.notes.facts import NewFact
from recollect.maintenance.backup.manifest import MANIFEST, read_manifest
from recollect.memory import ForgetSelection
from recollect.store.audit import read_audit
from recollect.store.lock import IngestLock
from tests import program
from tests.maintenance.backup.conftest import World, found, told


@pytest.fixture(params=["copy", "copy.tar.zst"])
def copied(machine: World, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a backup of the memory, in both forms."""
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / request.param)
    return tmp_path / str(request.param)


@pytest.fixture
def folder(machine: World, tmp_path: Path) -> Path:
    """Return a backup of the memory that is a folder."""
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    return tmp_path / "copy"


def test_a_restored_memory_answers_the_same(machine: World, copied: Path, tmp_path: Path) -> None:
    with machine.memory() as memory:
        expected = told(memory), found(memory, "zanzibar"), memory.stats().kind_counts
        digests = [memory.digest(uid) for uid in expected[0]]
    with machine.memory(tmp_path / "again") as memory:
        report = memory.maintenance.restore(copied)
        assert (report.sessions, report.lost_sessions, report.notes) == (2, 0, ())
        assert (told(memory), found(memory, "zanzibar"), memory.stats().kind_counts) == expected
        assert [memory.digest(uid) for uid in expected[0]] == digests
        assert memory.maintenance.verify().ok
        assert read_audit(memory.home, actions=("restore",))[0].value["made_at"] == report.made_at
    assert not (tmp_path / "again" / "restore").exists()


def test_a_restored_memory_goes_on(machine: World, folder: Path, tmp_path: Path) -> None:
    with machine.memory(tmp_path / "again") as memory:
        memory.maintenance.restore(folder)
        machine.one.user("and then a mammoth came")
        report = memory.sync()
        assert (report.state, report.events) == ("done", 1)
        assert len(found(memory, "mammoth")) == 1
        assert memory.maintenance.verify().ok


def test_a_memory_that_is_there_is_replaced_only_when_told(machine: World, folder: Path) -> None:
    with machine.memory() as memory, pytest.raises(UsageError, match="all its sessions are in the backup of"):
        memory.maintenance.restore(folder)
    machine.grow("a question of after the backup")
    with machine.memory() as memory:
        before = told(memory)
        with pytest.raises(UsageError, match="1 session of it is not, or only in part, in the backup of"):
            memory.maintenance.restore(folder)
        assert told(memory) == before
        assert not (machine.home / "restore").exists()
        report = memory.maintenance.restore(folder, force=True, keep=True)
        assert (report.lost_sessions, report.lost_events, report.lost) == (1, 3, (machine.one.uid,))
        assert "under other numbers" in report.notes[-1]
        assert found(memory, "question") == []
        memory.sync()  # the agent's file is still there
        assert len(found(memory, "question")) > 0
    with machine.memory(Path(report.aside)) as kept:
        assert told(kept) == before
        assert kept.maintenance.verify().ok


def test_an_empty_memory_is_replaced_without_a_word(machine: World, folder: Path, tmp_path: Path) -> None:
    with machine.memory(tmp_path / "other") as memory:
        assert memory.sessions(sync=False).total == 0
        assert memory.maintenance.restore(folder).sessions == 2
    with machine.memory(tmp_path / "noted") as memory:
        memory.notes.diary.write(NewEntry(agent="claude", text="A day on the queue."))
        with pytest.raises(UsageError, match="already holds a memory"):
            memory.maintenance.restore(folder)


def test_what_is_not_kept_is_deleted(machine: World, folder: Path) -> None:
    machine.grow("a question of after the backup")
    with machine.memory() as memory:
        report = memory.maintenance.restore(folder, force=True)
    assert report.aside == ""
    assert not [p for p in machine.home.iterdir() if "restore" in p.name]


def test_a_damaged_backup_changes_nothing(machine: World, folder: Path) -> None:
    manifest = read_manifest(folder)
    assert manifest is not None
    machine.grow("later")
    with machine.memory() as memory:
        before = told(memory)
        for one in manifest.files:
            path = folder / one.stored
            data = path.read_bytes()
            path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
            with pytest.raises(BackupUnusable):
                memory.maintenance.restore(folder, force=True)
            path.write_bytes(data)
        path.unlink()
        with pytest.raises(BackupUnusable):
            memory.maintenance.restore(folder, force=True)
        assert told(memory) == before
        assert not (machine.home / "restore").exists()


def test_a_backup_that_may_not_be_read_is_named(
    machine: World, copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    def refuse(path: Path, *args: Any, **options: Any) -> Any:
        if path.is_relative_to(copied) and path.name != MANIFEST:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **options)

    with machine.memory(tmp_path / "again") as memory:
        monkeypatch.setattr(Path, "open", refuse)
        with pytest.raises(BackupUnusable, match="cannot be read: Permission denied"):
            memory.maintenance.restore(copied)


def test_what_is_no_whole_backup_is_refused(machine: World, copied: Path, tmp_path: Path) -> None:
    if copied.is_dir():
        (copied / MANIFEST).unlink()
    else:
        copied.write_bytes(copied.read_bytes()[:-2000])
    with machine.memory(tmp_path / "again") as memory:
        with pytest.raises(BackupUnusable):
            memory.maintenance.restore(copied)
        with pytest.raises(BackupUnusable, match="does not exist"):
            memory.maintenance.restore(tmp_path / "nowhere")
        with pytest.raises(BackupUnusable):
            memory.maintenance.restore(machine.one.path)


def test_a_manifest_cannot_lead_out_of_the_home(machine: World, folder: Path, tmp_path: Path) -> None:
    text = (folder / MANIFEST).read_text()
    with machine.memory(tmp_path / "again") as memory:
        for bad in ("keys/../../../evil", "/etc/evil", "spool/../../evil", "bin/evil"):
            (folder / MANIFEST).write_text(text.replace('"keys/data.key"', f'"{bad}"'))
            with pytest.raises(BackupUnusable, match="no backup has"):
                memory.maintenance.restore(folder)


def test_a_backup_of_a_newer_version_is_refused(machine: World, folder: Path, tmp_path: Path) -> None:
    text = (folder / MANIFEST).read_text()
    manifest = read_manifest(folder)
    assert manifest is not None
    with machine.memory(tmp_path / "again") as memory:
        (folder / MANIFEST).write_text(text.replace('"format": 1', '"format": 2'))
        with pytest.raises(BackupUnusable, match="newer"):
            memory.maintenance.restore(folder)
        (folder / MANIFEST).write_text(text.replace(f'"schema": {manifest.schema}', '"schema": 9999'))
        with pytest.raises(SchemaTooNew):
            memory.maintenance.restore(folder)


def test_without_its_key_a_backup_opens_only_where_the_key_is(machine: World, tmp_path: Path) -> None:
    with machine.memory() as memory:
        expected = told(memory)
        memory.maintenance.backup(tmp_path / "copy", with_key=False)
    with machine.memory(tmp_path / "again") as memory:
        with pytest.raises(KeyUnavailable, match="no key that opens it"):
            memory.maintenance.restore(tmp_path / "copy")
        (tmp_path / "again" / "keys").mkdir(parents=True)
        for name in ("wrapping.key", "data.key"):
            shutil.copy(machine.home / "keys" / name, tmp_path / "again" / "keys" / name)
        memory.maintenance.restore(tmp_path / "copy")
        assert told(memory) == expected


def test_the_wrapping_key_alone_is_enough(machine: World, tmp_path: Path) -> None:
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy", with_key=False)
    (tmp_path / "again" / "keys").mkdir(parents=True)
    shutil.copy(machine.home / "keys" / "wrapping.key", tmp_path / "again" / "keys")
    with machine.memory(tmp_path / "again") as memory:
        assert memory.maintenance.restore(tmp_path / "copy").chunks > 0
        assert memory.maintenance.verify().ok


def test_a_memory_at_work_is_left_alone(machine: World, folder: Path) -> None:
    lock = IngestLock(machine.home)
    try:
        with machine.memory() as memory, pytest.raises(StoreLocked):
            memory.maintenance.restore(folder, force=True)
    finally:
        lock.release()
    (machine.home / "run").mkdir(exist_ok=True)
    daemon = IngestLock(machine.home / "run", name="daemon.lock", work="serving")
    try:
        with machine.memory() as memory, pytest.raises(StoreLocked) as refused:
            memory.maintenance.restore(folder, force=True)
        assert "up --stop" in refused.value.hint
    finally:
        daemon.release()


def test_what_was_taken_in_during_the_backup_is_there_after_it(
    machine: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal was ahead of the database when they were copied, and the agent's file is gone since."""
    monkeypatch.setattr("recollect.maintenance.backup.contents.LOCK_WAIT_S", 0.0)
    import recollect.maintenance.backup.contents as moments

    real = moments.take_snapshot

    def take_then_sync(home: Path) -> object:
        snapshot = real(home)
        lock.release()
        machine.grow("a mammoth in between")
        return snapshot

    lock = IngestLock(machine.home)
    monkeypatch.setattr(moments, "take_snapshot", take_then_sync)
    with machine.memory() as memory:
        report = memory.maintenance.backup(tmp_path / "copy")
    monkeypatch.undo()
    assert not report.in_step
    with machine.memory() as memory:
        expected = told(memory)
    machine.one.path.unlink()
    with machine.memory(tmp_path / "again") as memory:
        restored = memory.maintenance.restore(tmp_path / "copy")
        assert "derived again from it" in restored.notes[0]
        assert len(found(memory, "mammoth")) == 2
        assert told(memory) == expected
        assert memory.maintenance.verify().ok


def test_killed_at_any_step_the_memory_is_the_one_of_before_or_the_restored_one(machine: World, folder: Path) -> None:
    """A child is ended at the n-th rename or flush of the swap; whoever writes next finishes it or finds it undone."""
    machine.grow("a question of after the backup")
    machine.one.path.rename(machine.folder / "elsewhere")  # what comes back, comes from the backup alone
    kept = machine.folder / "kept"
    shutil.copytree(machine.home, kept)
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from recollect.config import Config\n"
        "from recollect.memory import Memory\n"
        "from recollect.ingest import restore_swap as swapping\n"
        "left = [int(sys.argv[3])]\n"
        "def dying(real):\n"
        "    def call(*arguments, **named):\n"
        "        left[0] -= 1\n"
        "        if left[0] < 0: os._exit(9)\n"
        "        return real(*arguments, **named)\n"
        "    return call\n"
        "memory = Memory.open(sys.argv[1], config=Config(), env=dict(os.environ))\n"
        "real = swapping.swap\n"
        "def swap(*arguments, **named):\n"
        "    if left[0] < 0: os._exit(9)\n"
        "    os.replace, os.fsync = dying(os.replace), dying(os.fsync)\n"
        "    os.unlink = dying(os.unlink)\n"
        "    real(*arguments, **named)\n"
        "import recollect.maintenance.backup.restore as copying\n"
        "copying.swap = swap\n"
        "memory.maintenance.restore(Path(sys.argv[2]), force=True)\n"
    )
    with machine.memory() as memory:
        later = told(memory)
    codes, outcomes = [], []
    for steps in (-1, 1, 3, 5, 6, 7, 8, 50):
        shutil.rmtree(machine.home)
        shutil.copytree(kept, machine.home)
        done = program.run_script(script, machine.home, folder, steps, env={**os.environ, **machine.env})
        codes.append(done.returncode)
        with machine.memory() as memory:
            memory.sync()
            assert memory.maintenance.verify().ok
            now = told(memory)
        assert not (machine.home / "restore" / "READY").exists()
        outcomes.append(now == later)
        if now != later:
            assert {uid: len(events) for uid, events in now.items()} == {
                uid: len(events) - 3 * (uid == machine.one.uid) for uid, events in later.items()
            }
    assert codes == [9] * 7 + [0]
    assert outcomes[0]
    assert not outcomes[-1]


def test_drops_of_hooks_that_waited_are_taken_in_after_it(machine: World, tmp_path: Path) -> None:
    waiting = machine.home / "spool" / "hooks" / "waiting.json"
    waiting.parent.mkdir(parents=True, exist_ok=True)
    waiting.write_text("{}")
    with machine.memory() as memory:
        memory.maintenance.backup(tmp_path / "copy")
    with machine.memory(tmp_path / "again") as memory:
        memory.maintenance.restore(tmp_path / "copy")
    assert (tmp_path / "again" / "spool" / "hooks" / "waiting.json").read_text() == "{}"


def test_what_was_forgotten_since_stays_forgotten(machine: World, folder: Path) -> None:
    with machine.memory() as memory:
        assert found(memory, "zanzibar")
        report = memory.maintenance.forgetting.run(ForgetSelection(session=machine.one.uid))
        assert (report.state, report.whole_sessions) == ("done", 1)
        restored = memory.maintenance.restore(folder, force=True)
        assert (restored.forgotten, restored.sessions, restored.lost_sessions) == (1, 1, 0)
        assert found(memory, "zanzibar") == []
        assert memory.sync().state == "done"
        memory.maintenance.rebuild("all")
        assert found(memory, "zanzibar") == []
        assert list(told(memory)) == [machine.two.uid]
        assert memory.maintenance.verify().ok
        assert [entry.action for entry in read_audit(memory.home)] == ["restore", "forget"]
    plain = {path: path.read_bytes() for path in machine.home.rglob("*") if path.is_file()}
    assert not [path for path, data in plain.items() if b"zanzibar" in data]


def test_what_was_forgotten_of_a_source_is_not_taken_for_an_older_parser(machine: World, folder: Path) -> None:
    with machine.memory() as memory:
        assert memory.maintenance.forgetting.run(ForgetSelection(pattern="flaky test")).partial_sessions == 1
        assert memory.maintenance.restore(folder, force=True).forgotten == 1
        assert next(check.state for check in memory.maintenance.doctor().checks if check.name == "parsers") == "ok"
        assert not [note for note in memory.sync().notes if "parser" in note]
        assert found(memory, "flaky") == []
        assert b"flaky" not in b"".join(memory.maintenance.export_bytes(machine.two.uid, format="raw"))
        assert memory.maintenance.verify_deep().ok


def test_forgetting_and_doctor_name_the_copies_that_may_still_hold_it(machine: World, folder: Path) -> None:
    with machine.memory() as memory:
        kept = memory.maintenance.restore(folder, force=True, keep=True).aside
        listed = [check.detail for check in memory.maintenance.doctor().checks if check.name == "kept memory"]
        assert [(kept in detail, "kB)" in detail) for detail in listed] == [(True, True)]
        forgetting, selection = memory.maintenance.forgetting, ForgetSelection(pattern="flaky test")
        for report in (forgetting.plan(selection), forgetting.run(selection), forgetting.run(selection)):
            first, second = report.notes[-2:]
            assert (first.startswith(kept), "delete this folder" in first) == (True, True), report.state
            assert f"the backup {folder} may still contain it" in second


def test_what_was_forgotten_is_known_also_where_the_database_is_lost(machine: World, folder: Path) -> None:
    with machine.memory() as memory:
        memory.maintenance.forgetting.run(ForgetSelection(session=machine.one.uid))
    (machine.home / "memory.db").write_bytes(b"garbage" * 1000)
    with machine.memory() as memory:
        restored = memory.maintenance.restore(folder, force=True)
        assert restored.forgotten == 1
        assert any("cannot be read" in note for note in restored.notes)
        assert list(told(memory)) == [machine.two.uid]


def test_what_was_written_and_forgotten_since_stays_forgotten(machine: World, tmp_path: Path) -> None:
    with machine.memory() as memory:
        memory.notes.diary.write(NewEntry(agent="claude", text="we call it quuxzanzi"))
        memory.notes.facts.add(NewFact(subject="it", predicate="is called", object="quuxzanzi"))
        memory.notes.facts.add(NewFact(subject="it", predicate="is", object="open"))
        memory.notes.tag(machine.one.uid, ["quuxzanzi"])
        memory.maintenance.backup(tmp_path / "copy")
        report = memory.maintenance.forgetting.run(ForgetSelection(pattern="quuxzanzi"))
        assert (report.written, report.events) == (3, 0)
        memory.maintenance.restore(tmp_path / "copy", force=True)
        assert memory.search("kind:fact open").total == 1
        assert memory.search("quuxzanzi").total == 0
    plain = {path: path.read_bytes() for path in machine.home.rglob("*") if path.is_file()}
    assert not [path for path, data in plain.items() if b"quuxzanzi" in data]
