"""What readers give: whole payloads from the archive, texts for search, timelines, from many threads."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from recollect.archive.archive import Archive
from recollect.archive.keys import home_keys
from recollect.archive.sealer import Sealer
from recollect.privacy.redact import Redactor
from recollect.store.reader import Reader, open_reader
from recollect.store.rows import EventFilter
from recollect.store.writer import Writer
from tests.store.slices import START, Line, Source, make_slices, write_all

KEYS = home_keys(b"not a secret: the tests' data ke")
LONG = "word " * 500
MINUTE = 60_000_000


@pytest.fixture
def archive(home: Path) -> Iterator[Archive]:
    archive = Archive.open(home / "archive", KEYS)
    yield archive
    archive.close()


@pytest.fixture
def whole_reader(home: Path, writer: Writer, archive: Archive) -> Iterator[Reader]:
    with open_reader(home, archive, Redactor(KEYS.marker_key)) as reader:
        yield reader


def archived(writer: Writer, archive: Archive, lines: list[Line]) -> None:
    """Write lines with their exact bytes in the archive, in two chunks."""
    data = b"".join(line.raw + b"\n" for line in lines)
    sealer = Sealer(KEYS)
    chunks = [sealer.seal(piece) for piece in (data[: len(data) // 2], data[len(data) // 2 :])]
    places = archive.write(chunks)
    archive.flush()
    with writer.transaction():
        writer.write(msgspec.structs.replace(make_slices(lines)[0], chunks=chunks), places, observed_at=START)


def test_long_strings_come_from_the_archive(writer: Writer, archive: Archive, whole_reader: Reader) -> None:
    lines = [Line("short"), Line(LONG + "é end", "n"), Line(LONG + "another")]
    archived(writer, archive, lines)
    events = list(whole_reader.events("claude:one"))
    assert [e.payload.text for e in events] == [line.text for line in lines]  # type: ignore[union-attr]
    assert [e.location.record_sha256 for e in events] == [hashlib.sha256(line.raw).hexdigest() for line in lines]
    assert writer._db.execute("SELECT sum(length(data)) FROM block").get < 1000


def test_what_the_archive_gives_is_redacted(writer: Writer, archive: Archive, whole_reader: Reader) -> None:
    secret = "AKIA" + "EXAMPLE" + "Q7WZ4LNMR"
    archived(writer, archive, [Line(f"{LONG} key {secret} end")])
    [event] = whole_reader.events("claude:one")
    assert secret not in event.payload.text  # type: ignore[union-attr]
    assert event.payload.text.endswith(" end")  # type: ignore[union-attr]
    [hit] = whole_reader.hit_texts().texts([1 << 24]).values()
    assert secret not in hit.text


def test_without_an_archive_it_is_said_what_is_missing(writer: Writer, archive: Archive, reader: Reader) -> None:
    archived(writer, archive, [Line(LONG)])
    [event] = reader.events("claude:one")
    assert event.payload.text == "[2,500 characters not available: the archive is not open]"  # type: ignore[union-attr]
    assert event.summary.startswith("word word")


def test_search_gets_the_text_of_hits(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices([Line("hello", "n", tool="Bash"), Line("y " * 100_000, minute=None)]))
    first, second = reader.hit_texts().texts([1 << 24 | 1, 1 << 24, 77]).values()
    assert (first.event_id, first.part, first.seq, first.text, first.tool) == ("n", 0, 0, "hello", "Bash")
    assert (first.session_uid, first.kind, first.ts, first.is_hidden) == (
        "claude:one",
        "assistant_message",
        START,
        False,
    )
    assert (second.ts, second.summary[:3]) == (None, "y y")
    assert reader.hit_texts().texts([]) == {}


def test_events_are_given_from_a_seq_on(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices([Line(f"{n}") for n in range(1200)]))
    assert [e.seq for e in reader.events("claude:one", first_seq=5, limit=3)] == [5, 6, 7]
    assert sum(1 for _ in reader.events("claude:one")) == 1000
    assert sum(1 for _ in reader.events("claude:one", limit=None)) == 1200
    assert list(reader.events("claude:one", limit=0)) == []
    assert list(reader.events("claude:nobody")) == []


def test_a_session_timeline_is_in_order_of_seq(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices([Line("late", minute=9), Line("early", minute=1), Line("untimed", minute=None)]))
    rows, total = reader.timeline(EventFilter(sessions=("claude:one",)))
    assert ([row.summary for row in rows], total) == (["late", "early", "untimed"], 3)
    rows, total = reader.timeline(EventFilter(sessions=("claude:one",)), after=START + 5 * MINUTE, limit=1)
    assert ([row.summary for row in rows], total) == (["late"], 1)


def test_a_timeline_over_sessions_is_in_order_of_time(writer: Writer, reader: Reader) -> None:
    for name, minutes in (("a", (0, 10, 20)), ("b", (5, 15)), ("c", (1,))):
        lines = [Line(f"{name}{m}", session=name, minute=m) for m in minutes]
        write_all(writer, make_slices(lines, Source(name, session=name, patch={"cwd": f"/w/{name}"})))

    def shown(**confined: int) -> tuple[list[str], int]:
        rows, total = reader.timeline(EventFilter(), **confined)  # type: ignore[arg-type]
        return [row.summary for row in rows], total

    assert shown() == (["a0", "c1", "b5", "a10", "b15", "a20"], 6)
    assert shown(limit=2) == (["b15", "a20"], 6)
    assert shown(limit=2, offset=2) == (["b5", "a10"], 6)
    assert shown(after=START + 5 * MINUTE, before=START + 15 * MINUTE) == (["b5", "a10"], 2)
    [first, *_rest] = reader.timeline(EventFilter(repos=("c",)))[0]
    assert (first.session_uid, first.repo, first.role, first.seq) == ("claude:c", "c", "assistant", 0)


def test_a_timeline_of_some_kinds_has_and_counts_only_those(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices([Line("one", minute=1), Line("two", minute=2)]))
    for where in (EventFilter(), EventFilter(sessions=("claude:one",))):
        rows, total = reader.timeline(where, kinds=("assistant_message",))
        assert ([row.summary for row in rows], total) == (["one", "two"], 2)
        assert reader.timeline(where, kinds=("compaction", "rewind")) == ((), 0)


def test_many_threads_read_at_once_while_one_writes(writer: Writer, reader: Reader) -> None:
    slices = make_slices([Line(f"line {n} " * 20, f"n{n}") for n in range(200)], cuts=range(0, 200, 5))
    write_all(writer, slices[:1])
    done = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not done.is_set():
            seqs = [e.seq for e in reader.events("claude:one", limit=None)]
            if seqs != list(range(len(seqs))) or not seqs:
                wrong.append(seqs)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    write_all(writer, slices[1:])
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(1 for _ in reader.events("claude:one", limit=None)) == 200
