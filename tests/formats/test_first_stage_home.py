"""A home that the first stage wrote opens, without any agent's file: what was read, learned, written and forgotten.

`home_v7.tar.zst` is such a home, of the bundled sample. One session of it was forgotten; a person added a fact, a diary
entry, a tag, a pin, a decision and a folder of documents, and confirmed a learning.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard

from recollect.memory import Memory
from tests import program

REVIEW = "codex:01a13018-0920-7667-b4a8-ac9cab02ed63"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first") / "memory"
    with (
        zstandard.open(Path(__file__).parent / "home_v7.tar.zst", "rb") as unpacked,
        tarfile.open(fileobj=io.BytesIO(unpacked.read())) as archive,
    ):
        archive.extractall(folder, filter="data")
    numbered.update(numbers(folder))
    asked(folder, "sync")
    return folder


numbered: set[tuple[Any, ...]] = set()
"""The numbers of the events before the home was opened."""


def numbers(home: Path) -> set[tuple[Any, ...]]:
    """Return what every number names, from the database itself."""
    with closing(sqlite3.connect(home / "memory.db")) as db:
        return {*db.execute("SELECT uid, key & 16777215, event_id, part FROM event JOIN session ON number = key >> 24")}


def test_every_number_that_was_cited_names_the_same_event_after_a_rebuild(home: Path) -> None:
    assert numbered
    assert numbers(home) == numbered
    asked(home, "rebuild", "all")
    assert numbers(home) == numbered


def asked(home: Path, *arguments: str) -> Any:
    """Return what a command says as JSON, on a machine where no agent ever ran."""
    env = {**os.environ, "HOME": str(home.parent), "RECOLLECT_HOME": str(home), "RECOLLECT_BACKGROUND": "0"}
    env |= {name: str(home.parent / "nothing") for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME")}
    done = program.run_text(*arguments, "--json", env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_event_is_there_and_every_byte_can_be_given_back(home: Path) -> None:
    assert asked(home, "sessions")["total"] == 10
    assert asked(home, "verify", "--deep")["ok"]
    [hit, *_] = asked(home, "search", "support team has screenshots", "agent:claude")["hits"]
    assert (hit["session_uid"], hit["seq"]) == ("claude:11d9a9f4-82b0-40d8-8577-fb9e532c57df", 5)


def test_what_people_wrote_is_there(home: Path) -> None:
    [fact] = asked(home, "facts")["facts"]
    assert (fact["id"], fact["subject"], fact["object"]) == ("f0661786923ed8f29bfe1", "shop-api", "Python 3.12")
    [entry] = asked(home, "diary")["entries"]
    assert entry["text"] == "Rates are cached for an hour"
    [tagged] = asked(home, "search", "review the diff", "tag:release-2")["hits"][:1]
    assert tagged["session_uid"] == REVIEW
    [document, *_] = asked(home, "search", "lighthouse", "kind:document")["hits"]
    assert "blue-green" in document["snippet"]


def test_what_was_decided_and_learned_has_its_ids_and_its_evidence(home: Path) -> None:
    decided = {d["decision"]["id"]: d["decision"] for d in asked(home, "decisions")["decisions"]}
    assert decided["decision:13161c40bee8be4a7c7e"]["statement"] == "Use PostgreSQL for the orders"
    assert decided["decision:a7584929343ef4bd16f5"]["session_uid"] == "claude:11d9a9f4-82b0-40d8-8577-fb9e532c57df"
    learned = {one["id"]: one for one in asked(home, "learnings")["learnings"]}
    assert learned["l02e6cd49ef8f46151331"]["state"] == "confirmed"


def test_citations_of_the_first_stage_open_what_they_cited(home: Path) -> None:
    with Memory.open(home) as memory:
        for view in memory.decisions().decisions:
            for evidence in view.decision.evidence:
                [event] = memory.events(evidence.session_uid, first_seq=evidence.seq, limit=1)
                assert event.event_id == evidence.event_id


def test_what_was_forgotten_stays_out_and_what_was_pinned_stays_in(home: Path) -> None:
    with Memory.open(home) as memory:
        assert len(memory.maintenance.forgetting.listed().groups) == 1
        assert [pin.session_uid for pin in memory.maintenance.retention.pins()] == [REVIEW]


def test_everything_can_be_derived_again_from_its_archive(home: Path) -> None:
    def sessions() -> list[dict[str, Any]]:
        return [{**one, "analyzed_at": None} for one in asked(home, "sessions")["sessions"]]

    before = sessions()
    asked(home, "rebuild", "all")
    assert sessions() == before
    assert asked(home, "verify", "--deep")["ok"]
