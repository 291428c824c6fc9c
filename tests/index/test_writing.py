"""Writing the index: replays do not double, damage is set aside, small commits keep the vocabulary fresh."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recollect.errors import IndexUnavailable
from recollect.index.text import engine
from recollect.index.text import writer as writing
from recollect.index.text.document_builder import DocumentBuilder
from recollect.index.text.shards import TextIndex
from recollect.index.text.vocabulary import ShardVocabulary
from recollect.index.text.writer import IndexWriterSet
from recollect.store.rows import IndexDoc


def doc(seq: int, text: str, *, session: int = 1, shard: str = "2026-08") -> IndexDoc:
    builder = DocumentBuilder()
    builder.add("talk", text, (), kind="user_message", tool="", ts=seq)
    ((json,),) = builder.finish()
    return IndexDoc(session << 24 | seq, session, shard, json)


def frequency(folder: Path, term: str) -> int:
    return sum(shard.document_frequency("text", term) for shard in TextIndex.open(folder).shards())


def live(folder: Path) -> int:
    return sum(shard.documents for shard in TextIndex.open(folder).shards())


def test_what_was_committed_is_found(tmp_path: Path) -> None:
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add([doc(1, "needle"), doc(2, "hay")])
    assert frequency(tmp_path, "needle") == 1


def test_a_replay_does_not_double(tmp_path: Path) -> None:
    docs = [doc(1, "needle one"), doc(2, "needle two")]
    for fresh in (True, False):
        with IndexWriterSet.open(tmp_path) as writers:
            writers.add(docs, fresh=fresh)
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add(docs, fresh=False)
        writers.add(docs, fresh=False)
    assert live(tmp_path) == 2


def test_further_documents_of_a_key_survive_a_replay(tmp_path: Path) -> None:
    docs = [doc(1, "first part"), doc(1, "second part")]
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add(docs)
        writers.add(docs, fresh=False)
    assert live(tmp_path) == 2


def test_deleting_reaches_every_shard(tmp_path: Path) -> None:
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add([doc(1, "needle", session=s, shard=f"2026-0{s}") for s in range(1, 6)])
    with IndexWriterSet.open(tmp_path) as writers:
        writers.delete([s << 24 | 1 for s in range(1, 5)])
        writers.delete([99])
    assert live(tmp_path) == 1


def test_many_months_are_written_with_two_open_shards(tmp_path: Path) -> None:
    docs = [doc(i, f"needle{i}", session=i % 7, shard=f"2026-0{i % 7 + 1}") for i in range(70)]
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add(docs)
        writers.commit()
    assert live(tmp_path) == 70
    assert len(TextIndex.open(tmp_path).shards()) == 7


def test_uncommitted_documents_are_not_seen(tmp_path: Path) -> None:
    writers = IndexWriterSet.open(tmp_path)
    writers.add([doc(1, "needle")])
    writers.commit()
    writers.add([doc(2, "needle")])
    assert live(tmp_path) == 1
    writers.close()


def test_a_reader_sees_the_next_commit(tmp_path: Path) -> None:
    index = TextIndex.open(tmp_path)
    assert index.shards() == []
    writers = IndexWriterSet.open(tmp_path)
    for count in (1, 2):
        writers.add([doc(count, "needle")])
        writers.commit()
        assert sum(shard.documents for shard in index.shards()) == count
    writers.close()


def test_a_damaged_shard_is_set_aside_and_reported(tmp_path: Path) -> None:
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add([doc(1, "needle"), doc(1, "other", session=2, shard="2026-07")])
    (tmp_path / "2026-08" / "meta.json").write_text("{damaged")
    index = TextIndex.open(tmp_path)
    assert [shard.name for shard in index.shards()] == ["2026-07"]
    assert index.damaged == ("2026-08",)
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add([doc(1, "needle")], fresh=False)
        assert writers.damaged == ["2026-08"]
    assert frequency(tmp_path, "needle") == 1


def test_an_index_with_damaged_shards_only_is_unavailable(tmp_path: Path) -> None:
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add([doc(1, "needle")])
    for file in (tmp_path / "2026-08").glob("*"):
        if file.suffix in (".idx", ".term", ".fast"):
            file.write_bytes(b"")
    with pytest.raises(IndexUnavailable):
        TextIndex.open(tmp_path).shards()


def test_an_index_of_another_format_is_not_read_and_made_anew(tmp_path: Path) -> None:
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add([doc(1, "needle")])
    (tmp_path / "format").write_text("0")
    with pytest.raises(IndexUnavailable):
        TextIndex.open(tmp_path).shards()
    assert IndexWriterSet.open(tmp_path).damaged == ["2026-08"]
    assert TextIndex.open(tmp_path).shards() == []


def test_missing_shards_are_named(tmp_path: Path) -> None:
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add([doc(1, "needle")])
        assert writers.missing(["2026-07", "2026-08"]) == ["2026-07"]


def test_a_shard_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    writers = IndexWriterSet.open(tmp_path)
    with pytest.raises(IndexUnavailable):
        writers.add([doc(1, "needle", shard="../outside")])


def test_the_vocabulary_is_flat_and_sorted(tmp_path: Path) -> None:
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add([doc(1, "pear apple HookSessionEnd жук")])
    (shard,) = TextIndex.open(tmp_path).shards()
    assert shard.vocabulary().decode().split() == ["apple", "end", "hook", "hooksessionend", "pear", "session", "жук"]


def test_a_small_commit_extends_the_vocabulary_without_making_it_anew(tmp_path: Path) -> None:
    writers = IndexWriterSet.open(tmp_path)
    writers.add([doc(1, "apple")])
    writers.commit()
    index = TextIndex.open(tmp_path)
    index.build_vocabularies()
    base = (tmp_path / "2026-08" / "terms.txt").read_bytes()
    for seq, word in enumerate(("zebra", "yak"), start=2):
        writers.add([doc(seq, word)])
        writers.commit()
    assert ShardVocabulary(tmp_path / "2026-08").is_current()
    assert (tmp_path / "2026-08" / "terms.txt").read_bytes() == base
    assert index.matching(index.shards(), "ebr", re.compile("ebr"), limit=9) == (["zebra"], False)
    assert index.matching(index.shards(), "ya", re.compile("ya"), limit=9) == (["yak"], False)
    writers.close()


def test_a_lost_vocabulary_is_made_again(tmp_path: Path) -> None:
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add([doc(1, "apple")])
    TextIndex.open(tmp_path).build_vocabularies()
    (tmp_path / "2026-08" / "terms.json").write_text("{")
    index = TextIndex.open(tmp_path)
    assert index.matching(index.shards(), "ppl", re.compile("ppl"), limit=9)[0] == ["apple"]


def test_more_matching_terms_than_the_limit_are_said(tmp_path: Path) -> None:
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add([doc(1, " ".join(f"needle{i}" for i in range(20)))])
    index = TextIndex.open(tmp_path)
    terms, was_cut = index.matching(index.shards(), "needle", re.compile("needle"), limit=5)
    assert (len(terms), was_cut) == (5, True)


@pytest.mark.parametrize(("documents", "times"), [(3, 0), (40, 1)])
def test_what_a_large_write_took_is_given_back_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, documents: int, times: int
) -> None:
    given_back: list[bool] = []
    monkeypatch.setattr(writing, "give_back_memory", lambda: given_back.append(True))
    text = "one of many words " * 3_000
    with IndexWriterSet.open(tmp_path) as writers:
        writers.add(doc(seq, text, shard=f"2026-0{1 + seq % 4}") for seq in range(documents))
        assert given_back == []
    assert given_back == [True] * times


def test_giving_memory_back_is_no_error_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr(engine.sys, "platform", platform)
        engine.give_back_memory()
