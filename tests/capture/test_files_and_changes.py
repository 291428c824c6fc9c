"""Reading sources and telling an append from a rewrite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.changes import compare, marks_at, whole_marks
from recollect.capture.replay import replay
from recollect.capture.sources import open_source, read_head
from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable


def test_a_compressed_source_reads_like_the_plain_one_at_any_offset(tmp_path: Path) -> None:
    plain = bytes(range(256)) * 20_000
    half = zstandard.ZstdCompressor().compress(plain[:1_000_000])
    rest = zstandard.ZstdCompressor().compress(plain[1_000_000:])
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(half + rest)
    with open_source(str(path), is_compressed=True) as source:
        for offset, length in ((0, 10), (999_990, 20), (5_119_990, 100), (3, 5_000_000), (9_000_000, 1)):
            assert source.read_at(offset, length) == plain[offset : offset + length]
    assert read_head(str(path), 100) == plain[:100]


def test_a_damaged_compressed_source_is_unavailable_not_fatal(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(b"this is not zstd")
    with open_source(str(path), is_compressed=True) as source, pytest.raises(SourceUnavailable, match="decompress"):
        source.read_at(0, 10)


def test_a_folder_and_a_missing_file_are_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises((SourceRefused, SourceUnavailable)), open_source(str(tmp_path)):
        pass
    with pytest.raises(SourceUnavailable, match="cannot open"), open_source(str(tmp_path / "gone")):
        pass


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")
    path.chmod(0)
    with pytest.raises(SourceUnavailable, match="Permission"), open_source(str(path)):
        pass


def test_a_file_that_is_written_or_removed_while_read_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    with open_source(str(path)) as source:
        source.check_unchanged()
        path.write_bytes(b"three")
        with pytest.raises(SourceChanged, match="changed"):
            source.check_unchanged()
        path.unlink()
        with pytest.raises(SourceChanged, match="vanished"):
            source.check_unchanged()


@pytest.mark.parametrize(
    ("now", "change"),
    [
        (b"A" * 9000 + b"tail", "unchanged"),
        (b"A" * 9000 + b"tail and more", "appended"),
        (b"A" * 9000 + b"ta", "rewritten"),
        (b"A" * 100, "rewritten"),
        (b"B" + b"A" * 8999 + b"tail and more", "rewritten"),
        (b"A" * 8999 + b"B" + b"tail and more", "rewritten"),
    ],
)
def test_an_append_leaves_head_and_end_as_they_were(tmp_path: Path, now: bytes, change: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"A" * 9000 + b"tail")
    with open_source(str(path)) as source:
        marks = marks_at(source, 9000)
    path.write_bytes(now)
    with open_source(str(path)) as source:
        assert compare(source, marks, bytes_seen=9004) == change


def test_a_whole_file_is_compared_by_all_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"A" * 20_000)
    with open_source(str(path)) as source:
        before = whole_marks(source)
    path.write_bytes(b"A" * 10_000 + b"B" + b"A" * 9_999)
    with open_source(str(path)) as source:
        assert whole_marks(source) != before


@given(
    st.lists(st.sampled_from([b'{"a":1}', b"// c", b'{"x":{"y":[1,2]}}', b"", b'{"a":1}{"b":2}']), max_size=10),
    st.integers(1, 40),
    st.booleans(),
)
def test_a_replay_gives_the_same_records_however_the_bytes_come(lines: list[bytes], step: int, ended: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    whole = _records(data, len(data) + 1)
    assert _records(data, step) == whole


def _records(data: bytes, step: int) -> list[tuple[int, bytes]]:
    pieces = [data[i : i + step] for i in range(0, len(data), step)]
    return [(b.base + line.start, line.raw) for b in replay(pieces, "jsonl") for line in b.lines]


def test_a_replay_never_decodes_a_giant_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.capture.replay.MAX_RECORD_BYTES", 1000)
    giant = b'{"type":"user","x":"' + b"y" * 5000 + b'"}'
    data = b'{"a":1}\n' + giant + b'\n{"b":2}\n'
    for step in (1, 700, 10_000):
        batches = list(replay([data[i : i + step] for i in range(0, len(data), step)], "jsonl"))
        lines = [line.raw for b in batches for line in b.lines]
        giants = [(b.giant.start, b.giant.end) for b in batches if b.giant]
        assert lines == [b'{"a":1}', b'{"b":2}']
        assert giants == [(8, 8 + len(giant))]
