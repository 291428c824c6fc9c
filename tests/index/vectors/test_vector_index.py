"""What is near is found exactly, confined as asked, and without what was replaced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recollect.errors import EmbeddingUnavailable, IndexUnavailable
from recollect.index.vectors import rows as rows_module
from recollect.index.vectors.builtin import BuiltinEmbedder
from recollect.index.vectors.rows import quantize, sign_words
from recollect.index.vectors.vector_index import VectorIndex
from recollect.store.row_keys import merged
from tests.index.vectors import made

SESSION = 1 << 24


def keys_near(folder: Path, angle: float, *, limit: int = 3, sessions: frozenset[int] | None = None) -> list[int]:
    return [near.key for near in made.index(folder).nearest(str(angle), limit=limit, sessions=sessions)]


def test_a_folder_without_vectors_has_nothing_near(tmp_path: Path) -> None:
    index = made.index(tmp_path / "none")
    assert index.nearest("1", limit=5) == []
    assert index.similarities("1", [1, 2]) == {}
    assert index.coverage() == (0, 0, True)


def test_the_nearest_events_come_best_first_each_once(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10], 2: [500, 12], 3: [300, 310, 320]})
    near = made.index(tmp_path).nearest("11.4", limit=10)
    assert [n.key for n in near][:2] == [2, 1]
    assert len(near) == 3
    assert near[0].similarity == pytest.approx(float(made.direction(12) @ made.direction(11.4)), abs=0.01)


def test_similarities_are_of_the_best_chunk_of_each_event(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10], 2: [500, 12], 3: [300]})
    found = made.index(tmp_path).similarities("12", [2, 3, 99])
    assert set(found) == {2, 3}
    assert found[2] == pytest.approx(1, abs=0.01)
    assert found[3] < 0.5


def test_sessions_confine_the_answer(tmp_path: Path) -> None:
    made.put(tmp_path, {s * SESSION + n: [s * 10 + n] for n in range(3) for s in range(1, 6)})
    assert {key // SESSION for key in keys_near(tmp_path, 31, limit=9, sessions=frozenset({2, 5}))} == {2, 5}
    assert keys_near(tmp_path, 31, sessions=frozenset({99})) == []
    assert keys_near(tmp_path, 31, sessions=frozenset()) == []


def test_a_later_commit_is_seen_by_an_open_index(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10]})
    index = made.index(tmp_path)
    assert [n.key for n in index.nearest("10", limit=5)] == [1]
    made.put(tmp_path, {2: [10.5]})
    assert {n.key for n in index.nearest("10", limit=5)} == {1, 2}


def test_what_was_retired_is_not_found_and_its_new_rows_are(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10], 2: [20], 3: [30]})
    with made.writer(tmp_path) as writer:
        writer.retire([(2, 3), (50, 60)])
        writer.add([3], made.Directions().embed(["700"]))
        writer.commit(position=5)
    assert keys_near(tmp_path, 20) == [1, 3] or keys_near(tmp_path, 20) == [3, 1]
    assert keys_near(tmp_path, 700)[0] == 3
    assert made.index(tmp_path).similarities("30", [3])[3] < 0.5
    assert made.index(tmp_path).coverage().covered == 2


def test_most_dead_rows_are_left_behind_by_compaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.index.vectors.writer.COMPACT_ROWS", 10)
    made.put(tmp_path, {n: [n] for n in range(100)})
    reader = made.index(tmp_path)
    before = reader.nearest("40", limit=5)
    with made.writer(tmp_path) as writer:
        assert writer.compact() is False
        writer.retire([(50, 99)])
        writer.commit(position=9)
        assert writer.compact() is True
        writer.add([200], made.Directions().embed(["40.1"]))
        writer.commit(position=10)
    assert made.rows(tmp_path).count == 51
    assert {n.key for n in reader.nearest("40", limit=6)} == {n.key for n in before} | {200}
    assert len(list(made.files(tmp_path).folder.glob("g*"))) == 1


def test_the_scan_of_signs_finds_what_an_exact_scan_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With real vectors of texts: among many more rows than are compared exactly, the best are not lost."""
    monkeypatch.setattr(rows_module, "RESCORED", 200)
    monkeypatch.setattr(rows_module, "BLOCK_ROWS", 1000)
    embedder = BuiltinEmbedder()
    words = (Path(__file__).parents[3] / "docs").rglob("*.md")
    texts = [line for path in sorted(words) for line in path.read_text("utf-8").splitlines() if len(line) > 40][:4000]
    index = VectorIndex.open(tmp_path, embedder)
    from recollect.index.vectors.vector_index import identity_of
    from recollect.index.vectors.writer import Files, VectorWriter

    with VectorWriter(Files(tmp_path, identity_of(embedder)), made.DERIVATION_ID, dimensions=lambda: 256) as writer:
        for part in made.batches(range(len(texts)), 512):
            writer.add(part, embedder.embed([texts[n] for n in part]))
        writer.commit(position=1)
    found = index.rows()
    assert found is not None
    assert found.count > 1000
    missed = total = 0
    questions = (
        "how is a secret kept out of the index", "which events are hidden", "what a rebuild does",
        "who may read a session", "when is text deleted", "how to add an agent",
        "what a backup contains", "where the daemon listens",
        "why a decision holds", "which words are searched",
    )  # fmt: skip
    for question in questions:
        vector = embedder.embed([question])[0]
        exact = np.argsort(-found.exact(vector), kind="stable")[:20]
        near = {near.key for near in index.nearest(question, limit=20)}
        missed += len(set(found.keys[exact].tolist()) - near)
        total += len(exact)
    assert missed <= total * 0.05


def test_codes_give_vectors_back_within_half_a_step(tmp_path: Path) -> None:
    vectors = made.Directions().embed([str(n) for n in range(50)])
    codes, scales = quantize(vectors)
    assert np.abs(codes * scales[:, None] - vectors).max() <= scales.max() / 2 + 1e-6


def test_signs_are_padded_to_whole_words() -> None:
    signs = sign_words(np.array([[1.0] * 70, [-1.0] * 70], np.float32))
    assert signs.tolist() == [[2**64 - 1, 2**6 - 1], [0, 0]]


def test_vectors_of_another_database_are_not_used(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10]})
    with made.writer(tmp_path, derivation_id=b"x" * 16) as writer:
        assert writer.was_begun_anew
        assert writer.last.rows == 0
    assert made.index(tmp_path).nearest("10", limit=1) == []


def test_another_model_has_files_of_its_own(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10]})

    class Other(made.Directions):
        version = "2"

    assert VectorIndex.open(tmp_path, Other()).nearest("10", limit=1) == []
    assert keys_near(tmp_path, 10) == [1]


def test_a_model_that_changed_its_length_is_refused(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10]})

    class Longer(made.Directions):
        def embed(self, texts: object) -> np.ndarray:  # type: ignore[override]
            return np.ones((1, 96), np.float32)

    with pytest.raises(EmbeddingUnavailable, match="96"):
        VectorIndex.open(tmp_path, Longer()).nearest("10", limit=1)
    with made.writer(tmp_path) as writer, pytest.raises(EmbeddingUnavailable, match="96"):
        writer.add([5], np.ones((1, 96), np.float32))


@pytest.mark.parametrize("name", ["codes", "keys", "signs", "scales"])
def test_a_shortened_column_is_said_and_made_anew(tmp_path: Path, name: str) -> None:
    made.put(tmp_path, {n: [n] for n in range(20)})
    column = made.files(tmp_path).folder / "g1" / name
    column.write_bytes(column.read_bytes()[:-3])
    with pytest.raises(IndexUnavailable, match="damaged") as caught:
        made.index(tmp_path).nearest("10", limit=1)
    assert "embed" in caught.value.hint
    with made.writer(tmp_path) as writer:
        assert writer.was_begun_anew
    assert made.index(tmp_path).nearest("10", limit=1) == []


def test_an_unreadable_manifest_is_said(tmp_path: Path) -> None:
    made.put(tmp_path, {1: [10]})
    (made.files(tmp_path).folder / "manifest.json").write_text("{")
    with pytest.raises(IndexUnavailable):
        made.index(tmp_path).nearest("10", limit=1)


def test_ranges_that_touch_become_one() -> None:
    assert merged([(5, 9), (1, 2), (3, 4), (20, 30), (25, 26)]) == [(1, 9), (20, 30)]
