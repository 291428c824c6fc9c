"""Notes in the database: entries for searches, many writers, and writers that were killed."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import pytest

from recollect.errors import StoreLocked
from recollect.insights.notes.facts import NewFact, add_fact, end_fact, retract_fact
from recollect.model.learnings.notes import Batch, DiaryEntry, Fact
from recollect.ready_blocks import FOLDER, STAMP
from recollect.store import notes as undoing
from recollect.store.connection import open_database
from recollect.store.entries import read_glossary
from recollect.store.notes import DiaryQuestion, FactQuestion, NoteStore, TagRow, changed_fact, cut_parts, undo_batch
from tests import program

NOW = 1_785_574_800_000_000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "memory"


def entry(name: str, **also: object) -> DiaryEntry:
    fields = {"id": name, "agent": "claude", "text": f"{name} went well", "written_at": NOW, **also}
    return DiaryEntry(**fields)  # type: ignore[arg-type]


def entries(home: Path) -> dict[str, tuple[str, str]]:
    """Return what a search may find: by uid, its state and the number of its parts."""
    db = open_database(home, "read")
    try:
        return {uid: (state, parts) for uid, state, parts in db.execute("SELECT uid, state, parts FROM entry")}
    finally:
        db.close()


def test_a_fact_is_found_in_the_state_that_it_is_in(home: Path) -> None:
    with NoteStore(home).writing() as notes:
        held = add_fact(notes, NewFact(subject="a", predicate="uses", object="b"), now_us=NOW).fact
        ended = add_fact(notes, NewFact(subject="a", predicate="uses", object="c"), now_us=NOW).fact
        wrong = add_fact(notes, NewFact(subject="a", predicate="uses", object="d"), now_us=NOW).fact
        end_fact(notes, ended, ended=NOW, now_us=NOW)
        retract_fact(notes, wrong, now_us=NOW)
    states = {f"fact:{held.id}": "holds", f"fact:{ended.id}": "ended", f"fact:{wrong.id}": "retracted"}
    assert {uid: state for uid, (state, _parts) in entries(home).items()} == states


def test_diaries_are_read_newest_first_and_by_what_is_asked_for(home: Path) -> None:
    with NoteStore(home).writing() as notes:
        notes.put_diary(entry("d1", written_at=NOW, repo="shop", sessions=("claude:1",)))
        notes.put_diary(entry("d2", written_at=NOW + 1, agent="codex", repo="shop"))
        notes.put_diary(entry("d3", written_at=NOW + 2, retired_at=NOW + 3))
    with NoteStore(home).reading() as notes:

        def ids(**where: object) -> list[str]:
            return [found.id for found in notes.diary(DiaryQuestion(**where))]  # type: ignore[arg-type]

        assert ids() == ["d2", "d1"]
        assert ids(is_history=True) == ["d3", "d2", "d1"]
        assert ids(agent="codex") == ["d2"]
        assert ids(repo="shop") == ["d2", "d1"]
        assert ids(session="claude:1") == ["d1"]
        assert ids(after=NOW + 1) == ["d2"]
        assert ids(before=NOW + 1) == ["d1"]


def test_a_long_entry_is_cut_into_parts_that_are_it_again() -> None:
    text = "word " * 12_000
    parts = cut_parts(text)
    assert "".join(parts) == text
    assert max(map(len, parts)) <= 16_384
    assert len(cut_parts("x" * 40_000)) == 3


def test_the_glossary_goes_both_ways_and_only_as_long_as_it_holds(home: Path) -> None:
    with NoteStore(home).writing() as notes:
        for word, other in (("K8s", "Kubernetes"), ("k8s", "kube"), ("old", "new")):
            add_fact(notes, NewFact(subject=word, predicate="means", object=other), now_us=NOW)
        gone = notes.facts(FactQuestion(subject="old"))[0]
        end_fact(notes, gone, ended=NOW, now_us=NOW)
        words = read_glossary(notes.db, now_us=NOW)
    assert words == {"k8s": ("kube", "kubernetes"), "kubernetes": ("k8s",), "kube": ("k8s",)}


def test_tags_are_kept_once(home: Path) -> None:
    with NoteStore(home).writing() as notes:
        assert notes.tag("claude:1", "release", NOW)
        assert not notes.tag("claude:1", "release", NOW + 1)
        assert notes.tags(name="release") == [TagRow("release", "claude:1", NOW)]
        assert notes.untag("claude:1", "release")
        assert not notes.untag("claude:1", "release")


def test_what_is_written_takes_ready_blocks_away(home: Path) -> None:
    with NoteStore(home).writing() as notes:
        stamp = home / FOLDER / STAMP
        stamp.parent.mkdir()
        stamp.write_text("{}")  # somebody made blocks while this was being written
        notes.tag("claude:1", "x", NOW)
    assert not stamp.exists()


def test_undoing_keeps_history_and_what_people_said_since(home: Path) -> None:
    batch, store = Batch(id="b1", kind="import", started_at=NOW), NoteStore(home)
    with store.writing() as notes:
        notes.put_batch(batch)
        mine = add_fact(notes, NewFact(subject="a", predicate="uses", object="mine"), now_us=NOW).fact
        theirs = add_fact(notes, NewFact(subject="a", predicate="uses", object="b"), now_us=NOW, batch="b1").fact
        notes.put_diary(entry("d1", batch="b1"))
        notes.put_diary(entry("d2"))
    assert undo_batch(store, batch, at=NOW + 5) == (1, 1, 0, False)
    with store.reading() as notes:
        (undone,) = notes.named_batches("b1")
    assert undone.undone_at == NOW + 5
    assert undo_batch(store, undone, at=NOW + 9) == (0, 0, 0, False)
    with store.reading() as notes:
        assert notes.named_batches("b1") == [undone]
        assert [fact.id for fact in notes.facts(FactQuestion())] == [mine.id]
        assert notes.facts(FactQuestion(known_at=NOW + 1, object="b"))[0].id == theirs.id
        assert [found.id for found in notes.diary(DiaryQuestion())] == ["d2"]
    assert entries(home)["diary:d1"][0] == "retired"


def test_an_undo_that_was_cut_short_goes_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undoing, "_GROUP", 2)
    batch, store = Batch(id="b1", kind="import", started_at=NOW), NoteStore(home)
    with store.writing() as notes:
        notes.put_batch(batch)
        for number in range(5):
            add_fact(notes, NewFact(subject="a", predicate="uses", object=f"o{number}"), now_us=NOW, batch="b1")
    calls = 0

    def cut_short(fact: Fact, **how: object) -> Fact:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return changed_fact(fact, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(undoing, "changed_fact", cut_short)
    with pytest.raises(KeyboardInterrupt):
        undo_batch(store, batch, at=NOW + 5)
    with store.reading() as notes:
        assert len(notes.facts(FactQuestion())) == 3  # one transaction of two is kept, the other is not
        (undone,) = notes.named_batches("b1")
    assert undo_batch(store, undone, at=NOW + 9).facts == 3


def test_a_transaction_that_fails_keeps_nothing(home: Path) -> None:
    def fail() -> None:
        with NoteStore(home).writing() as notes:
            notes.put_diary(entry("d1"))
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half"):
        fail()
    with NoteStore(home).reading() as notes:
        assert notes.diary(DiaryQuestion(is_history=True)) == []
    assert entries(home) == {}


def test_writers_at_once_lose_and_double_nothing(home: Path) -> None:
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for turn in range(8):
                with NoteStore(home).writing() as notes:
                    said = NewFact(subject="shop", predicate="uses", object=f"tool {turn}")
                    add_fact(notes, said, now_us=NOW + turn)
                    notes.put_diary(entry(f"d{number}-{turn}"))
        except BaseException as error:  # noqa: BLE001  told by the test
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with NoteStore(home).reading() as notes:
        assert len(notes.facts(FactQuestion(is_history=True))) == 8
        assert len(notes.diary(DiaryQuestion())) == 32


def test_a_writer_that_holds_on_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.store.connection.BUSY_TIMEOUT_MS", 20)
    with NoteStore(home).writing(), pytest.raises(StoreLocked), NoteStore(home).writing():
        pass


KILLED = """
import os, sys, apsw
from pathlib import Path
from recollect.insights.notes.facts import NewFact, supersede_fact
from recollect.store import notes as undoing
from recollect.store.notes import NoteStore
left = int(sys.argv[2])
def count(*_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), 9)
    return True
with NoteStore(Path(sys.argv[1])).writing() as notes:
    notes.db.exec_trace = count
    supersede_fact(notes, NewFact(subject="shop", predicate="runs_on", object="3.12"), at=20, now_us=5000)
print("whole")
"""


def test_a_writer_killed_between_any_two_statements_leaves_all_or_nothing(home: Path) -> None:
    with NoteStore(home).writing() as notes:
        add_fact(notes, NewFact(subject="shop", predicate="runs_on", object="3.11", valid_from=1), now_us=NOW)
    for statements in range(0, 200, 5):
        done = program.run_script(KILLED, home, statements)
        with NoteStore(home).reading() as notes:
            told = {fact.object: fact.valid_to for fact in notes.facts(FactQuestion(is_history=True))}
        if done.stdout == "whole\n":
            assert told == {"3.11": 20, "3.12": None}
            break
        assert done.returncode == -9, done.stderr
        assert told == {"3.11": None}
        assert len(entries(home)) == 1
    else:
        raise AssertionError("it never came to its end")
    db = apsw.Connection(str(home / "memory.db"))
    assert db.execute("PRAGMA integrity_check").get == "ok"
    db.close()
