"""The journal folded: what is said of sizes alone is what is said with all chunks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.archive.journal import JournalEntry, JournalTombstone, fold, fold_sizes


@st.composite
def entries(draw: st.DrawFn) -> JournalEntry:
    """An observation, a source let go of, or tombstones; of few sources and revisions, so that they meet."""
    kind = draw(st.sampled_from(["seen", "seen", "seen", "dropped", "tombstones"]))
    size = draw(st.integers(0, 1000))
    return JournalEntry(
        source_id="" if kind == "tombstones" else draw(st.sampled_from("abc")),
        agent="claude",
        role="transcript",
        key="k",
        path="s.jsonl",
        container="jsonl",
        session="s",
        revision=draw(st.integers(0, 2)),
        observed_at=0,
        from_bytes=0,
        to_bytes=size,
        bytes_seen=size,
        keep_chunks=0,
        chunks=[],
        is_dropped=kind == "dropped",
        tombstones=[JournalTombstone(b"id", "source", 0)] if kind == "tombstones" else [],
    )


@given(written=st.lists(entries(), max_size=12))
def test_sizes_are_those_of_the_revisions(written: list[JournalEntry]) -> None:
    whole = {(r.entry.source_id, r.entry.revision): r.bytes_seen for r in fold(written)}
    told = {(source, revision): size for source, of in fold_sizes(written).items() for revision, size in of.items()}
    assert told == whole
