"""What was learned of a session that is forgotten goes; every text of learning can be redacted anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import msgspec
import pytest

from recollect.model.learnings.learnings import Learning, LearningEvidence
from recollect.store.connection import open_database
from recollect.store.erasure.note_rows import Keeping, forget_sessions, saying, take_away
from recollect.store.jobs import Job
from recollect.store.learnings import BY_RULES, LearningStore, Quarantined, Sighting, Verdict, open_learning_store

TABLES = ("learning", "learning_sighting", "learning_evidence", "verdict", "job", "quarantine", "entry")


def said(name: str, session: str, text: str) -> Sighting:
    evidence = (LearningEvidence(session, f"e-{session}", 0, "user", 1, 5, f"quote of {text}"),)
    return Sighting(
        session, BY_RULES, Learning(id=name, kind="fact", text=text, scope="repo", repo="r", evidence=evidence)
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LearningStore]:
    with open_learning_store(tmp_path) as opened:
        with opened.transaction():
            sightings = [
                said("l1", "claude:a", "ONLY-A"),
                said("l2", "claude:a", "Both"),
                said("l2", "claude:b", "both"),
            ]
            opened.put_sightings(sightings, [])
            opened.save([sightings[0].learning, sightings[1].learning], [], [])
            opened.add_verdict("l1", Verdict(verdict="retire", at=1, reason="about ONLY-A"))
            opened.queue.add([Job("model:x", "model", "claude:a", b'{"turns":[1]}')])
            opened.add_quarantined([Quarantined("q1", "claude:a", 1, "malformed", "ONLY-A again")])
        yield opened


def contents(home: Path) -> str:
    """Return every value of every row of learning."""
    db = open_database(home, "read")
    try:
        return str([db.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES])
    finally:
        db.close()


def database(store: LearningStore) -> apsw.Connection:
    return store._db


def test_a_forgotten_session_leaves_nothing_and_what_others_say_stays_in_their_words(
    store: LearningStore, tmp_path: Path
) -> None:
    with store.transaction():
        assert forget_sessions(database(store), ("claude:a",)) == 1
    left = contents(tmp_path)
    assert "ONLY-A" not in left
    assert "claude:a" not in left
    assert "Both" not in left
    (known,) = store.known(["l1", "l2"])
    assert known.kept is not None
    assert (known.id, known.kept.text) == ("l2", "both")
    assert store.queue.next_due_at(("relate",), now_us=9) == 0  # how sure it is now is computed by the next run


def test_the_last_session_that_speaks_of_it_takes_a_learning_along(store: LearningStore, tmp_path: Path) -> None:
    with store.transaction():
        assert forget_sessions(database(store), ("claude:a", "claude:b")) == 2
    assert store.known(["l1", "l2"]) == []
    assert "relate:r" not in contents(tmp_path)


def test_what_a_person_wrote_down_stays_when_a_session_that_says_it_too_goes(store: LearningStore) -> None:
    with store.transaction():
        written = msgspec.structs.replace(said("l1", "", "ONLY-A").learning, evidence=())
        store.add_verdict("l1", Verdict(verdict="said", at=2, learning=written))
        assert forget_sessions(database(store), ("claude:a",)) == 0
    assert [known.id for known in store.known(["l1"])] == ["l1"]


def test_a_text_that_has_to_go_takes_all_that_says_it(store: LearningStore, tmp_path: Path) -> None:
    with store.transaction():
        meant = saying(database(store), lambda text: "ONLY-A" in text)
        assert set(meant.marks) == {"learning:l1", "held:q1"}
        assert take_away(database(store), meant, Keeping(str.encode, 1)) == 1
    assert "ONLY-A" not in contents(tmp_path)
    assert [known.id for known in store.known(["l1", "l2"])] == ["l2"]
