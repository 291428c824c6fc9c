"""What is noted without the ingest lock is found by the next search; whatever is killed, the index says what is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from recollect.index.text.writer import IndexWriterSet
from recollect.ingest.operations import is_behind
from recollect.maintenance.deep_verify import verify_deep
from recollect.memory import Memory
from recollect.store.entries import DOCUMENT_SHARD, NOTE_SHARD
from recollect.store.lock import IngestLock
from recollect.store.row_keys import ENTRY_BASE
from recollect.store.writer import Writer
from tests.erasure.forget.test_crash import killed
from tests.ingest.conftest import World
from tests.ingest.entries.noted import draft, found, put, remove, waiting

LEARNING = draft("learning:ab12", "Deploys to staging use quokkaship, never by hand", repo="shop", state="active")
DOCUMENT = draft(
    "document:docs/README.md", "The narwhal service bills customers.", "Run it with quokkaship.",
    headings=("Billing", "Billing > Running"), repo="shop", path="docs/README.md",
)  # fmt: skip
STEPS: dict[str, tuple[Any, str]] = {
    "nothing is taken": (IndexWriterSet, "delete_all_of"),
    "what was there is deleted": (IndexWriterSet, "add"),
    "all is added": (IndexWriterSet, "commit"),
    "the index is committed": (Writer, "acknowledge_entries"),
}


@pytest.fixture
def memory(world: World) -> Memory:
    world.claude("one").user("please rename the flux capacitor")
    world.memory.sync()
    return world.memory


def test_what_is_noted_is_found_by_the_next_search_of_any_process(world: World, memory: Memory) -> None:
    assert found(memory, "quokkaship") == []
    assert put(memory.home, LEARNING, DOCUMENT) == 2
    assert found(memory, "quokkaship") == ["document:docs/README.md#1", "learning:ab12#0"]  # in the same two seconds
    with world.again() as again:
        assert found(again, "narwhal") == ["document:docs/README.md#0"]
    assert waiting(memory.home) == 0


def test_old_words_are_no_longer_found_once_an_entry_says_something_else(memory: Memory) -> None:
    put(memory.home, LEARNING, DOCUMENT)
    assert found(memory, "narwhal")
    assert put(memory.home, DOCUMENT) == 0
    assert waiting(memory.home) == 0
    assert put(memory.home, draft("document:docs/README.md", "An axolotl.", path="docs/README.md")) == 1
    assert found(memory, "narwhal") == []
    assert found(memory, "kind:document quokkaship") == []
    assert found(memory, "axolotl") == ["document:docs/README.md#0"]
    assert remove(memory.home, "document:docs/README.md", "learning:ab12", "learning:none") == 2
    assert found(memory, "axolotl") == []
    assert found(memory, "quokkaship") == []


def test_a_sync_takes_them_too_and_does_nothing_where_nothing_waits(memory: Memory) -> None:
    put(memory.home, LEARNING)
    report = memory.sync()
    assert report.notes == []
    assert waiting(memory.home) == 0
    assert not is_behind(memory)
    before = {path: path.stat().st_mtime_ns for path in (memory.home / "index").rglob("meta.json")}
    assert memory.sync().notes == []
    assert {path: path.stat().st_mtime_ns for path in (memory.home / "index").rglob("meta.json")} == before


def test_while_another_process_ingests_the_answer_says_that_something_is_missing(memory: Memory) -> None:
    memory.search("flux")
    put(memory.home, LEARNING)
    lock = IngestLock(memory.home)
    try:
        answer = memory.search("quokkaship")
    finally:
        lock.release()
    assert answer.learned == ()
    # The second one comes where the first search is long enough ago for another look at all sources.
    told = {
        "catching up: the latest notes may be missing",
        "the index lags behind: what was learned or noted last was not searched; run `recollect sync`",
    }
    assert not told.isdisjoint(answer.notes)
    assert found(memory, "quokkaship") == ["learning:ab12#0"]


@pytest.mark.skipif(os.name == "nt", reason="fork and SIGKILL are POSIX")
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_the_next_search_finds_what_there_is(world: World, memory: Memory, step: str) -> None:
    put(memory.home, LEARNING, DOCUMENT, draft("fact:f1", "the quokkaship port is 8443"))
    memory.sync()
    put(memory.home, draft("learning:ab12", "Deploys use narwhal only", repo="shop", state="retired"))
    remove(memory.home, "fact:f1")
    memory.close()

    def search() -> None:
        with world.again() as again:
            again.sync()

    assert killed(search, STEPS[step])
    assert found(memory, "kind:learning narwhal") == ["learning:ab12#0"]
    assert found(memory, "kind:learning,fact quokkaship") == []
    assert found(memory, "quokkaship") == ["document:docs/README.md#1"]
    assert waiting(memory.home) == 0


def test_a_part_of_the_index_that_is_lost_is_made_anew(memory: Memory, tmp_path: Path) -> None:
    put(memory.home, LEARNING, DOCUMENT)
    assert len(found(memory, "quokkaship")) == 2
    for shard in (NOTE_SHARD, DOCUMENT_SHARD):
        memory.close()
        # At once: the engine watches for commits, and may create its lock file again in a folder that is being emptied.
        (memory.home / "index" / "text" / shard).rename(tmp_path / shard)
        memory.sync()
        assert len(found(memory, "quokkaship")) == 2
    (memory.home / "index" / "text" / NOTE_SHARD / "meta.json").write_text("no more")
    memory.close()
    memory.sync()
    assert len(found(memory, "quokkaship")) == 2


def test_a_damaged_part_loses_nothing_when_something_is_noted_first(memory: Memory) -> None:
    put(memory.home, LEARNING)
    assert found(memory, "quokkaship")
    (memory.home / "index" / "text" / NOTE_SHARD / "meta.json").write_text("no more")
    put(memory.home, draft("diary:d1", "an axolotl"))
    assert found(memory, "axolotl") == ["diary:d1#0"]
    assert found(memory, "quokkaship") == ["learning:ab12#0"]


@pytest.mark.parametrize("what", ["index", "all"])
def test_a_rebuilt_memory_finds_the_same(memory: Memory, what: Any) -> None:
    put(memory.home, draft("diary:gone", "nothing"), LEARNING, DOCUMENT)
    remove(memory.home, "diary:gone")
    before = memory.search("quokkaship")
    memory.maintenance.rebuild(what)
    after = memory.search("quokkaship")
    assert [(h.session_uid, h.seq, h.score, h.snippet) for h in after.hits] == [
        (h.session_uid, h.seq, h.score, h.snippet) for h in before.hits
    ]
    assert after.learned == before.learned
    assert put(memory.home, LEARNING) == 0


def test_without_entries_an_answer_is_byte_for_byte_as_with_notes_beside_it(memory: Memory) -> None:
    alone = memory.search("flux capacitor")
    put(memory.home, LEARNING, draft("diary:d1", "flux everywhere, the capacitor was renamed"))
    beside = memory.search("flux capacitor")
    assert beside.hits == alone.hits
    assert (beside.total, beside.match_level, beside.left_out) == (alone.total, alone.match_level, alone.left_out)
    assert [hit.session_uid for hit in beside.learned] == ["diary:d1"]
    assert alone.learned == ()


def test_what_is_noted_beside_a_daemon_is_found_by_the_next_search(memory: Memory) -> None:
    keeper = memory.live.make_keeper(lambda _: None)
    memory.keeper = lambda: (*keeper.settle(), "the daemon says so")
    put(memory.home, LEARNING)
    answer = memory.search("quokkaship")
    assert [hit.session_uid for hit in answer.learned] == ["learning:ab12"]
    assert "the daemon says so" in answer.notes


def test_a_deep_check_holds_the_index_against_every_entry(memory: Memory) -> None:
    put(memory.home, LEARNING, DOCUMENT)
    memory.sync()
    (part,) = (part for part in verify_deep(memory) if part.name == "index")
    assert (part.ok, part.differences) == (True, [])
    with IndexWriterSet.open(memory.home / "index" / "text") as index:
        number = memory.reader().entries.entry("learning:ab12")
        assert number is not None
        index.delete_all_of(NOTE_SHARD, [ENTRY_BASE + number.entry.number])
    (part,) = (part for part in verify_deep(memory) if part.name == "index")
    assert not part.ok
    assert [difference.what.split(",")[0] for difference in part.differences] == [NOTE_SHARD]
