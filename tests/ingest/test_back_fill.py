"""A bulk import: which sessions it takes in, which stay out of the index, and what a later pass makes of those."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.errors import AmbiguousName, UnknownName
from recollect.memory import ForgetSelection, ImportOptions, Memory, SyncReport
from recollect.model.time import parse_iso
from recollect.store.writer import open_writer
from recollect.testing.builders import ClaudeTranscript
from tests.ingest.conftest import World

USUAL = ImportOptions(least_messages=3)
LOCKS = {"ingest.lock", "memory.db-shm", "memory.db-wal"}
"""What only being at it changes."""


def talk(world: World, name: str, *said: str, day: int = 1) -> ClaudeTranscript:
    """A session in which the user and the model speak in turn."""
    start = datetime(2026, 8, day, 9, tzinfo=UTC)
    transcript = ClaudeTranscript(world.claude_home, name, start=start)
    for n, words in enumerate(said):
        (transcript.assistant if n % 2 else transcript.user)(words)
    return transcript


def found(memory: Memory, query: str) -> set[str]:
    return {hit.session_uid for hit in memory.search(query, sync=False).hits}


def states(report: SyncReport) -> dict[str, str]:
    return {one.session_uid: one.state for one in report.imported}


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by a hash of what it holds."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).digest() for path in files}


@pytest.fixture
def short(world: World) -> ClaudeTranscript:
    """A session of two messages, beside one of four."""
    talk(world, "long", "Where is the aqueduct?", "Near Trier.", "And the bridge?", "In the town.")
    return talk(world, "short", "Where is the amphitheatre?", "On the hill.")


def test_a_short_session_is_kept_but_not_found(world: World, short: ClaudeTranscript) -> None:
    report = world.memory.take_in((), options=USUAL)
    assert [(one.session_uid, one.state, one.messages) for one in report.imported] == [(short.uid, "skipped", 2)]
    assert report.imported[0].reason == "fewer than 3 messages: archived, but not indexed"
    assert found(world.memory, "aqueduct")
    assert not found(world.memory, "amphitheatre")
    exported = world.memory.maintenance.export_bytes(short.uid, format="raw")
    assert b"".join(exported) == short.path.read_bytes()
    checked = world.memory.maintenance.verify_deep()
    assert checked.ok, checked.deep


def test_vectors_leave_a_short_session_out_until_it_grows(world: World, short: ClaudeTranscript) -> None:
    world.memory.take_in((), options=USUAL)
    world.memory.embedding.run()
    first = world.memory.embedding.coverage()
    assert first is not None
    assert first.covered == first.total == 4
    short.user("Who built it?")
    world.memory.sync()
    world.memory.embedding.run()
    grown = world.memory.embedding.coverage()
    assert grown is not None
    assert grown.covered == grown.total == 7


@pytest.mark.parametrize("is_rebuilt", [False, True])
def test_one_that_grows_is_indexed_whole(world: World, short: ClaudeTranscript, *, is_rebuilt: bool) -> None:
    world.memory.take_in((), options=USUAL)
    if is_rebuilt:
        world.memory.maintenance.rebuild("all")
        assert not found(world.memory, "amphitheatre")
    short.user("Who built it?")
    world.memory.sync()
    assert found(world.memory, "amphitheatre") == found(world.memory, "hill") == {short.uid}
    assert world.memory.maintenance.verify_deep().ok


def test_neither_a_new_index_nor_a_mended_one_has_it(world: World, short: ClaudeTranscript) -> None:
    world.memory.take_in((), options=USUAL)
    world.memory.maintenance.rebuild("index")
    assert not found(world.memory, "amphitheatre")
    with world.again() as other, open_writer(world.root / "memory") as writer, writer.transaction():
        assert [one.session_uid for one in writer.short.all()] == [short.uid]
        other.close()
    world.memory.sync()
    assert not found(world.memory, "amphitheatre")


def test_a_crash_before_the_index_is_written_leaves_nothing_out(world: World, short: ClaudeTranscript) -> None:
    """What a session that has grown is missing stands in the change log until the index has it."""
    world.memory.take_in((), options=USUAL)
    with open_writer(world.root / "memory") as writer, writer.transaction():
        assert writer.short.lift([short.uid, "claude:nobody"]) == 1
    assert not found(world.memory, "amphitheatre")
    world.memory.sync()
    assert found(world.memory, "amphitheatre") == {short.uid}


def test_a_second_run_writes_nothing(world: World, short: ClaudeTranscript) -> None:
    world.memory.take_in((), options=USUAL)
    world.memory.take_in((), options=USUAL)
    before = tree(world.root / "memory")
    report = world.memory.take_in((), options=USUAL)
    assert report.events == 0
    assert {name for name, sha in tree(world.root / "memory").items() if before.get(name) != sha} <= LOCKS
    assert not found(world.memory, short.uid)


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(world: World, short: ClaudeTranscript) -> None:
    long = talk(world, "long", "And then?", day=2)
    report = world.memory.take_in((), options=USUAL, is_dry_run=True)
    assert states(report) == {short.uid: "skipped", long.uid: "new"}
    assert [one.messages for one in report.imported] == [5, 2]
    assert not (world.root / "memory").exists()
    world.memory.take_in((), options=USUAL)
    long.assistant("The consul.")
    before = tree(world.root / "memory")
    with open_writer(world.root / "memory"):  # whoever holds the lock is not waited for
        again = world.memory.take_in((), options=USUAL, is_dry_run=True)
    assert [(one.state, one.messages) for one in again.imported] == [("changed", 6)]
    assert again.agents["claude"].unchanged == 1
    assert {name for name, sha in tree(world.root / "memory").items() if before.get(name) != sha} <= LOCKS


def test_since_counts_from_the_last_message(world: World) -> None:
    old = talk(world, "old", "Where is the aqueduct?", "Near Trier.", "And the bridge?", day=1)
    new = talk(world, "new", "Where is the theatre?", "On the hill.", "Who built it?", day=20)
    lasting = talk(world, "lasting", "Where is the harbour?", "At the river.", day=2)
    lasting.raw(talk(world, "its end", "And the tower?", day=21).path.read_bytes())
    wish = ImportOptions(since_us=parse_iso("2026-08-10T00:00:00Z"))
    report = world.memory.take_in((), options=wish)
    assert states(report) == {old.uid: "skipped"}
    assert report.imported[0].reason == "its last message (2026-08-01 09:00) is older than 2026-08-10 00:00"
    assert report.agents["claude"].new == report.agents["claude"].found - 1
    assert found(world.memory, "theatre") == {new.uid}
    assert lasting.uid in found(world.memory, "harbour")
    assert world.memory.reader().session(old.uid) is None
    world.memory.sync()  # which is asked for no time
    assert found(world.memory, "aqueduct") == {old.uid}


def test_a_session_that_is_named_is_indexed_whatever_it_holds(world: World, short: ClaudeTranscript) -> None:
    start = short.uid.removeprefix("claude:")[:8]
    report = world.memory.take_in((), options=ImportOptions(least_messages=None, session=start))
    assert found(world.memory, "amphitheatre") == {short.uid}
    assert not found(world.memory, "aqueduct")
    assert set(states(report).values()) == {"skipped"}


def test_one_that_an_earlier_import_left_out_is_indexed_when_it_is_named(world: World, short: ClaudeTranscript) -> None:
    world.memory.take_in((), options=USUAL)
    world.memory.take_in((), options=ImportOptions(session=short.uid))
    assert found(world.memory, "amphitheatre") == {short.uid}


def test_fewer_may_be_asked_for_later(world: World, short: ClaudeTranscript) -> None:
    world.memory.take_in((), options=ImportOptions(least_messages=10))
    assert not found(world.memory, "aqueduct OR amphitheatre")
    world.memory.take_in((), options=USUAL)
    assert found(world.memory, "aqueduct")
    assert not found(world.memory, "amphitheatre")
    world.memory.take_in((), options=ImportOptions(least_messages=2))
    assert found(world.memory, "amphitheatre") == {short.uid}


def test_a_session_that_is_nowhere_and_one_of_several(world: World) -> None:
    one, two = (talk(world, name, "Where?", "There.") for name in ("one", "two"))
    with pytest.raises(UnknownName, match="no session called"):
        world.memory.take_in((), options=ImportOptions(session="claude:nobody"))
    with pytest.raises(AmbiguousName, match="several sessions begin like") as several:
        world.memory.take_in((), options=ImportOptions(session="claude:"), is_dry_run=True)
    assert set(several.value.nearest) == {one.uid, two.uid}


def test_what_was_forgotten_is_not_listed(world: World, short: ClaudeTranscript) -> None:
    world.memory.sync()
    world.memory.maintenance.forgetting.run(ForgetSelection(session=short.uid))
    short.user("Who built it?")
    report = world.memory.take_in((), options=USUAL, is_dry_run=True)
    assert short.uid not in states(report)
