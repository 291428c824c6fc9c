"""Any in half a byte a number, and the talk that is nearest to a question among all that has vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.index.vectors.contextual import DIMENSIONS
from recollect.index.vectors.nearest_messages import cosines, encode, nearest_talk, signs, signs_of, write_talk
from recollect.store.passages import PassageStore, keep_only_passages, remove_passages
from recollect.store.row_keys import SEQ_BITS


def some_vectors(count: int, seed: int = 1) -> Any:
    made = np.random.default_rng(seed).standard_normal((count, DIMENSIONS)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def test_a_cosine_of_codes_is_near_that_of_the_vectors() -> None:
    vectors = some_vectors(2000)
    apart = np.abs(cosines(vectors[0], encode(vectors)) - vectors @ vectors[0])
    assert apart.mean() < 0.008
    assert np.quantile(apart, 0.99) < 0.03


def test_signs_of_a_code_are_those_of_its_vector_but_where_a_number_is_next_to_nothing() -> None:
    vectors = some_vectors(20)
    apart = np.bitwise_count(signs(encode(vectors)) ^ np.stack([signs_of(v) for v in vectors])).sum(axis=1)
    assert apart.max() < DIMENSIONS * 0.2


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PassageStore]:
    made = PassageStore(tmp_path / "vectors", model="m", derivation_id="d")
    yield made
    made.close()


def fill(store: PassageStore, vectors: Any, *, sessions: int = 2) -> list[int]:
    """Give each vector an event, in turn of one session after the other; return the keys. Every fifth is no talk."""
    keys = [(n % sessions + 1) << SEQ_BITS | n for n in range(len(vectors))]
    codes = dict(enumerate(encode(vectors), 1))
    talk = {key for n, key in enumerate(keys) if n % 5}
    store.add(codes, {key: [n] for n, key in enumerate(keys, 1)}, talk)
    write_talk(store, store.folder)
    return keys


def test_the_nearest_talk_is_found_and_nothing_but_talk(store: PassageStore) -> None:
    vectors = some_vectors(1000)
    keys = fill(store, vectors)
    kept = 0
    for asked in some_vectors(20, seed=2):
        best = [keys[n] for n in np.argsort(-(vectors @ asked)) if n % 5]
        found = nearest_talk(store, asked, limit=10)
        assert not set(found).difference(best)
        kept += len(set(found) & set(best[:10]))
    assert kept > 20 * 10 * 0.75  # vectors of chance are as far apart as any: those of texts are told apart better


def test_only_the_sessions_asked_for(store: PassageStore) -> None:
    keys = fill(store, some_vectors(100))
    found = nearest_talk(store, some_vectors(1, seed=3)[0], limit=50, sessions={2})
    assert found
    assert {key >> SEQ_BITS for key in found} == {2}
    assert set(found) <= set(keys)
    assert nearest_talk(store, some_vectors(1)[0], limit=5, sessions=()) == []


def test_without_talk_nothing_is_near(store: PassageStore) -> None:
    assert nearest_talk(store, some_vectors(1)[0], limit=5) == []
    write_talk(store, store.folder)
    assert store.is_talk_complete()
    assert nearest_talk(store, some_vectors(1)[0], limit=5) == []


def test_new_talk_makes_the_file_incomplete_and_a_new_one_takes_its_place(store: PassageStore) -> None:
    vectors = some_vectors(30)
    fill(store, vectors)
    first = store.talk_file()
    assert first is not None
    assert store.is_talk_complete()
    late = 9 << SEQ_BITS
    store.add({99: encode(vectors[:1])[0]}, {late: [99]}, [late])
    assert not store.is_talk_complete()
    write_talk(store, store.folder)
    assert not first.exists()
    assert late in nearest_talk(store, vectors[0], limit=2)


def test_what_is_forgotten_leaves_the_file_at_once(store: PassageStore) -> None:
    vectors = some_vectors(30)
    keys = fill(store, vectors)
    store.retire([(keys[1], keys[1])])
    assert list(store.folder.glob("talk-*")) == []
    assert nearest_talk(store, vectors[1], limit=5) == []
    write_talk(store, store.folder)
    assert keys[1] not in nearest_talk(store, vectors[1], limit=30)
    assert store.sweep() == 1
    assert keep_only_passages(store.folder, lambda some: set(some) - {keys[2]}) == 1
    assert list(store.folder.glob("talk-*")) == []


@pytest.mark.parametrize("content", [b"", b"no database at all" * 500])
def test_a_damaged_database_holds_nothing_and_is_made_anew(store: PassageStore, content: bytes) -> None:
    vectors = some_vectors(10)
    fill(store, vectors)
    store.close()
    for path in store.folder.glob("passages.db*"):
        path.unlink()
    (store.folder / "passages.db").write_bytes(content)
    assert (store.position, store.stages(), store.codes([1])) == (None, {}, {})
    assert nearest_talk(store, vectors[1], limit=3) == []
    fill(store, vectors)
    assert len(store.codes(range(1, 11))) == 10


def test_vectors_of_another_model_or_database_are_not_read(store: PassageStore) -> None:
    vectors = some_vectors(10)
    fill(store, vectors)
    for other in (
        PassageStore(store.folder, model="other", derivation_id="d"),
        PassageStore(store.folder, model="m", derivation_id="other"),
    ):
        assert nearest_talk(other, vectors[1], limit=3) == []
        assert other.position is None
        other.close()
    remove_passages(store.folder)
    assert list(store.folder.iterdir()) == []
