"""`recollect import --mempalace`: everything once, found by a search, undone as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.store.connection import open_database
from recollect.testing.builders import ClaudeTranscript
from tests.capture.mempalace.palaces import PalaceBuilder
from tests.surfaces.notes.conftest import Recollect
from tests.surfaces.notes.test_notes import SECRET, found


@pytest.fixture
def palace(tmp_path: Path) -> PalaceBuilder:
    builder = PalaceBuilder(tmp_path / "mp")
    builder.file("/w/shop/queue.md", ["The queue moved to SQLite.", "Throughput went up."])
    builder.drawer("by_hand", f"The certificate expires in June. {SECRET}", wing="blog", room="general", chunk_index=0)
    builder.drawer("empty", " ", wing="blog", room="general", chunk_index=0)
    builder.entry("diary_1", "We shipped the release.")
    builder.triple("t1", ("Ann", "works_on", "Shop API"), begin="2026-01-05")
    builder.triple("t2", ("Ann", "likes", "Tea"), begin="2026-02-01", end="2026-01-01")
    return builder


def taken(report: dict[str, Any]) -> tuple[int, int, int]:
    return report.get("documents_taken", 0), report.get("diary_taken", 0), report.get("facts_taken", 0)


def test_a_palace_is_taken_over_once(recollect: Recollect, palace: PalaceBuilder) -> None:
    before = palace.files()
    first = recollect("import", "--mempalace", palace.folder, "--json")
    assert first.code == 0, first.err
    assert taken(first.data) == (2, 1, 1)
    assert first.data["skipped"] == {"a drawer has no text": 1, "a triple ends before it begins": 1}
    assert first.data["wings"] == {"blog": 2, "shop_api": 1, "wing_claude": 1}
    second = recollect("import", "--mempalace", palace.folder, "--json").data
    assert taken(second) == (0, 0, 0)
    assert (second["documents_known"], second["diary_known"], second["facts_known"]) == (2, 1, 1)
    assert second["batch"] == ""
    assert palace.files() == before
    (hit,) = found(recollect, "throughput kind:document")
    assert hit["session_uid"] == "document:mempalace-shop_api/decisions/w/shop/queue.md"
    assert (
        recollect("diary", "read", "--agent", "claude", "--json").data["entries"][0]["text"]
        == "We shipped the release."
    )
    (fact,) = recollect("facts", "--about", "ann", "--json").data["facts"]
    assert (fact["reference"], fact["source"], fact["confidence"]) == ("mempalace:t1", "import", 0.9)


def claude_session(folder: Path, name: str) -> ClaudeTranscript:
    session = ClaudeTranscript(folder / "claude", name)
    session.user("The queue loses jobs.")
    session.assistant("It moves to SQLite.")
    return session


def test_a_drawer_of_a_transcript_is_linked_to_its_session(
    recollect: Recollect, palace: PalaceBuilder, tmp_path: Path
) -> None:
    session = claude_session(tmp_path, "queue")
    palace.file(
        f"/home/ann/.claude/projects/-w-shop/{session.session}.jsonl",
        ["> The queue loses jobs.", "It moves to SQLite."],
    )
    first = recollect("import", "--mempalace", palace.folder, "--json").data
    assert (first["documents_taken"], first.get("documents_linked", 0)) == (3, 0)
    assert recollect("import", session.path).code == 0
    again = recollect("import", "--mempalace", palace.folder, "--json").data
    assert (again["documents_taken"], again["documents_linked"], again["documents_known"]) == (1, 1, 2)
    third = recollect("import", "--mempalace", palace.folder, "--json").data
    assert (third.get("documents_taken", 0), third["documents_known"]) == (0, 3)
    (hit,) = [h for h in found(recollect, "loses jobs kind:document") if session.session in h["session_uid"]]
    assert f"from session {session.uid}" in recollect("show", hit["session_uid"]).out


def test_a_drawer_goes_with_its_session_and_stays_away(
    recollect: Recollect, palace: PalaceBuilder, tmp_path: Path
) -> None:
    session = claude_session(tmp_path, "queue")
    assert recollect("import", session.path).code == 0
    palace.file(f"C:\\Users\\ann\\{session.session}.jsonl", ["> The queue loses jobs.", "It moves to SQLite."])
    recollect("import", "--mempalace", palace.folder)
    told = recollect("forget", "--session", session.uid, "--dry-run").out
    assert f"{session.session}.jsonl" in told
    assert recollect("forget", "--session", session.uid, "--yes").code == 0
    assert found(recollect, "loses jobs kind:document") == []
    report = recollect("import", "--mempalace", palace.folder, "--json").data
    assert report.get("documents_taken", 0) == 0
    palace.file(f"/elsewhere/{session.session}.jsonl", ["> The queue loses jobs."], room="planning")
    report = recollect("import", "--mempalace", palace.folder, "--json").data
    assert report["skipped"]["its session was forgotten"] == 1
    assert found(recollect, "loses jobs kind:document") == []


def test_secrets_of_a_palace_are_redacted(recollect: Recollect, palace: PalaceBuilder, isolated_home: Path) -> None:
    assert recollect("import", "--mempalace", palace.folder).code == 0
    (hit,) = found(recollect, "certificate kind:document")
    assert SECRET not in recollect("show", hit["session_uid"]).out
    for file in (isolated_home / "recollect").rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file


def test_what_the_palace_adds_and_ends_is_taken_by_the_next_run(recollect: Recollect, palace: PalaceBuilder) -> None:
    recollect("import", "--mempalace", palace.folder)
    palace.drawer("late", "A late note.", wing="blog", room="general", chunk_index=0)
    palace.triple("t1", ("Ann", "works_on", "Shop API"), begin="2026-01-05", end="2026-03-31")
    report = recollect("import", "--mempalace", palace.folder, "--json").data
    assert (taken(report), report["facts_ended"]) == ((1, 0, 0), 1)
    assert recollect("facts", "--about", "ann", "--at", "2026-03-31").code == 0
    assert recollect("facts", "--about", "ann", "--at", "2026-04-01").code == 1


def test_an_import_is_undone_as_a_whole_and_taken_again_on_demand(recollect: Recollect, palace: PalaceBuilder) -> None:
    batch = recollect("import", "--mempalace", palace.folder, "--json").data["batch"]
    undone = recollect("undo", batch, "--json").data
    assert (undone["facts"], undone["diary"], undone["documents"]) == (1, 1, 2)
    assert found(recollect, "throughput kind:document") == []
    assert recollect("diary").code == 1
    assert recollect("diary", "--history").code == 0
    again = recollect("import", "--mempalace", palace.folder, "--json").data
    assert (taken(again), again["again"]) == ((2, 1, 1), 2)
    assert len(found(recollect, "throughput kind:document")) == 1


def test_what_was_forgotten_of_a_palace_does_not_come_back(
    recollect: Recollect, palace: PalaceBuilder, isolated_home: Path
) -> None:
    recollect("import", "--mempalace", palace.folder)
    assert recollect("forget", "--pattern", "shipped|Shop API|Throughput", "--yes", "--json").data["written"] == 3
    report = recollect("import", "--mempalace", palace.folder, "--json").data
    assert taken(report) == (0, 0, 0)
    assert report["skipped"]["it was forgotten"] == 3
    assert recollect("diary").code == 1
    assert recollect("facts", "--about", "ann").code == 1
    assert found(recollect, "throughput kind:document") == []
    assert found(recollect, "certificate kind:document")
    database = b"".join(path.read_bytes() for path in (isolated_home / "recollect").glob("memory.db*"))
    assert b"Shop API" not in database
    assert b"shipped" not in database
    palace.entry("diary_2", "We wrote the manual.")
    assert taken(recollect("import", "--mempalace", palace.folder, "--json").data) == (0, 1, 0)


def test_what_a_person_retracted_stays_so(recollect: Recollect, palace: PalaceBuilder) -> None:
    recollect("import", "--mempalace", palace.folder)
    (fact,) = recollect("facts", "--json").data["facts"]
    recollect("facts", "retract", fact["id"])
    assert taken(recollect("import", "--mempalace", palace.folder, "--json").data) == (0, 0, 0)
    assert recollect("facts").code == 1


def test_a_dry_run_writes_nothing(recollect: Recollect, palace: PalaceBuilder, isolated_home: Path) -> None:
    report = recollect("import", "--mempalace", palace.folder, "--dry-run", "--json").data
    assert (report["is_dry_run"], taken(report)) == (True, (2, 1, 1))
    assert not (isolated_home / "recollect" / "memory.db").exists()


def test_a_run_that_was_interrupted_goes_on(
    recollect: Recollect, palace: PalaceBuilder, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.memory.palace._MOST_AT_ONCE", 1)
    written = 0

    def interrupt(*_: object) -> None:
        nonlocal written
        written += 1
        if written == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("recollect.cli.render.documents.palace_line", interrupt)
    assert recollect("import", "--mempalace", palace.folder).code == 130
    (batch,) = recollect("undo", "--list", "--json").data["batches"]
    report = recollect("import", "--mempalace", palace.folder, "--json").data
    counts = batch["counts"]
    assert sum(taken(report)) + sum(counts.values()) == 4
    db = open_database(isolated_home / "recollect", "read")
    assert db.execute("SELECT count(*), count(DISTINCT uid) FROM entry").fetchall() == [(4, 4)]
    db.close()


@pytest.mark.parametrize("options", [("--since", "2026-01-01"), ("--as", "claude"), ("--session", "claude:1")])
def test_options_of_transcripts_do_not_go_with_a_palace(
    recollect: Recollect, palace: PalaceBuilder, options: tuple[str, str]
) -> None:
    assert recollect("import", "--mempalace", palace.folder, *options).code == 2


def test_a_palace_is_told_by_its_content(recollect: Recollect, palace: PalaceBuilder, tmp_path: Path) -> None:
    assert taken(recollect("import", palace.folder, "--dry-run", "--json").data) == (2, 1, 1)
    first = recollect("import", palace.folder, "--json")
    assert (first.code, taken(first.data)) == (0, (2, 1, 1))
    session = ClaudeTranscript(palace.folder / "chats", "one")
    session.user("the flux capacitor was renamed")
    session.assistant("It was; all tests pass.")
    both = recollect("import", palace.folder, "--json").data
    assert (both["agents"]["claude"]["sessions"], "documents_known" in both) == (1, False)
    assert [note for note in both["notes"] if "add --mempalace to import it" in note] == both["notes"]
    other = tmp_path / "other"
    other.mkdir()
    database = apsw.Connection(str(other / "chroma.sqlite3"))
    database.execute("CREATE TABLE collections (id TEXT, name TEXT)")
    database.close()
    assert "documents_known" not in recollect("import", other, "--json").data


def test_what_is_no_palace_is_told(recollect: Recollect, tmp_path: Path) -> None:
    outcome = recollect("import", "--mempalace", tmp_path)
    assert outcome.code == 3
    assert "not a MemPalace directory" in outcome.err
    assert recollect("import", "--mempalace").code == 2
