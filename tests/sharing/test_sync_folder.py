"""Machines of one person see each other's sessions through a folder; what is forgotten on one is gone from all."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.errors import DiskFull, SourceUnavailable, UsageError
from recollect.ingest import batch_writer
from recollect.ingest.batch_writer import BatchWriter
from recollect.memory import ForgetSelection, Memory
from recollect.sharing import batch_folder
from recollect.sharing.batch_folder import BatchFolder, BatchKey
from recollect.testing.builders import CodexRollout
from tests.sharing.conftest import MEMORY_KIB, PASSPHRASE, Computer

Make = Callable[..., Computer]
SECRET = "AKIAQYLPMN5HHHFPZAM2"


@pytest.fixture
def laptop(computer: Make) -> Computer:
    made = computer("laptop")
    made.session("one", "Why does the checkoutWorker leak?", "Close it in the finalizer")
    made.session("two", "Rename the queue")
    return made


@pytest.fixture
def desk(computer: Make) -> Computer:
    made = computer("desk")
    made.session("three", "Which port does heron use?")
    return made


def test_both_have_the_same_sessions_events_and_numbers(laptop: Computer, desk: Computer) -> None:
    laptop.sync()
    report = desk.sync()
    assert (report.machines, report.received_sessions, report.sent_sessions) == (("laptop",), 2, 1)
    laptop.sync()
    assert laptop.content() == desk.content()
    assert len(laptop.uids()) == 3
    assert desk.memory.search("checkoutWorker", sync=False).hits


def test_a_session_says_which_machine_wrote_it(laptop: Computer, desk: Computer) -> None:
    written = laptop.session("four", "On the road")
    laptop.sync()
    desk.sync()
    assert desk.memory.session(written.uid).sources == (f"laptop:{written.path}",)


def test_what_came_is_whole_and_can_be_derived_again(laptop: Computer, desk: Computer) -> None:
    laptop.sync()
    desk.sync()
    before = desk.content()
    assert desk.memory.maintenance.verify_deep().ok
    desk.memory.sync(force=True)
    assert desk.content() == before


def test_the_second_time_nothing_is_to_be_done(laptop: Computer, desk: Computer) -> None:
    for one in (laptop, desk, laptop, desk):
        one.sync()
    files = sorted(laptop.shared.rglob("*"))
    for one in (laptop, desk):
        report = one.sync()
        assert (report.received_bytes, report.sent_batches, report.waiting, report.refused) == (0, 0, 0, ())
    assert sorted(laptop.shared.rglob("*")) == files


def test_a_session_that_goes_on_is_sent_on(laptop: Computer, desk: Computer) -> None:
    written = laptop.session("long", *(f"part {n} " + "words and more words " * 3_000 for n in range(30)))
    laptop.sync()
    desk.sync()
    before = written.path.stat().st_size
    written.user("And then heron broke")
    laptop.sync()
    report = desk.sync()
    assert 0 < report.received_bytes < before / 2
    assert laptop.content()[written.uid] == desk.content()[written.uid]


def test_a_session_that_was_rewritten_is_sent_again(laptop: Computer, desk: Computer) -> None:
    written = laptop.session("rewritten", "What I first said")
    laptop.sync()
    desk.sync()
    written.path.write_bytes(written.path.read_bytes().replace(b"What I first said", b"What I said then!"))
    laptop.sync()
    desk.sync()
    assert laptop.content()[written.uid] == desk.content()[written.uid]


def test_secrets_are_redacted_with_the_keys_of_the_machine_that_shows_them(laptop: Computer, desk: Computer) -> None:
    laptop.session("keys", f"The key is {SECRET}")
    laptop.sync()
    desk.sync()
    files = [path for path in desk.shared.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in path.read_bytes() or b"checkoutWorker" in path.read_bytes() for path in files)
    assert SECRET not in str(desk.content())


def test_what_is_forgotten_goes_everywhere_and_never_comes_back(laptop: Computer, desk: Computer) -> None:
    written = laptop.session("regretted", "Something regretted")
    laptop.sync()
    desk.sync()
    (old,) = laptop.batches()
    kept = old.read_bytes()
    laptop.memory.maintenance.forgetting.run(ForgetSelection(session=written.uid))
    report = laptop.sync()
    assert (report.removed_batches, old.exists()) == (1, False)
    assert desk.sync().forgotten_sessions == 1
    assert written.uid not in desk.uids()
    old.write_bytes(kept)  # a sync service brings it back
    for one in (desk, laptop, desk):
        one.sync()
        assert written.uid not in one.uids()
    assert laptop.content() == desk.content()
    assert not old.exists()
    assert desk.memory.maintenance.verify_deep().ok


def test_what_is_forgotten_where_it_was_received_goes_where_it_came_from(laptop: Computer, desk: Computer) -> None:
    laptop.sync()
    desk.sync()
    (uid, *_rest) = laptop.uids()
    desk.memory.maintenance.forgetting.run(ForgetSelection(session=uid))
    desk.sync()
    assert laptop.sync().forgotten_sessions == 1
    assert uid not in laptop.uids() | desk.uids()


def test_single_records_are_forgotten_too(laptop: Computer, desk: Computer) -> None:
    written = laptop.session("mixed", "Keep this", "The word is mockingbird", "And this")
    laptop.sync()
    desk.sync()
    laptop.memory.maintenance.forgetting.run(ForgetSelection(pattern="mockingbird"))
    written.user("It goes on behind the gap")
    laptop.sync()
    desk.sync()
    assert "mockingbird" not in str(desk.content())
    assert "goes on behind" in str(desk.content())
    assert laptop.content() == desk.content()


def test_a_record_that_repeats_one_without_an_event_of_its_own_is_forgotten_too(
    laptop: Computer, desk: Computer
) -> None:
    written = CodexRollout(laptop.folder / ".codex", "two")
    written.turn("why is the build red", "because of mockingbird")
    laptop.sync()
    desk.sync()
    uid = f"codex:{written.session}"
    assert b"".join(desk.memory.maintenance.export_bytes(uid, format="raw")).count(b"mockingbird") == 2
    laptop.memory.maintenance.forgetting.run(ForgetSelection(pattern="mockingbird"))
    laptop.sync()
    desk.sync()
    assert b"mockingbird" not in b"".join(desk.memory.maintenance.export_bytes(uid, format="raw"))


def test_a_machine_that_comes_later_gets_no_more_than_the_others_have(
    laptop: Computer, desk: Computer, computer: Make
) -> None:
    laptop.session("mixed", "Keep this", "The word is mockingbird", "And this")
    laptop.sync()
    laptop.memory.maintenance.forgetting.run(ForgetSelection(pattern="mockingbird"))
    laptop.sync()
    late = computer("late")
    late.sync()
    assert late.event_ids() == laptop.event_ids()  # their numbers begin where nothing was forgotten
    assert late.memory.maintenance.verify().ok


def test_excluded_repositories_are_neither_sent_nor_kept(laptop: Computer, desk: Computer, computer: Make) -> None:
    private = laptop.session("private", "My salary", repo="diary")
    laptop.sync()
    laptop.home.joinpath("config.toml").write_text('[privacy]\nexclude_repos = ["diary"]\n')
    desk.memory.sync()
    desk.home.joinpath("config.toml").write_text('[privacy]\nexclude_repos = ["diary"]\n')
    for one in (laptop, desk):
        one.reopen()
    desk.sync()  # it was sent before it was excluded
    assert private.uid not in desk.uids()
    assert private.uid in laptop.uids()
    private.user("And more of it")
    assert laptop.sync().held_back == 1
    elsewhere = computer("elsewhere", laptop.folder / "another")
    laptop.memory.shared_folder.sync(elsewhere.shared, lambda _: PASSPHRASE, name="laptop")
    elsewhere.sync()
    assert private.uid not in elsewhere.uids()


def test_a_wrong_passphrase_changes_nothing(laptop: Computer, desk: Computer) -> None:
    laptop.sync()
    before = {path: path.read_bytes() for path in laptop.shared.rglob("*.batch")}
    with pytest.raises(UsageError, match="opens no batch"):
        desk.sync("a horse that is wrong")
    with pytest.raises(UsageError, match="a passphrase is needed"):
        desk.sync("")
    assert {path: path.read_bytes() for path in laptop.shared.rglob("*.batch")} == before
    assert not (desk.home / "sync-folder.json").exists()


def test_a_passphrase_gives_the_key_that_it_always_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_folder, "_MEMORY_KIB", MEMORY_KIB)
    key = BatchKey.of_passphrase("a horse that is correct", bytes(range(16)))
    assert key.check.hex() == "adc82e9bf323c5814c83e16d661d10c2"


def test_a_new_passphrase_is_not_short(laptop: Computer) -> None:
    with pytest.raises(UsageError, match="at least 12"):
        laptop.sync("secret")


def test_a_folder_that_is_not_there_is_not_made(laptop: Computer) -> None:
    laptop.shared.rmdir()
    with pytest.raises(SourceUnavailable, match="is no folder"):
        laptop.sync()


def test_the_key_is_remembered_only_if_that_is_said(laptop: Computer, desk: Computer) -> None:
    desk.sync()
    laptop.sync(is_remembered=True)
    assert laptop.sync("").refused == ()
    assert (laptop.home / "sync-folder.json").stat().st_mode & 0o077 == 0
    laptop.sync("", is_remembered=False)
    with pytest.raises(UsageError, match="a passphrase is needed"):
        laptop.sync("")


@pytest.mark.parametrize("place", [3, 30, 60, 200, -1])
def test_a_batch_that_was_changed_is_refused_by_its_name(laptop: Computer, desk: Computer, place: int) -> None:
    desk.sync()
    laptop.sync()
    (path,) = laptop.batches()
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    report = desk.sync()
    assert [one.path for one in report.refused] == [str(path)]
    assert len(desk.uids()) == 1
    path.unlink()  # its machine sends the content again
    laptop.sync()
    assert desk.sync().refused == ()
    assert laptop.content() == desk.content()


@pytest.mark.parametrize("size", [0, 20, 60, 500])
def test_a_batch_that_is_not_all_here_is_taken_once_it_is(laptop: Computer, desk: Computer, size: int) -> None:
    laptop.sync()
    (path,) = laptop.batches()
    data = path.read_bytes()
    path.write_bytes(data[:size])
    assert len(desk.sync().refused) == 1
    path.write_bytes(data)
    assert desk.sync().received_sessions == 2
    assert laptop.uids() < desk.uids()


def test_copies_that_a_sync_service_makes_are_passed_by(laptop: Computer, desk: Computer) -> None:
    laptop.sync()
    (path,) = laptop.batches()
    shutil.copy(path, path.with_name(f"{path.stem} (laptop's conflicted copy).batch"))
    shutil.copy(path, path.with_name(f"{path.name}.part"))
    other = path.parent.parent / ("0" * 16)
    other.mkdir()
    shutil.copy(path, other)
    report = desk.sync()
    assert (report.received_sessions, [one.path for one in report.refused]) == (2, [str(other / path.name)])


def test_any_order_of_arrival_gives_the_same_set(laptop: Computer, computer: Make, tmp_path: Path) -> None:
    growing = laptop.session("growing", "one " + "words " * 40_000)
    for number in range(4):
        laptop.sync()
        growing.user(f"more {number} " + "words " * 90_000)
        laptop.session(f"new {number}", f"another {number}")
        if number == 1:
            laptop.memory.maintenance.forgetting.run(ForgetSelection(pattern="another 0"))
    laptop.sync()
    files = sorted(laptop.batches())
    chance = random.Random(7)
    for attempt in range(3):
        chance.shuffle(files)
        late = computer(f"late{attempt}", tmp_path / f"shared{attempt}")
        place = late.shared / laptop.machine_id
        place.mkdir()
        for path in files:
            shutil.copy(path, place)
            if chance.random() < 0.6:
                late.sync()
        assert late.sync().waiting == 0
        assert late.content() == laptop.content()


@pytest.mark.skipif(os.name == "nt", reason="fork and SIGKILL are POSIX")
@pytest.mark.parametrize("is_removal", [False, True])
def test_a_machine_that_is_killed_while_it_gives_goes_on(
    laptop: Computer, desk: Computer, monkeypatch: pytest.MonkeyPatch, is_removal: bool
) -> None:
    monkeypatch.setattr(batch_folder, "BATCH_BYTES", 3_000)
    for number in range(4):
        laptop.session(f"more {number}", f"number {number} " + "words " * 700)
    if is_removal:
        laptop.sync()
        laptop.memory.maintenance.forgetting.run(ForgetSelection(pattern="number 2"))
    laptop.memory.close()
    for count in range(1, 20):
        if not _is_killed_at(laptop, count):
            break
    assert count >= 3
    assert desk.sync().refused == ()
    assert desk.event_ids() == {**desk.event_ids(), **laptop.event_ids()}
    files = sorted(laptop.batches())
    laptop.sync()
    assert sorted(laptop.batches()) == files


def _is_killed_at(computer: Computer, count: int) -> bool:
    """Sync in a process that kills itself at a write or removal in the folder; False: it came to its end before."""
    pid = os.fork()
    if not pid:
        left = count

        def dying(done: Callable[..., object]) -> Callable[..., object]:
            def call(*arguments: object) -> object:
                nonlocal left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return done(*arguments)

            return call

        for name in ("write", "remove"):
            setattr(BatchFolder, name, dying(getattr(BatchFolder, name)))
        try:
            computer.sync()
        finally:
            os._exit(0)
    _pid, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def test_a_dry_run_says_it_and_writes_nothing(laptop: Computer, desk: Computer) -> None:
    laptop.sync()
    desk.memory.sync()
    before = {path: path.stat().st_mtime_ns for path in desk.shared.rglob("*")}
    report = desk.sync(is_dry_run=True)
    assert (report.received_sessions, report.sent_sessions, report.sent_batches) == (2, 1, 1)
    assert {path: path.stat().st_mtime_ns for path in desk.shared.rglob("*")} == before
    assert len(desk.uids()) == 1
    done = desk.sync()
    assert (done.received_bytes, done.sent_bytes) == (report.received_bytes, report.sent_bytes)


def test_an_older_backup_takes_nothing_out_of_the_folder(laptop: Computer, desk: Computer, tmp_path: Path) -> None:
    laptop.memory.sync()
    laptop.memory.maintenance.backup(tmp_path / "backup")
    later = laptop.session("later", "After the backup")
    laptop.sync()
    later.path.unlink()
    laptop.memory.maintenance.restore(tmp_path / "backup", force=True)
    laptop.reopen()
    assert laptop.sync().removed_batches == 0
    desk.sync()
    assert later.uid in desk.uids()


def test_what_one_machine_evicted_stays_on_the_other(laptop: Computer, desk: Computer) -> None:
    written = laptop.session("old", "Long ago " + "words " * 9_000)
    laptop.sync()
    desk.sync()
    laptop.home.joinpath("config.toml").write_text("[retention]\nraw_soft_cap_bytes = 0\n")
    laptop.reopen()
    laptop.memory.maintenance.retention.evict()
    written.user("It goes on")
    laptop.sync()
    report = desk.sync()
    assert desk.memory.maintenance.verify().evicted_bytes == 0
    assert desk.memory.maintenance.verify().ok
    assert any("evicted its beginning" in note for note in report.notes) or "It goes on" in str(desk.content())


def test_a_home_without_the_folder_is_as_before(laptop: Computer) -> None:
    laptop.memory.sync()
    with Memory.open(laptop.home, env=laptop.env) as memory:
        assert memory.maintenance.verify().ok
    assert not (laptop.home / "sync-folder.json").exists()


@pytest.mark.parametrize("is_going_on", [False, True])
def test_what_comes_is_whole_after_each_transaction_and_a_full_disk_only_delays_it(
    laptop: Computer, desk: Computer, monkeypatch: pytest.MonkeyPatch, is_going_on: bool
) -> None:
    written = laptop.session("long", *["words " * 70_000] * 3)
    if is_going_on:
        laptop.sync()
        desk.sync()
        written.user("and on")
        written.assistant("words " * 70_000)
    laptop.sync()
    monkeypatch.setattr(batch_writer, "BATCH_SLICES", 1)  # a transaction for each slice, as for large ones
    write, verdicts = BatchWriter.flush, list[bool]()

    def flush(self: BatchWriter) -> None:
        has_written = bool(self._waiting)
        write(self)
        if has_written:
            verdicts.append(desk.memory.maintenance.verify().ok)
            if len(verdicts) in (2, 4):
                raise DiskFull("no room")

    with monkeypatch.context() as filling:
        filling.setattr(BatchWriter, "flush", flush)
        for _ in range(2):
            with pytest.raises(DiskFull):
                desk.sync()
            desk.reopen()
        desk.sync()
    assert len(verdicts) > 4
    assert all(verdicts)
    assert desk.memory.maintenance.verify_deep().ok
    assert desk.content() == {**desk.content(), **laptop.content()}
