"""Hypothesis strategies of transcripts: any JSON, lines or bytes. Needs `hypothesis`."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

Json = Any

_SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=20)


def any_json() -> st.SearchStrategy[Json]:
    """Any small JSON value."""
    return st.recursive(
        _SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    )


def any_record(
    types: tuple[str, ...] = ("user", "assistant", "system", "response_item", "event_msg"),
) -> st.SearchStrategy[Json]:
    """A record that says it is of one of `types`, or of none, and holds anything at all."""
    names = st.sampled_from(("type", "uuid", "message", "payload", "timestamp", "sessionId", "content"))
    return st.builds(
        lambda fields, kind: {**fields, "type": kind},
        st.dictionaries(names | st.text(max_size=8), any_json(), max_size=5),
        st.sampled_from(types) | any_json(),
    )


def any_values(max_records: int = 8) -> st.SearchStrategy[list[Json]]:
    """The decoded records of a source: records of known types with anything in them, or any JSON."""
    return st.lists(any_record() | any_json(), max_size=max_records)


def any_line() -> st.SearchStrategy[bytes]:
    """One line without its end: a record, any JSON, or any bytes."""
    written = (any_record() | any_json()).map(
        lambda v: json.dumps(v, ensure_ascii=False).encode("utf-8", "surrogatepass")
    )
    return written | st.binary(max_size=60).map(lambda b: b.replace(b"\n", b""))


def any_transcript(max_lines: int = 12) -> st.SearchStrategy[bytes]:
    """The bytes of a file of lines: any lines, any line ends, and perhaps an unfinished last one."""
    ended = st.builds(lambda line, end: line + end, any_line(), st.sampled_from((b"\n", b"\r\n", b"\n\n")))
    return st.builds(
        lambda lines, rest: b"".join(lines) + rest, st.lists(ended, max_size=max_lines), st.just(b"") | any_line()
    )


def cuts_of(size: int, max_cuts: int = 4) -> st.SearchStrategy[list[int]]:
    """Ascending places to cut `size` bytes at, the end included."""
    inside = st.lists(st.integers(1, max(1, size - 1)), max_size=max_cuts, unique=True).map(sorted)
    return inside.map(lambda places: [*(p for p in places if p < size), size])
