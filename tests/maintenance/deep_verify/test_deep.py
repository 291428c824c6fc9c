"""`verify --deep` finds, for every part, what is not what it is derived from; and nothing where all is well."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import numpy as np
import pytest

from recollect.config import Config, RetentionConfig
from recollect.errors import StoreLocked
from recollect.index.text.refresh import documents_of
from recollect.index.text.writer import IndexWriterSet
from recollect.memory import DeepPart, ForgetSelection, Memory
from recollect.model.insights.nodes import kind_of_node
from recollect.paths import DATABASE_NAME
from recollect.store.insights import NodeFilter
from recollect.store.lock import IngestLock
from recollect.store.rows import IndexDoc
from recollect.testing.builders import ClaudeTranscript, CodexRollout

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    one = ClaudeTranscript(tmp_path / "claude", "one")
    one.user("we decided to keep the events in SQLite because it needs no server")
    one.tool("Bash", {"command": "cat zanzibar.log"}, "pelican " * 2000)
    one.user([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}])  # type: ignore[arg-type]
    one.assistant("they are in SQLite now")
    CodexRollout(tmp_path / "codex", "two").turn("why is the build red", "because of a flaky test")
    memory = Memory.open(tmp_path / "memory", config=Config(), env=env)
    memory.sync()
    memory.distilling.run(sessions=[s.session_uid for s in memory.sessions(sync=False).sessions])
    memory.embedding.run()
    return memory


def parts(memory: Memory) -> dict[str, DeepPart]:
    memory.close()
    report = memory.maintenance.verify_deep()
    assert report.ok == all(part.ok for part in report.deep)
    assert not (memory.home / "verify").exists()
    return {part.name: part for part in report.deep}


def documents(memory: Memory) -> list[IndexDoc]:
    return documents_of(event for event in memory.reader().events_for_index() if not event.is_hidden)


def change(memory: Memory, statement: str, *values: object) -> None:
    memory.close()
    db = apsw.Connection(str(memory.home / DATABASE_NAME))
    db.execute(statement, values)  # type: ignore[arg-type]
    assert db.changes() > 0
    db.close()


def test_a_sound_memory_is_derived_again_as_it_is(memory: Memory) -> None:
    found = parts(memory)
    assert [name for name, part in found.items() if not part.ok] == []
    assert set(found) == {"sessions", "events", "ledger", "usage", "blobs", "index", "vectors", "digests"}
    assert [name for name, part in found.items() if not part.checked] == []
    assert found["digests"].checked == 2


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("UPDATE session SET turn_count = turn_count + 1 WHERE number = 1", "sessions"),
        ("UPDATE session SET uid = 'claude:another' WHERE number = 2", "sessions"),
        ("UPDATE event SET ts = ts + 1 WHERE key = (SELECT min(key) FROM event WHERE ts IS NOT NULL)", "events"),
        ("DELETE FROM event WHERE key = (SELECT max(key) FROM event)", "events"),
        ("UPDATE revision SET unknown = unknown + 1 WHERE source = 1", "ledger"),
        ("UPDATE usage SET output = output + 1", "usage"),
        ("DELETE FROM blob", "blobs"),
        ("UPDATE digest SET json = replace(json, 'event_count\":', 'event_count\":9') WHERE analysis = 1", "digests"),
        ("DELETE FROM node WHERE kind <> 3 AND number = (SELECT min(number) FROM node)", "digests"),
    ],
)
def test_a_changed_row_is_named(memory: Memory, statement: str, part: str) -> None:
    change(memory, statement)
    assert not parts(memory)[part].ok


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("DELETE FROM session WHERE number = 2", "the session of a stored event is missing"),
        ("DELETE FROM block WHERE key >> 24 = 2", "the body of a stored event is missing"),
        ("UPDATE event SET source = 99 WHERE key >> 24 = 2", "the source of a stored event is missing"),
    ],
)
def test_rows_that_dangle_are_counted_and_the_rest_is_looked_at(memory: Memory, statement: str, what: str) -> None:
    change(memory, statement)
    found = parts(memory)
    details = [d.detail for name in ("events", "index") for d in found[name].differences]
    assert any(what in detail for detail in details)
    assert found["ledger"].ok
    assert found["events"].checked > 0


def test_documents_that_are_missing_or_too_many_are_named(memory: Memory) -> None:
    with IndexWriterSet.open(memory.home / "index" / "text") as index:
        (gone, other, *_) = [document.key for document in documents(memory)]
        index.delete([gone])
    found = parts(memory)["index"]
    assert [d.detail for d in found.differences] == [f"documents of event key {gone} are missing"]
    memory.maintenance.rebuild("index")
    assert parts(memory)["index"].ok
    (shard, *_) = memory.reader().shards()
    with IndexWriterSet.open(memory.home / "index" / "text") as index:
        index.add([IndexDoc(other, other >> 24, shard, '"kind":"user_message","text":"stray"}')])
        index.add([IndexDoc(999 << 24, 999, shard, '"kind":"user_message","text":"stray"}')])
    details = [d.detail for d in parts(memory)["index"].differences]
    assert f"documents of event key {other} should not be there" in details
    assert "1 document is of sessions that are not stored" in details


def test_a_document_with_other_words_is_named(memory: Memory) -> None:
    (first, *_) = documents(memory)
    with IndexWriterSet.open(memory.home / "index" / "text") as index:
        index.delete([first.key])
        index.add([IndexDoc(first.key, first.session, first.shard, '"kind":"user_message","text":"other"}')])
    assert any("words not found" in d.detail for d in parts(memory)["index"].differences)


def test_a_lost_shard_is_named(memory: Memory) -> None:
    memory.close()
    for shard in (memory.home / "index" / "text").iterdir():
        if shard.is_dir():
            shutil.rmtree(shard)
    assert not parts(memory)["index"].ok


def test_vectors_that_are_not_those_of_their_texts_are_named(memory: Memory) -> None:
    memory.close()
    (codes,) = (memory.home / "index" / "vectors").rglob("codes")
    codes.write_bytes((-np.frombuffer(codes.read_bytes(), np.int8)).astype(np.int8).tobytes())
    assert any("not that of its text" in d.detail for d in parts(memory)["vectors"].differences)
    (keys,) = (memory.home / "index" / "vectors").rglob("keys")
    rows = np.frombuffer(keys.read_bytes(), np.int64).copy()
    rows[0] = 1 << 40
    keys.write_bytes(rows.tobytes())
    details = [d.detail for d in parts(memory)["vectors"].differences]
    assert "has a vector and is no text that a search may find" in details
    assert "has no vector" in details


def test_nothing_is_taken_in_meanwhile(memory: Memory) -> None:
    lock = IngestLock(memory.home)
    try:
        with pytest.raises(StoreLocked):
            memory.maintenance.verify_deep()
    finally:
        lock.release()


def test_what_was_forgotten_or_evicted_on_purpose_is_no_difference(memory: Memory) -> None:
    one = min(s.session_uid for s in memory.sessions(sync=False).sessions)
    memory.maintenance.forgetting.run(ForgetSelection(pattern="zanzibar", session=one))
    found = parts(memory)
    assert {name: part.differences for name, part in found.items() if not part.ok} == {}
    assert found["events"].skipped == found["sessions"].skipped == 1
    memory.config = Config(retention=RetentionConfig(raw_soft_cap_bytes=0))
    assert memory.maintenance.retention.evict().sessions
    found = parts(memory)
    assert {name: part.differences for name, part in found.items() if not part.ok} == {}
    assert found["sessions"].skipped


def test_what_a_session_did_about_its_own_decision_is_no_difference(memory: Memory, tmp_path: Path) -> None:
    one = ClaudeTranscript(tmp_path / "claude", "bound")
    one.user("Use Postgres instead of MySQL because it has better JSON support.")
    one.write("postgres.py", "import psycopg\n")
    one.assistant("Done: it uses Postgres now.")
    memory.sync()
    memory.distilling.run(sessions=[one.uid])
    kinds = {kind_of_node(item.node) for item in memory.distilled().nodes(NodeFilter(sessions=(one.uid,)))}
    assert "binding" in kinds
    assert parts(memory)["digests"].ok
