"""Opening, locking and breaking the database: each gets one clear error and loses nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from recollect.errors import BrokenInvariant, DiskFull, SchemaTooNew, StoreCorrupt, StoreError, StoreLocked
from recollect.paths import DATABASE_NAME
from recollect.store import connection as connecting
from recollect.store.connection import (
    APPLICATION_ID,
    ReadPool,
    open_database,
    open_to_read,
    quick_check,
    reading_by_one_connection,
)
from recollect.store.lock import IngestLock
from recollect.store.meta import read_mark, write_mark
from recollect.store.migrations import MIGRATIONS, SCHEMA_VERSION
from recollect.store.reader import open_reader
from recollect.store.rows import EventFilter, SliceResult
from recollect.store.writer import Writer, open_writer
from tests.store.slices import Line, make_slices, write_all

HOLD = """
import pathlib, sys
from recollect.paths import DATABASE_NAME
from recollect.store.lock import IngestLock
from recollect.store.meta import read_mark, write_mark
lock = IngestLock(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def other_process(home: Path) -> subprocess.Popen[str]:
    """Start a process that holds the home's lock until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_holds_the_lock(home: Path) -> None:
    with other_process(home) as process:
        with pytest.raises(StoreLocked, match=rf"pid {process.pid}\b"):
            open_writer(home)
        process.communicate()


def test_a_killed_process_gives_the_lock_back(home: Path) -> None:
    with other_process(home) as process:
        process.kill()
        process.communicate()
    open_writer(home).close()


def test_one_process_cannot_hold_the_lock_twice(home: Path, writer: Writer) -> None:
    with pytest.raises(StoreLocked):
        IngestLock(home)


def test_a_closed_writer_gives_the_lock_back(home: Path) -> None:
    for _ in range(2):
        writer = open_writer(home)
        writer.close()
        writer.close()


def test_what_must_be_set_before_the_first_table_is_set(home: Path) -> None:
    open_writer(home).close()
    db = open_database(home, "read")
    assert db.pragma("application_id") == APPLICATION_ID
    assert db.pragma("auto_vacuum") == 2
    assert db.pragma("journal_mode") == "wal"
    db.close()


def test_a_home_that_another_process_makes_meanwhile_is_opened(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = connecting._version
    others: list[apsw.Connection] = []

    def version_before_the_other(connection: apsw.Connection) -> int:
        found = asked(connection)
        if not others:
            others.append(connection)  # the other's own questions are not interrupted
            others.append(open_database(home, "write"))
        return found

    monkeypatch.setattr(connecting, "_version", version_before_the_other)
    db = open_database(home, "write")
    try:
        assert others[1].execute("SELECT value FROM meta WHERE key = 'home_id'").get
        assert db.pragma("user_version") == SCHEMA_VERSION
    finally:
        db.close()
        others[1].close()


def test_every_home_has_an_id_of_its_own(tmp_path: Path) -> None:
    ids = set()
    for name in ("a", "b"):
        open_writer(tmp_path / name).close()
        db = open_database(tmp_path / name, "read")
        ids.add(db.execute("SELECT value FROM meta WHERE key = 'home_id'").get)
        db.close()
    assert len(ids) == 2


def test_a_reader_of_an_empty_home_finds_nothing(home: Path) -> None:
    with open_reader(home, None, None) as reader:
        assert reader.sessions(EventFilter()) == ((), 0)


def test_a_newer_schema_is_not_written(home: Path) -> None:
    """Whether it is read: `test_newer_schema.py`."""
    open_writer(home).close()
    db = apsw.Connection(str(home / DATABASE_NAME))
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(SchemaTooNew, match="schema 99"):
        open_writer(home)


def test_a_file_that_is_no_database_is_named_as_damaged(home: Path) -> None:
    home.mkdir()
    (home / DATABASE_NAME).write_bytes(b"this is not a database, whatever its name says " * 100)
    for attempt in (lambda: open_writer(home), lambda: open_reader(home, None, None)):
        with pytest.raises(StoreCorrupt) as caught:
            attempt()
        assert "recollect repair" in caught.value.hint


def test_a_database_of_somebody_else_is_left_alone(home: Path) -> None:
    home.mkdir()
    db = apsw.Connection(str(home / DATABASE_NAME))
    db.execute("CREATE TABLE theirs (x)")
    db.close()
    with pytest.raises(StoreCorrupt, match="not a Recollect database"):
        open_writer(home)


def test_damaged_pages_are_found_and_named(home: Path) -> None:
    with open_writer(home) as writer:
        write_all(writer, make_slices([Line(f"line {n} " * 50) for n in range(400)]))
    assert quick_check(home) == []
    path = home / DATABASE_NAME
    data = bytearray(path.read_bytes())
    for page in range(4096 * 10, len(data) - 4096, 4096):
        data[page : page + 64] = b"\xff" * 64
    path.write_bytes(data)
    assert _finds_damage(home)


def _finds_damage(home: Path) -> bool:
    try:
        return quick_check(home) != []
    except StoreCorrupt as error:
        return bool(error.hint)


def test_a_full_disk_keeps_what_was_stored_and_the_next_try_goes_on(home: Path) -> None:
    first, second = make_slices([Line(f"line {n} " * 90, f"n{n}") for n in range(600)], cuts=[100])
    with open_writer(home) as writer, open_reader(home, None, None) as reader:
        write_all(writer, [first])
        pages = writer._db.pragma("page_count")
        writer._db.pragma("max_page_count", pages)
        with pytest.raises(DiskFull) as caught:
            write_all(writer, [second])
        assert caught.value.retryable
        assert sum(1 for _ in reader.events("claude:one", limit=None)) == 100
        writer._db.pragma("max_page_count", 1_000_000)
        write_all(writer, [second])
        assert sum(1 for _ in reader.events("claude:one", limit=None)) == 600


def test_a_busy_database_is_a_locked_store(home: Path, writer: Writer) -> None:
    other = open_database(home, "write")
    other.set_busy_timeout(0)
    other.execute("BEGIN IMMEDIATE")
    writer._db.set_busy_timeout(0)
    with pytest.raises(StoreLocked, match="busy"), writer.transaction():
        raise AssertionError("not reached")
    other.execute("ROLLBACK")
    other.close()


def _write_and_fail(writer: Writer, slice_: SliceResult) -> None:
    with writer.transaction():
        writer.write(slice_, [], observed_at=1)
        raise BrokenInvariant("the test fails here")


def test_a_failed_transaction_leaves_nothing(home: Path, writer: Writer) -> None:
    slices = make_slices([Line("a", tool="Bash"), Line("b")])
    with pytest.raises(BrokenInvariant):
        _write_and_fail(writer, slices[0])
    assert writer.sources("claude") == {}
    write_all(writer, slices)
    with open_reader(home, None, None) as reader:
        assert [e.seq for e in reader.events("claude:one")] == [0, 1]
        [hit] = reader.hit_texts().texts([1 << 24]).values()
        assert hit.tool == "Bash"


def test_readers_see_only_whole_transactions(home: Path, writer: Writer) -> None:
    with open_reader(home, None, None) as reader:
        with writer.transaction():
            writer.write(make_slices([Line("a")])[0], [], observed_at=1)
            assert reader.session("claude:one") is None
        assert reader.session("claude:one") is not None


def test_a_closed_reader_says_so(home: Path) -> None:
    reader = open_reader(home, None, None)
    reader.close()
    with pytest.raises(StoreError, match="closed"):
        reader.stats()


def test_closing_while_another_thread_reads_lets_it_read_on_and_raises_nothing(home: Path, writer: Writer) -> None:
    """A daemon that is stopped while it embeds ended with an error."""
    pool = ReadPool(home)
    is_reading, may_end = threading.Event(), threading.Event()
    found: list[object] = []

    def wait() -> int:
        is_reading.set()
        return int(may_end.wait(120))

    def read() -> None:
        db = pool.get()
        db.create_scalar_function("waited", wait, 0)
        found.append(db.execute("SELECT waited()").get)

    thread = threading.Thread(target=read)
    thread.start()
    assert is_reading.wait(120)
    pool.close()
    may_end.set()
    thread.join()
    assert found == [1]
    with pytest.raises(StoreError, match="closed"):
        pool.get()


def test_the_version_is_told_without_loading_the_migrations() -> None:
    assert connecting.SCHEMA_VERSION == SCHEMA_VERSION == len(MIGRATIONS)
    loads = "import sys, recollect.store.context_reader; print('recollect.store.migrations' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loads], capture_output=True, check=True).stdout == b"False\n"


def test_small_questions_of_one_thread_share_a_connection_that_sees_what_others_write(tmp_path: Path) -> None:
    open_database(tmp_path, "write").close()
    with reading_by_one_connection(tmp_path):
        with open_to_read(tmp_path) as first, reading_by_one_connection(tmp_path), open_to_read(tmp_path) as second:
            assert first is second
        write_mark(tmp_path, "seen", "now")
        assert read_mark(tmp_path, "seen") == "now"
    with open_to_read(tmp_path) as later:
        assert later is not first
