"""What was learned, noted and documented has vectors: they follow what it says now, and a search finds it by them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.config import Config, PrivacyConfig, SecretPatternConfig
from recollect.errors import EmbeddingUnavailable
from recollect.index.vectors import embed as module
from recollect.index.vectors.builtin import BuiltinEmbedder
from recollect.index.vectors.rows import Rows
from recollect.index.vectors.writer import VectorWriter
from recollect.maintenance.deep_verify import verify_deep
from recollect.memory import ForgetSelection, Memory
from recollect.model.learnings.entries import APART_KINDS, ENTRY_KINDS
from recollect.recall.vector_search import NO_ENTRY_VECTORS
from recollect.store.entries import MARK_CLASS_BITS, mark_of
from recollect.store.row_keys import ENTRY_BASE
from tests.erasure.forget.test_crash import killed
from tests.ingest.conftest import World
from tests.ingest.entries.noted import cited, draft, put, remove

QUESTION = "automobile engine repair"
ANSWER = "The car's motor was fixed by the mechanic."
GARAGE = draft(
    "document:docs/garage.md", "We sell bread and cheese.", ANSWER, headings=("Shop", "Shop > Yard"),
    repo="shop", path="docs/garage.md",
)  # fmt: skip
PARSER = draft("document:docs/parser.md", "The parser module was renamed and its tests pass.", path="docs/parser.md")
NOTES = {
    "learning": draft("learning:l1", ANSWER, repo="shop", state="active"),
    "fact": draft("fact:f1", "motor fixed_by mechanic of the car", repo="shop"),
    "diary": draft("diary:d1", f"A quiet day. {ANSWER}", agent="codex"),
    "action": draft("action:a1", "Have the mechanic look at the car's motor", state="done"),
}
PADDING = [draft(f"learning:p{number}", f"parser rule number {number} of the parser") for number in range(3)]


@pytest.fixture
def memory(world: World) -> Memory:
    world.claude("one").user("please rename the parser module")
    world.memory.sync()
    put(world.memory.home, GARAGE, PARSER)
    return world.memory


def levels(memory: Memory, query: str) -> dict[str, str]:
    """Return how each hit matched, by citation."""
    return {f"{hit.session_uid}#{hit.seq}": hit.match_level for hit in memory.search(query).hits}


def rows_of(memory: Memory) -> Rows:
    index = memory.embedding.entries()
    assert index is not None
    rows = index.rows()
    assert rows is not None
    return rows


def live(memory: Memory) -> list[tuple[int, int]]:
    """Return (entry's number, part) of every live row, in order."""
    rows = rows_of(memory)
    keys = rows.keys[~rows.dead()].tolist()
    return sorted(((key >> 24) - ENTRY_BASE, key & 0xFFFFFF) for key in keys)


def is_in_step(memory: Memory) -> bool:
    """Whether every entry has the rows of what it says now, each once, and there are no others."""
    index, rows = memory.embedding.entries(), rows_of(memory)
    assert index is not None
    numbers, marks = rows.marks_by_session()
    feed = memory.embedding._texts()
    stored = {ENTRY_BASE + number: mark for number, mark in feed.entries.marks()}
    kept = dict(zip(numbers.tolist(), marks.tolist(), strict=True))
    alive = rows.marks()[~rows.dead()]
    pieces = sum(
        len(module.chunks_of_part(one.entry, part))
        for one in feed.entries.by_number(number - ENTRY_BASE for number in stored).values()
        for part in one.parts
    )
    return kept == stored and len(alive) == pieces and not index.is_stale()


def test_a_document_that_shares_no_word_with_the_question_is_found_by_its_meaning(memory: Memory) -> None:
    query = f"parser {QUESTION}"
    assert "document:docs/garage.md#1" not in levels(memory, query)
    report = memory.embedding.run()
    assert (report.entries, report.entries_covered, report.entries_total) == (2, 2, 2)
    for confined in (query, f"kind:document {query}", f"repo:shop kind:document {query}"):
        assert levels(memory, confined)["document:docs/garage.md#1"] == "semantic"
    for confined in (f"repo:other {query}", f"kind:user {query}", f"-kind:document {query}", f'"parser" {QUESTION}'):
        assert "document:docs/garage.md#1" not in levels(memory, confined)
    assert memory.embedding.run().entries == 0


def test_the_shop_is_found_in_its_page_and_not_beside_what_is_said(memory: Memory) -> None:
    memory.embedding.run()
    assert next(iter(levels(memory, f"kind:document {QUESTION} mechanic"))) == "document:docs/garage.md#1"


@pytest.mark.parametrize("kind", APART_KINDS)
def test_notes_are_found_by_meaning_where_their_kind_is_asked_for(memory: Memory, kind: str) -> None:
    put(memory.home, *NOTES.values(), *PADDING)
    query = f"parser {QUESTION}"
    memory.search(query)
    memory.embedding.run()
    found = levels(memory, f"kind:{kind} {query}")
    assert found[f"{NOTES[kind].uid}#0"] == "semantic"
    assert {uid.partition(":")[0] for uid in found} == {kind}
    without = memory.search(query)
    assert not {uid.partition(":")[0] for uid in cited(without)} & set(APART_KINDS)


def test_few_of_a_kind_are_found_among_many_of_another(memory: Memory) -> None:
    many = [draft(f"learning:m{number}", f"{ANSWER} It was car number {number}.") for number in range(150)]
    put(memory.home, NOTES["diary"], *many)
    memory.search(QUESTION)
    memory.embedding.run()
    assert levels(memory, f"kind:diary {QUESTION} work") == {"diary:d1#0": "semantic"}


def test_what_says_something_else_is_found_by_that(memory: Memory) -> None:
    memory.embedding.run()
    changed = draft("document:docs/garage.md", "Only poems and songs.", repo="shop", path="docs/garage.md")
    put(memory.home, changed)
    assert memory.embedding.is_stale()
    assert NO_ENTRY_VECTORS in memory.search(f"kind:document parser {QUESTION}").notes
    assert memory.embedding.run().entries == 1
    assert NO_ENTRY_VECTORS not in memory.search(f"kind:document parser {QUESTION}").notes
    assert "document:docs/garage.md#0" in levels(memory, "kind:document parser singing of verses")
    assert live(memory) == [(1, 0), (2, 0)]
    remove(memory.home, "document:docs/garage.md")
    memory.embedding.run()
    assert live(memory) == [(2, 0)]
    assert is_in_step(memory)


def test_a_page_of_a_collection_is_followed_until_it_is_taken_out(memory: Memory, tmp_path: Path) -> None:
    page = tmp_path / "project" / "guide.md"
    page.parent.mkdir()
    page.write_text(f"# Guide\n\n{ANSWER}\n", "utf-8")
    report = memory.documents.add(page.parent, collection="handbook")
    memory.search(QUESTION)
    memory.embedding.run()
    assert levels(memory, f"parser {QUESTION}")["document:handbook/guide.md#0"] == "semantic"
    page.write_text("# Guide\n\nBread and cheese.\n", "utf-8")
    memory.documents.refresh()
    memory.embedding.run()
    assert len(live(memory)) == 4
    memory.notes.batches.undo(report.batch)
    memory.embedding.run()
    assert len(live(memory)) == 3
    assert is_in_step(memory)


def test_a_rebuilt_memory_makes_them_anew_and_another_of_the_same_finds_nothing_to_do(memory: Memory) -> None:
    memory.embedding.run()
    memory.maintenance.rebuild("all")
    assert memory.embedding.is_stale()
    assert rows_or_none(memory) is None  # those of the other database mean nothing here
    assert memory.embedding.run().entries == 2
    assert is_in_step(memory)


def rows_or_none(memory: Memory) -> Rows | None:
    index = memory.embedding.entries()
    assert index is not None
    return index.rows()


def test_forgotten_text_leaves_no_row_behind(memory: Memory) -> None:
    put(memory.home, draft("learning:l9", "The zebrafish password is swordfish", repo="shop", state="active"))
    memory.search("zebrafish")
    memory.embedding.run()
    before = rows_of(memory).count
    memory.maintenance.forgetting.run(ForgetSelection(pattern="zebrafish"))
    rows = rows_of(memory)
    assert (rows.count, int(rows.dead().sum())) == (before - 1, 0)
    assert is_in_step(memory) or memory.embedding.run().state == "done"
    assert is_in_step(memory)


def test_text_redacted_where_it_stands_gets_other_vectors(world: World, memory: Memory) -> None:
    put(memory.home, draft("learning:l9", "The customer is swordfish-77 of the harbour", state="active"))
    memory.search("harbour")
    memory.embedding.run()
    before = rows_of(memory).marks_by_session()[1].tolist()
    own = Config(privacy=PrivacyConfig(patterns=(SecretPatternConfig(name="customer", pattern=r"swordfish-\d+"),)))
    with world.again(own) as again:
        again.sync()
        assert again.embedding.is_stale()
        again.embedding.run()
        assert is_in_step(again)
        after = rows_of(again).marks_by_session()[1].tolist()
    assert len(set(before) - set(after)) == 1


def test_time_that_is_up_leaves_a_run_to_go_on_with(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTRIES_AT_A_TIME", 2)
    put(memory.home, *(draft(f"learning:n{number}", f"subject number {number} of many") for number in range(9)))
    first = memory.embedding.run(max_seconds=0)
    assert (first.state, first.events) == ("interrupted", 0)
    last = memory.embedding.run()
    assert (last.state, last.entries_covered, first.entries + last.entries) == ("done", 11, 11)
    assert is_in_step(memory)


def test_a_large_entry_is_written_in_batches_and_counts_as_a_whole(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_CHARS", 2_000)
    large = draft("document:docs/long.md", *(f"Part {n}. " + "Nothing much. " * 60 for n in range(20)))
    put(memory.home, large, NOTES["diary"])
    stopped = memory.embedding.stop
    counted: list[int] = []

    def stop_inside(_done: int, _total: int) -> None:
        counted.append(1)
        if len(counted) == 4:
            stopped()

    assert memory.embedding.run(progress=stop_inside).state == "interrupted"
    assert (3, 0) not in live(memory)  # none of its rows counts, all of those before do
    assert memory.embedding.run().state == "done"
    assert is_in_step(memory)
    assert sum(number == 3 for number, _part in live(memory)) >= 20


def test_a_server_that_fails_in_the_midst_of_it_is_asked_for_the_rest_only(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ENTRIES_AT_A_TIME", 1)
    put(memory.home, *(draft(f"learning:n{number}", f"subject number {number} of many") for number in range(8)))
    asked: list[str] = []
    embed = BuiltinEmbedder.embed

    def fails(self: BuiltinEmbedder, texts: Any) -> Any:
        if len(asked) > 4:
            raise EmbeddingUnavailable("gone")
        asked.extend(texts)
        return embed(self, texts)

    with monkeypatch.context() as broken:
        broken.setattr(BuiltinEmbedder, "embed", fails)
        with pytest.raises(EmbeddingUnavailable):
            memory.embedding.run()
    coverage = memory.embedding.entry_coverage()
    assert coverage is not None
    assert (coverage.covered, coverage.total, coverage.is_stale) == (len(live(memory)) - 1, 10, True)
    assert memory.embedding.run().entries == 10 - coverage.covered
    assert is_in_step(memory)


PROGRAM = """
import sys
from recollect.config import Config
from recollect.memory import Memory
import recollect.index.vectors.embed as module
module.ENTRIES_AT_A_TIME, module.COMMIT_EVERY_S, module.BATCH_CHARS = 3, 0, 400
with Memory.open(sys.argv[1], config=Config(), env={"HOME": sys.argv[1]}) as memory:
    memory.embedding.run(progress=lambda done, total: print(done, flush=True))
"""


def test_killed_again_and_again_every_entry_has_its_rows_once(memory: Memory) -> None:
    put(memory.home, *(draft(f"learning:n{n}", f"subject number {n} " + "of many " * (n * 9)) for n in range(40)))
    memory.close()
    for kills_after in (1, 4, 9):
        child = subprocess.Popen([sys.executable, "-c", PROGRAM, str(memory.home)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        for _ in range(kills_after):
            child.stdout.readline()
        child.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        child.wait()
        child.stdout.close()
        put(memory.home, draft("learning:n7", f"killed after {kills_after}"))
    assert memory.embedding.run().state == "done"
    assert is_in_step(memory)


STEPS: dict[str, tuple[Any, str]] = {
    "the old rows are retired": (VectorWriter, "add"),
    "the new ones are written": (VectorWriter, "commit"),
    "the record of the commit is next": (VectorWriter, "_write_commit"),
    "all is done but tidying up": (VectorWriter, "compact"),
}


@pytest.mark.skipif(os.name == "nt", reason="fork and SIGKILL are POSIX")
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_the_next_run_goes_on(world: World, memory: Memory, step: str) -> None:
    memory.embedding.run()
    put(memory.home, replace_text("document:docs/garage.md", "Only poems and songs."), NOTES["diary"])
    remove(memory.home, "document:docs/parser.md")
    memory.close()

    def embed() -> None:
        with world.again() as again:
            again.embedding.run()

    assert killed(embed, STEPS[step])
    assert memory.embedding.run().state == "done"
    assert is_in_step(memory)
    assert not any("vectors" in note for note in memory.search(QUESTION).notes)


def replace_text(uid: str, text: str) -> Any:
    return draft(uid, text, path=uid.partition(":")[2])


def test_damaged_files_are_a_note_and_are_made_anew(memory: Memory) -> None:
    memory.embedding.run()
    for path in (memory.home / "index" / "vectors" / "entries").rglob("marks"):
        path.write_bytes(b"\0")
    memory.close()
    answer = memory.search("kind:document rename of the parser")
    assert answer.hits
    assert any("searched by words only" in note for note in answer.notes)
    assert memory.embedding.is_stale()  # so that the daemon and a sync have them mended
    assert memory.embedding.run().entries == 2
    assert is_in_step(memory)


def test_what_differs_from_the_entries_is_named_by_a_deep_verification(memory: Memory) -> None:
    memory.search("parser")
    memory.embedding.run()

    def vectors() -> list[str]:
        memory.close()
        (part,) = [part for part in verify_deep(memory) if part.name == "vectors"]
        return [f"{difference.what}: {difference.detail}" for difference in part.differences]

    assert vectors() == []
    (marks,) = (memory.home / "index" / "vectors" / "entries").rglob("marks")
    kept = np.fromfile(marks, np.int64)
    (kept ^ np.array([1 << 40] + [0] * (len(kept) - 1))).tofile(marks)
    assert vectors() == ["document:docs/garage.md: has no vector of what it says now"]
    kept.tofile(marks)
    (codes,) = (memory.home / "index" / "vectors" / "entries").rglob("codes")
    data = codes.read_bytes()
    codes.write_bytes(data[: len(data) // 3][::-1] + data[len(data) // 3 :])
    assert ["not that of its text" in difference for difference in vectors()] == [True]


def test_doctor_and_figures_say_how_many_entries_are_covered(memory: Memory) -> None:
    memory.search("parser")

    def told() -> tuple[str, str]:
        (check,) = [check for check in memory.maintenance.doctor().checks if check.id == "vectors"]
        return check.state, check.detail

    assert told() == ("warn", "0 of 1 event, 0 of 2 learned, noted and documented covered")
    memory.embedding.run()
    assert told() == ("ok", "1 of 1 event, 2 of 2 learned, noted and documented covered")
    stats = memory.embedding.stats()
    assert stats is not None
    assert (stats.entries_covered, stats.entries_total) == (2, 2)
    memory.embedding.remove()
    assert not list((memory.home / "index" / "vectors").rglob("codes"))
    assert told()[0] == "warn"


def test_a_change_of_entries_alone_starts_the_process_that_makes_them(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.embedding.run()
    assert memory.embedding.start_in_background() is False
    put(memory.home, NOTES["learning"])
    started: list[threading.Thread] = []
    import recollect.ingest.background_embedding as facet

    start: Callable[..., threading.Thread] = facet.start_detached
    monkeypatch.setattr(facet, "start_detached", lambda *args: started.append(start(*args)))
    monkeypatch.setenv("RECOLLECT_HOME", str(memory.home))
    assert memory.embedding.start_in_background() is True
    started[0].join()
    assert is_in_step(memory)


def test_nothing_is_loaded_to_know_that_they_are_in_step(memory: Memory) -> None:
    memory.embedding.run()
    program = (
        "import sys; from recollect.config import Config; from recollect.memory import Memory\n"
        "m = Memory.open(sys.argv[1], config=Config(), env={'HOME': sys.argv[1]})\n"
        "print(m.embedding.is_stale(), 'numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(memory.home)], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("False False", "")


def test_a_mark_tells_the_kind_and_the_content() -> None:
    assert len(ENTRY_KINDS) < 1 << MARK_CLASS_BITS
    marks = {mark_of(kind, bytes([number]) * 32) for kind in ENTRY_KINDS for number in range(256)}
    assert len(marks) == 256 * len(ENTRY_KINDS)
    assert all(0 <= mark < 1 << 62 for mark in marks)
