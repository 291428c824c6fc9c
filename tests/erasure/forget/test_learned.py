"""What was learned, noted and documented of a session, with a text or of a repository is gone out of every byte."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import apsw
import msgspec
import pytest

from recollect.erasure import forget as running
from recollect.memory import ForgetSelection, Memory
from recollect.model.learnings.learnings import Learning, LearningEvidence
from recollect.model.learnings.notes import DiaryEntry, Fact
from recollect.store.connection import open_database
from recollect.store.documents import Collection
from recollect.store.entries import put_entries
from recollect.store.learnings import Verdict
from recollect.store.notes import put_diary, put_fact
from recollect.testing.builders import ClaudeTranscript
from tests.erasure.forget.nowhere import holding
from tests.erasure.forget.test_crash import killed
from tests.erasure.forget.test_forgetting import SECRET, forget
from tests.ingest.conftest import World
from tests.ingest.entries.noted import draft

START = datetime(2026, 8, 1, 9, 0, tzinfo=UTC)
OTHER = "wombatfrob"
"""A word that stands in what is to stay."""


def add_learning(db: apsw.Connection, learning_id: str, texts: dict[str, str], *, repo: str = "shop") -> None:
    """Add a learning that each of some sessions says in its own words."""
    evidence = [
        LearningEvidence(session_uid=uid, event_id=f"e-{learning_id}", part=0, author="user", quote=text)
        for uid, text in texts.items()
    ]
    said = {
        e.session_uid: Learning(
            id=learning_id, kind="fact", text=e.quote, scope="repo", repo=repo, evidence=(e,), updated_at=1
        )
        for e in evidence
    }
    first = next(iter(said.values()))
    db.execute(
        "INSERT INTO learning VALUES (?, 'fact', 'repo', ?, '', '', 'derived', 'active', 0.5, 1, NULL, 1, '', ?)",
        (learning_id, repo, _row(first)),
    )
    for uid, learning in said.items():
        db.execute("INSERT INTO learning_sighting VALUES (?, ?, 'rules', ?)", (learning_id, uid, _row(learning)))
        add_evidence(db, learning_id, learning.evidence[0])
    put_entries(db, [draft(f"learning:{learning_id}", first.text, repo=repo, session_uid=evidence[0].session_uid)])


def add_sighting(db: apsw.Connection, learning_id: str, uid: str, text: str, event_id: str) -> None:
    """Have one more session say a learning, in its own words."""
    seen = LearningEvidence(session_uid=uid, event_id=event_id, part=0, author="user", quote=text)
    said = Learning(id=learning_id, kind="fact", text=text, scope="repo", repo="shop", updated_at=1)
    db.execute("INSERT INTO learning_sighting VALUES (?, ?, 'rules', ?)", (learning_id, uid, _row(said)))
    add_evidence(db, learning_id, seen)


def add_evidence(db: apsw.Connection, learning_id: str, seen: LearningEvidence) -> None:
    """Have a learning rest on one more event."""
    db.execute(
        "INSERT INTO learning_evidence VALUES (?, ?, ?, 0, 0, ?)",
        (learning_id, seen.session_uid, seen.event_id, msgspec.json.encode(seen).decode()),
    )


def _row(learning: Learning) -> str:
    """A learning as it lies in its row, the evidence apart."""
    return msgspec.json.encode(msgspec.structs.replace(learning, evidence=())).decode()


def add_waiting(db: apsw.Connection, uid: str, text: str) -> None:
    """Add what the worker keeps of a session: a job, what was held back, what was spent."""
    values = (sha256(text.encode()).hexdigest(), uid, text)
    db.execute("INSERT INTO job VALUES (?, 'model', ?, 'dead', 1, 1, 0, '', 5, ?, '{}')", values)
    db.execute("INSERT INTO quarantine VALUES (?, ?, 1, 'imperative', ?)", values)


@pytest.fixture
def learned(world: World) -> Memory:
    one, two = world.claude("one"), world.claude("two")
    one.user(f"please use {SECRET} for the payments")
    one.assistant("We did that, because it is faster.")
    two.user(f"please use {OTHER} for the payments")
    world.memory.sync()
    with open_database(world.memory.home, "write") as db:
        add_learning(db, "l-one", {one.uid: f"Payments use {SECRET}"})
        add_learning(db, "l-both", {one.uid: f"{SECRET} is fast", two.uid: f"{OTHER} is fast"})
        add_learning(db, "l-two", {two.uid: f"Payments use {OTHER}"}, repo="bank")
        add_waiting(db, one.uid, f"held back {SECRET}")
        add_waiting(db, two.uid, f"held back {OTHER}")
        put_fact(db, Fact(id="f-agent", subject="payments", predicate="use", object=SECRET, source="agent",
                          reference=f"{one.uid}#0", recorded_at=1))  # fmt: skip
        put_fact(db, Fact(id="f-seed", subject=SECRET, predicate="is", object="fast", source="learning",
                          reference="learning:l-both", recorded_at=1))  # fmt: skip
        put_fact(db, Fact(id="f-person", subject="payments", predicate="use", object=OTHER, recorded_at=1,
                          reference=f"{one.uid}#0"))  # fmt: skip
        put_diary(db, DiaryEntry(id="d-one", agent="claude", text=f"moved to {SECRET}", written_at=1,
                                 sessions=(one.uid,)))  # fmt: skip
        put_diary(db, DiaryEntry(id="d-both", agent="claude", text=f"moved to {OTHER}", written_at=1, repo="bank",
                                 sessions=(one.uid, two.uid)))  # fmt: skip
        db.execute("INSERT INTO tag VALUES ('release', ?, 1)", (one.uid,))
        collection = Collection(name="docs", folder=str(world.root / "docs"), repo="bank", added_at=1)
        db.execute(
            "INSERT INTO collection VALUES ('docs', ?, 'bank', 1, ?)",
            (collection.folder, msgspec.json.encode(collection).decode()),
        )
    (world.root / "docs").mkdir()
    (world.root / "docs" / "a.md").write_text(f"All about {OTHER}")
    (world.root / "docs" / "b.md").write_text("nothing")
    world.memory.sync()
    assert world.memory.search(f"kind:learning,fact,diary {SECRET}").hits
    return world.memory


def uids(memory: Memory) -> set[str]:
    db = open_database(memory.home, "read")
    try:
        return {uid for (uid,) in db.execute("SELECT uid FROM entry")}
    finally:
        db.close()


def test_with_a_session_goes_what_was_learned_and_noted_of_it(world: World, learned: Memory) -> None:
    one = world.claude("one").uid
    report = forget(learned, session=one)
    assert (report.state, report.notes) == ("done", [])
    assert holding(learned, SECRET) == []
    assert holding(learned, one) == []
    assert uids(learned) == {
        "learning:l-both", "learning:l-two", "fact:f-person", "diary:d-both", "document:docs/a.md",
        "document:docs/b.md",
    }  # fmt: skip
    assert [hit.snippet for hit in learned.search("kind:learning fast").hits] == [f"{OTHER} is fast"]
    assert [hit.session_uid for hit in learned.search(f"kind:diary {OTHER}").hits] == ["diary:d-both"]


def test_with_a_text_goes_everything_that_says_it_wherever_it_stands(learned: Memory) -> None:
    planned = learned.maintenance.forgetting.plan(ForgetSelection(pattern=OTHER))
    assert planned.written == 5
    report = forget(learned, pattern=OTHER)
    assert (report.state, report.partial_sessions + report.whole_sessions) == ("done", 1)
    assert holding(learned, OTHER) == []
    assert uids(learned) == {"learning:l-one", "fact:f-agent", "fact:f-seed", "diary:d-one", "document:docs/b.md"}
    assert learned.search(f"kind:fact {SECRET}").total == 2
    with open_database(learned.home, "read") as db:
        assert db.execute("SELECT count(*) FROM document_kept_out").get == 6  # with the one that was held back
    assert {group.kind: group.count for group in learned.maintenance.forgetting.listed().groups}["written"] == 6


def test_what_no_session_says_is_forgotten_by_its_text_too(learned: Memory) -> None:
    with open_database(learned.home, "write") as db:
        put_fact(db, Fact(id="f-lone", subject="gnarlwump", predicate="is", object="gone", recorded_at=1))
    learned.sync()
    assert forget(learned, pattern="Gnarlwump").state == "nothing"
    report = forget(learned, pattern="gnarlwump")
    assert (report.state, report.written, report.events) == ("done", 1, 0)
    assert holding(learned, "gnarlwump") == []
    assert forget(learned, pattern="gnarlwump").state == "nothing"


def test_of_a_repository_nothing_stays(learned: Memory) -> None:
    assert forget(learned, repo="bank").state == "done"
    assert not uids(learned) & {"learning:l-two", "diary:d-both", "document:docs/a.md", "document:docs/b.md"}
    assert "learning:l-one" in uids(learned)


@pytest.mark.skipif(os.name == "nt", reason="fork and SIGKILL are POSIX")
@pytest.mark.parametrize("step", ["make_promised", "remake_shards", "compact"])
def test_killed_on_the_way_a_text_is_gone_after_the_next_sync(world: World, learned: Memory, step: str) -> None:
    learned.close()

    def run() -> None:
        with world.again() as again:
            forget(again, pattern=OTHER)

    assert killed(run, (running, step))
    learned.sync()
    assert holding(learned, OTHER) == []


def test_forgetting_a_span_takes_only_what_was_learned_in_it(world: World) -> None:
    one = ClaudeTranscript(world.claude_home, "one", start=START)
    two = ClaudeTranscript(world.claude_home, "two", start=START + timedelta(days=1))
    morning = one.user(f"please use {SECRET} for the payments")
    one._at = START + timedelta(hours=5)
    noon = one.user(f"please use {OTHER} for the payments")
    two.user("something else")
    world.memory.sync()
    with open_database(world.memory.home, "write") as db:
        for name in ("l-early", "l-late", "l-both", "l-shared"):
            add_learning(db, name, {one.uid: f"said of {name}"})
        add_sighting(db, "l-shared", two.uid, f"{OTHER} is shared", "e-two")
        rest = {"l-early": [morning], "l-late": [noon], "l-both": [morning, noon], "l-shared": [morning]}
        for name, events in rest.items():
            db.execute("DELETE FROM learning_evidence WHERE learning = ? AND session_uid = ?", (name, one.uid))
            for event in events:
                quote = SECRET if event == morning else OTHER
                add_evidence(db, name, LearningEvidence(one.uid, event, 0, "user", quote=f"use {quote}"))
            db.execute(
                "INSERT INTO verdict VALUES (?, 1, 1, 'confirm', ?)",
                (name, msgspec.json.encode(Verdict(verdict="confirm", at=1)).decode()),
            )
            put_fact(db, Fact(id=f"f-{name}", subject="it", predicate="is", object=name, source="learning",
                              reference=f"learning:{name}", recorded_at=1))  # fmt: skip
    before = int((START + timedelta(hours=3)).timestamp() * 1_000_000)
    assert forget(world.memory, before=before).partial_sessions == 1
    assert holding(world.memory, SECRET) == []
    with open_database(world.memory.home, "read") as db:
        kept = {name for (name,) in db.execute("SELECT id FROM learning")}
        confirmed = {name for (name,) in db.execute("SELECT learning FROM verdict")}
        facts = {name for (name,) in db.execute("SELECT id FROM fact")}
        said = dict(db.execute("SELECT id, json ->> '$.text' FROM learning").fetchall())
    assert kept == confirmed == {"l-late", "l-both", "l-shared"}
    assert facts == {"f-l-late"}  # what rests on a learning that changed is made of it anew
    assert said == {"l-late": "said of l-late", "l-both": f"use {OTHER}", "l-shared": f"{OTHER} is shared"}
