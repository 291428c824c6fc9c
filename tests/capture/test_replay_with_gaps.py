"""Where records are gone, the others are the same records, at the same places, under the same ordinals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.replay import ReplayGap, replay

LINES = (
    b'{"a":1}', b"// c", b'{"x":{"y":[1,2]}}', b"", b'{"a":1}{"b":2}', b'{"broken": ', b'[{"s":"\xc3\xa4"}]',
    b"\xff\xfe",
)  # fmt: skip
Record = tuple[int, int, bytes, str]
"""Ordinal, offset, bytes, where it stands in its document."""


def records_of(pieces: Sequence[bytes | ReplayGap], container: str) -> list[Record]:
    found: list[Record] = []
    index = 0
    for batch in replay(pieces, container):
        if batch.gap is not None:
            index += batch.gap.records
        for line in batch.lines:
            found.append((index, batch.base + line.start, line.raw, line.at))
            index += 1
    return found


def with_gaps(data: bytes, gone: list[tuple[int, int, int]], step: int) -> Iterator[bytes | ReplayGap]:
    """Yield data in pieces, with a gap for each (start, stop, records)."""
    position = 0
    for start, stop, records in [*gone, (len(data), len(data), 0)]:
        for at in range(position, start, step):
            yield data[at : min(at + step, start)]
        if stop > start:
            yield ReplayGap(stop - start, records)
        position = stop


@given(
    lines=st.lists(st.sampled_from(LINES), min_size=1, max_size=10),
    step=st.integers(1, 40),
    is_ended=st.booleans(),
    data=st.data(),
)
def test_of_lines(lines: list[bytes], step: int, is_ended: bool, data: st.DataObject) -> None:
    content = b"\n".join(lines) + (b"\n" if is_ended else b"")
    whole = records_of([content], "jsonl")
    first = data.draw(st.sets(st.integers(0, max(0, len(whole) - 1)), max_size=4))
    runs: list[tuple[int, int]] = []
    for index in sorted(first):
        stop = min(len(whole), index + data.draw(st.integers(1, 3)))
        if whole and (not runs or index >= runs[-1][1]):
            runs.append((index, stop))
    gone = [(whole[a][1], whole[b - 1][1] + len(whole[b - 1][2]), b - a) for a, b in runs]
    left = [r for r in whole if not any(a <= r[0] < b for a, b in runs)]
    assert records_of(list(with_gaps(content, gone, step)), "jsonl") == left


@given(
    before=st.dictionaries(st.sampled_from("abc"), st.integers()),
    elements=st.lists(
        st.one_of(st.integers(), st.text(max_size=5), st.dictionaries(st.text(max_size=2), st.integers()))
    ),
    after=st.dictionaries(st.sampled_from("xyz"), st.text(max_size=4), max_size=2),
    indent=st.sampled_from([None, 2]),
    data=st.data(),
)
def test_of_documents(
    before: dict[str, int], elements: list[object], after: dict[str, str], indent: int | None, data: st.DataObject
) -> None:
    document = {**before, "messages": elements, **after}
    content = json.dumps(document, ensure_ascii=False, indent=indent).encode()
    container = "snapshot:messages"
    whole = records_of([content], container)
    drop = data.draw(st.sets(st.sampled_from([r[0] for r in whole]))) if whole else set()
    gone = [(r[1], r[1] + len(r[2]), 1) for r in whole if r[0] in drop]
    assert records_of(list(with_gaps(content, gone, 7)), container) == [r for r in whole if r[0] not in drop]


@pytest.mark.parametrize("container", ["jsonl", "snapshot:messages", "snapshot", "text", "sqlite", "patchlog"])
def test_of_nothing_at_all(container: str) -> None:
    length = 5_000_000_000 if container in ("jsonl", "sqlite", "patchlog") else 5_000_000
    (batch,) = replay([ReplayGap(length, 7)], container)
    assert batch.gap is not None
    assert batch.gap.records == 7
    assert list(batch.lines) == []


def test_a_giant_document_that_is_gone_is_no_giant_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.capture.replay.MAX_RECORD_BYTES", 1000)
    assert [b.giant for b in replay([ReplayGap(5000, 1)], "snapshot")] == [None]


def test_a_giant_record_before_a_gap_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.capture.replay.MAX_RECORD_BYTES", 1000)
    giant = b'{"x":"' + b"y" * 5000 + b'"}'
    found = list(replay([b'{"a":1}\n' + giant, ReplayGap(10, 1), b'\n{"b":2}\n'], "jsonl"))
    assert [(b.giant.start, b.giant.end) for b in found if b.giant] == [(8, 8 + len(giant))]
    assert [line.raw for b in found for line in b.lines] == [b'{"a":1}', b'{"b":2}']
