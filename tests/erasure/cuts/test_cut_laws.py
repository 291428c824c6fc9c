"""For any content and any sequence of appends, cuts and compactions, what is outside of the holes is what it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.archive import packs
from recollect.archive.packs import pack_numbers
from tests.erasure.cuts.lines import GrowingSource, Range, line

STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(st.integers(0, 900), min_size=1, max_size=6), st.booleans()),
    st.tuples(st.just("cut"), st.lists(st.tuples(st.floats(0, 1.1), st.floats(0, 0.4)), max_size=3)),
    st.tuples(st.just("cut all")),
    st.tuples(st.just("compact"), st.sampled_from([0.0, 0.3, 0.9])),
    st.tuples(st.just("reopen")),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=1, max_size=9))
def test_what_is_outside_of_the_holes_is_byte_for_byte_what_it_was(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, steps: list[tuple]
) -> None:
    for name, size in (("MIN_BYTES", 400), ("AIM_BYTES", 800), ("FORCE_BYTES", 1200), ("HARD_BYTES", 2000)):
        monkeypatch.setattr(packs, name, size)
    source = GrowingSource(tmp_path_factory.mktemp("home"))
    number = 0
    for name, *rest in steps:
        if name == "append":
            sizes, is_torn = rest
            lines = [line(number + i, size) for i, size in enumerate(sizes)]
            number += len(sizes)
            tail = source.content[source.committed :]
            data = b"".join(lines)
            source.append(b"\n" * bool(tail) + (data[:-5] if is_torn else data))
        elif name == "cut":
            size = len(source.content)
            source.cut(merged([(int(at * size), int(at * size + much * size)) for at, much in rest[0]]))
        elif name == "cut all":
            source.cut([(0, 1 << 40)] if source.committed else [])
        elif name == "compact":
            source.compact(rest[0])
        else:
            source.close()
            source.open()
        source.check()
    source.close()


def merged(ranges: list[Range]) -> list[Range]:
    found: list[Range] = []
    for start, stop in sorted(ranges):
        if start >= stop:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return found


@pytest.fixture
def source(tmp_path: Path) -> GrowingSource:
    source = GrowingSource(tmp_path)
    source.append(b"".join(line(i, 3000) for i in range(200)))
    return source


def test_compacting_gives_back_what_was_cut_and_nothing_else(source: GrowingSource) -> None:
    before = source.archive.size_bytes()
    assert source.cut([(0, 300_000)]) == sum(b - a for a, b in source.holes())
    source.compact()
    freed = before - source.archive.size_bytes()
    assert freed > 0.4 * before
    source.check()
    numbers = pack_numbers(source.home / "archive" / "packs")
    source.compact()
    assert pack_numbers(source.home / "archive" / "packs") == numbers
    source.close()


def test_a_pack_of_which_little_is_dead_is_left_until_more_is(source: GrowingSource) -> None:
    source.cut([(0, 30_000)])
    numbers = pack_numbers(source.home / "archive" / "packs")
    source.compact(0.5)
    assert pack_numbers(source.home / "archive" / "packs") == numbers
    source.cut([(30_000, 590_000)])
    source.compact(0.5)
    assert pack_numbers(source.home / "archive" / "packs") != numbers
    source.check()
    source.close()


def test_chunks_that_another_source_has_too_stay_for_that_one(source: GrowingSource) -> None:
    source.close()
    twin = GrowingSource(source.home, "twin")
    twin.append(source.content)
    twin.archive.flush()
    source.archive, source.writer = twin.archive, twin.writer
    source.cut([(0, 1 << 40)])
    source.compact()
    source.check()
    twin.check()
    twin.close()


def test_a_number_of_a_pack_is_never_used_again(source: GrowingSource) -> None:
    before = pack_numbers(source.home / "archive" / "packs")
    source.cut([(0, 1 << 40)])
    source.compact()
    source.append(line(1000, 500))
    assert min(pack_numbers(source.home / "archive" / "packs")) > max(before)
    source.check()
    source.close()
