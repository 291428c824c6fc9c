"""A source that is rewritten: what got shorter was rewound, and one event says by how much; what grew says nothing."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from recollect.config import AgentConfig, Config
from recollect.ingest.worker import trail
from recollect.memory import Memory
from recollect.model.payloads import Rewind
from tests.capture.conftest import Desk


def page(desk: Desk, *notes: str, folder: str = "pages", **members: Any) -> None:
    """Write a document of notes; one that begins with "=" is a compaction."""
    written = [
        {"id": note, "compacted": note[1:]} if note.startswith("=") else {"id": note.split()[0], "say": note}
        for note in notes
    ]
    desk.put(f"{folder}/p.json", {**members, "notes": written})
    desk.sync()


def test_a_shorter_version_gives_one_rewind_that_counts_the_turns(desk: Desk) -> None:
    page(desk, "n1", "n2", "n3", "n4")
    page(desk, "n1", "n2")
    assert desk.dropped("p") == [2]
    assert desk.said("p") == ["n1", "n2", "n3", "n4"]


def test_growth_and_other_members_and_changed_texts_give_none(desk: Desk) -> None:
    page(desk, "n1", "n2")
    page(desk, "n1", "n2", "n3")
    page(desk, "n1", "n2", "n3", title="changed")
    page(desk, "n1", "n2 in other words", "n3")
    page(desk, "n0", "n1", "n2", "n3")
    assert desk.dropped("p") == []


def test_a_compaction_in_the_shorter_version_says_it_all(desk: Desk) -> None:
    page(desk, "n1", "n2", "n3")
    page(desk, "=of the first two", "n3")
    assert desk.dropped("p") == []
    page(desk, "=of the first two", "n3", "n4")
    assert desk.dropped("p") == []


def test_a_compaction_that_was_there_before_excuses_nothing(desk: Desk) -> None:
    page(desk, "=earlier", "n1", "n2", "n3")
    page(desk, "=earlier", "n1")
    assert desk.dropped("p") == [2]


def test_the_way_back_and_forth_gives_a_rewind_for_each_way_back(desk: Desk) -> None:
    page(desk, "n1", "n2", "n3")
    page(desk, "n1")
    page(desk, "n1", "m2", "m3", "m4")
    page(desk, "n1", "m2")
    assert desk.dropped("p") == [2, 2]


def test_a_turn_that_was_replaced_is_left_behind(desk: Desk) -> None:
    page(desk, "n1", "wrong")
    page(desk, "n1", "right")
    assert desk.dropped("p") == [1]


def test_an_agent_that_tells_its_rewinds_gets_none_inferred(desk: Desk) -> None:
    page(desk, "n1", "n2", "n3", folder="told")
    page(desk, "n1", folder="told")
    assert desk.dropped("p") == []


@pytest.mark.parametrize("broken", ['{"notes": [{"id": "n1", "sa', "", "no document at all"])
def test_a_version_that_cannot_be_read_is_no_rewind_and_hides_none(desk: Desk, broken: str) -> None:
    page(desk, "n1", "n2", "n3")
    desk.put("pages/p.json", broken)
    desk.sync()
    assert desk.dropped("p") == []
    page(desk, "n1", "n2", "n3")
    assert desk.dropped("p") == []
    desk.put("pages/p.json", broken)
    desk.sync()
    page(desk, "n1")
    assert desk.dropped("p") == [2]
    before = desk.events("p")
    desk.memory.maintenance.rebuild("all")
    assert desk.events("p") == before


def test_a_rebuild_gives_the_same_rewinds(desk: Desk) -> None:
    page(desk, "n1", "n2", "n3", "n4")
    page(desk, "n1", "n2")
    page(desk, "n1", "n2", "n5")
    before = desk.events("p")
    assert desk.dropped("p") == [2]
    desk.memory.maintenance.rebuild("all")
    assert desk.events("p") == before
    page(desk, "n1")
    assert desk.dropped("p") == [2, 2]


def test_rows_that_are_gone_are_a_rewind_before_the_first_new_turn(desk: Desk) -> None:
    db = sqlite3.connect(desk.root / "book.db")
    db.execute("CREATE TABLE note (id TEXT, book TEXT, at INTEGER, body TEXT)")

    def add(*names: str) -> None:
        rows = [(n, "b", int(n[1:]), json.dumps({"id": n, "say": n})) for n in names]
        db.executemany("INSERT INTO note VALUES (?, ?, ?, ?)", rows)
        db.commit()
        desk.sync()

    add("n1", "n2", "n3")
    db.execute("DELETE FROM note WHERE at > 1")
    add("n4", "n5")
    db.close()
    assert desk.dropped("b") == [2]
    told = [e.kind if isinstance(e.payload, Rewind) else e.event_id for e in desk.events("b")]
    assert told.index("rewind") < told.index("n4")


def test_many_turns_are_remembered_up_to_a_bound(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail, "MAX_TURNS", 3)
    page(desk, "n1", "n2", "n3", "n4", "n5")
    (source,) = desk.memory.reader().sources()
    assert len(source.trail) < 100
    page(desk, "n1", "n2", "n3", "n4")
    assert desk.dropped("p") == []
    page(desk, "n1")
    assert desk.dropped("p") == [2]


def test_a_real_agent_whose_history_is_cut_and_goes_on(tmp_path: Path) -> None:
    root = tmp_path / "continue"
    path = root / "sessions/0d5c1b2a-1111-4222-8333-444455556666.json"
    path.parent.mkdir(parents=True)
    config = Config(agents={"continue": AgentConfig(variables={"CONTINUE_GLOBAL_DIR": str(root)})})

    def said(*turns: str) -> list[dict[str, Any]]:
        roles = ("user", "assistant")
        return [{"message": {"role": roles[i % 2], "content": t}, "contextItems": []} for i, t in enumerate(turns)]

    with Memory.open(tmp_path / "home", config=config, env={"HOME": str(tmp_path)}) as memory:
        for history in (said("First.", "One.", "Wrong.", "Oops."), said("First.", "One.", "Second.", "Two.")):
            session = {"sessionId": path.stem, "title": "t", "workspaceDirectory": "/w", "history": history}
            path.write_text(json.dumps(session))
            memory.sync(agents=["continue"])
        payloads = [e.payload for e in memory.events(f"continue:{path.stem}")]
    assert [p.turns_dropped for p in payloads if isinstance(p, Rewind)] == [1]
