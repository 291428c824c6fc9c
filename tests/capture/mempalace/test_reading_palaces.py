"""Reading a MemPalace directory: whole texts, diaries, triples, and nothing written."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from recollect.capture.mempalace import find_palace, read_kept, read_triples
from recollect.errors import SourceRefused, SourceUnavailable
from tests.capture.mempalace.palaces import PalaceBuilder

BACKENDS = pytest.mark.parametrize("backend", ["chroma", "sqlite_exact"])
OVERLAP = "and this sentence stands at the end of one piece and at the beginning of the next."


@BACKENDS
def test_the_pieces_of_a_source_become_one_text_again(tmp_path: Path, backend: str) -> None:
    builder = PalaceBuilder(tmp_path / "mp", backend=backend)
    builder.file("/w/notes.md", [f"One, {OVERLAP}", f"{OVERLAP} Two.", "Three."])
    builder.file("/w/other.md", ["Elsewhere."])
    builder.drawer("drawer_alone", "Filed by hand.", wing="shop_api", room="general", chunk_index=0)
    before = builder.files()
    kept = {
        one.said("source_file") or one.id: one
        for path in find_palace(builder.folder).drawers
        for one in read_kept(path)
    }
    assert kept["/w/notes.md"].text == f"One, {OVERLAP} Two.\nThree."
    assert (kept["/w/notes.md"].drawers, kept["/w/notes.md"].wing, kept["/w/notes.md"].room) == (
        3,
        "shop_api",
        "decisions",
    )
    assert kept["/w/other.md"].text == "Elsewhere."
    assert kept["drawer_alone"].text == "Filed by hand."
    assert builder.files() == before


@BACKENDS
def test_diaries_are_told_from_texts_and_cut_entries_joined(tmp_path: Path, backend: str) -> None:
    builder = PalaceBuilder(tmp_path / "mp", backend=backend)
    builder.entry("diary_1", "We shipped it.")
    for index, text in enumerate(("A long entry", "that was cut.")):
        builder.drawer(
            f"diary_2_{index}", text, wing="wing_codex", room="diary", hall="hall_diary", type="diary_entry",
            agent="codex", chunk_index=index, parent_entry_id="diary_2", filed_at="2026-05-03T08:00:00",
        )  # fmt: skip
    kept = {one.id: one for path in find_palace(builder.folder).drawers for one in read_kept(path)}
    assert all(one.is_diary for one in kept.values())
    assert kept["diary_1"].text == "We shipped it."
    assert (kept["diary_2"].text, kept["diary_2"].drawers) == ("A long entry\nthat was cut.", 2)


def test_closets_are_derived_and_not_read(tmp_path: Path) -> None:
    builder = PalaceBuilder(tmp_path / "mp")
    builder.drawer("closet", "topic|entities|->drawer", collection="s2", wing="shop_api", room="general")
    assert [one for path in find_palace(builder.folder).drawers for one in read_kept(path)] == []


def test_triples_have_names_and_half_open_times(tmp_path: Path) -> None:
    builder = PalaceBuilder(tmp_path / "mp")
    builder.triple("t1", ("Ann", "works_on", "Shop API"), begin="2026-01-05", end="2026-01-31")
    builder.triple("t2", ("Ann", "works_on", "Blog"), begin="2026-02-01T12:00:00Z")
    builder.triple("t3", ("Ann", "likes", "Tea"), begin="2026-02-01", end="2026-01-01")
    builder.triple("t4", ("Ann", "likes", "Maps"), begin="one day")
    found = {triple.id: triple for triple in read_triples(builder.folder / "knowledge_graph.sqlite3")}
    day = 86_400_000_000
    assert (found["t1"].subject, found["t1"].object, found["t1"].confidence) == ("Ann", "Shop API", 0.9)
    assert found["t1"].valid_to == 1_769_817_600_000_000 + day  # the whole of 31 January
    assert (found["t2"].valid_from, found["t2"].valid_to) == (1_769_947_200_000_000, None)
    assert found["t3"].problem == "a triple ends before it begins"
    assert found["t4"].problem == "a time of a triple cannot be read"


def test_the_folder_of_the_program_and_the_palace_itself_are_both_understood(tmp_path: Path) -> None:
    builder = PalaceBuilder(tmp_path / "mp")
    builder.triple("t1", ("a", "b", "c"))
    whole, inner = find_palace(builder.folder), find_palace(builder.palace)
    assert (whole.drawers, whole.graph, whole.beside) == (
        inner.drawers,
        builder.folder / "knowledge_graph.sqlite3",
        None,
    )
    assert (inner.graph, inner.beside) == (None, builder.folder / "knowledge_graph.sqlite3")


def test_what_is_no_palace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable):
        find_palace(tmp_path / "nowhere")
    with pytest.raises(SourceRefused):
        find_palace(tmp_path)
    other = tmp_path / "chroma.sqlite3"
    db = apsw.Connection(str(other))
    db.execute("CREATE TABLE collections (id TEXT, name TEXT)")
    db.close()
    with pytest.raises(SourceRefused, match="unknown palace layout"):
        list(read_kept(other))
    other.write_bytes(b"no database at all")
    with pytest.raises(SourceRefused, match="not a SQLite database"):
        list(read_kept(other))


def test_text_that_is_no_utf8_is_read_with_replacements(tmp_path: Path) -> None:
    builder = PalaceBuilder(tmp_path / "mp")
    builder.drawer("d1", "plain", wing="w", room="r", chunk_index=0)
    db = apsw.Connection(str(builder.palace / "chroma.sqlite3"))
    db.execute(
        "UPDATE embedding_metadata SET string_value = CAST(x'61ff62' AS TEXT) WHERE key IN ('chroma:document', 'wing')"
    )
    db.close()
    (kept,) = [one for path in find_palace(builder.folder).drawers for one in read_kept(path)]
    assert (kept.text, kept.wing) == ("a\ufffdb", "a\ufffdb")
