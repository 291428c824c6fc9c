"""Which replies close a turn of work: told from the rows around them, of their own session, within reach."""

from __future__ import annotations

from msgspec.structs import replace

from recollect.model.payloads import KINDS
from recollect.store.events import REACH
from recollect.store.reader import Reader
from recollect.store.writer import Writer
from tests.store.slices import Line, Source, make_slices, write_all

P, A, T, C, R, E = "user_message", "assistant_message", "thinking", "tool_call", "tool_result", "file_edit"
COUNTED = "token_usage"


def write(writer: Writer, *kinds: str, source: Source | None = None, hidden: int | None = None) -> None:
    """Write a session with an event of each kind. hidden: the place of one that a newer version replaces."""
    source = source or Source()
    lines = [Line(f"text {n}", f"{source.session}-{n}", session=source.session) for n in range(len(kinds))]
    if hidden is not None:
        lines.append(Line("the newer version", "newer", session=source.session, replaces=(lines[hidden].name or "", 0)))
        kinds = (*kinds, COUNTED)
    [slice_] = make_slices(lines, source)
    [part] = slice_.sessions
    part.events[:] = [replace(e, kind=KINDS.index(kind)) for e, kind in zip(part.events, kinds, strict=True)]
    write_all(writer, [slice_])


def closing(reader: Reader, *seqs: int, session: int = 1) -> set[int]:
    texts = reader.hit_texts().texts([session << 24 | n for n in seqs], with_closing=True)
    return {key & 0xFFFFFF for key, text in texts.items() if text.is_closing}


def test_the_last_reply_of_a_turn_of_work_closes_it(writer: Writer, reader: Reader) -> None:
    write(writer, P, A, C, R, A, COUNTED, P, A, P, T, C, R, A)
    assert closing(reader, *range(13)) == {4, 12}


def test_a_reply_before_thoughts_or_another_reply_closes_nothing(writer: Writer, reader: Reader) -> None:
    write(writer, P, C, R, A, T, A, A, P)
    assert closing(reader, *range(8)) == {6}


def test_an_edit_told_with_the_reply_is_work(writer: Writer, reader: Reader) -> None:
    write(writer, P, A, E, E, P, A, P)
    assert closing(reader, *range(7)) == {1}


def test_other_sessions_do_not_count(writer: Writer, reader: Reader) -> None:
    write(writer, P, C, R, A)
    write(writer, A, P, source=Source("b", session="two"))
    assert closing(reader, 3) == {3}
    assert closing(reader, 0, session=2) == set()


def test_what_is_hidden_is_not_seen(writer: Writer, reader: Reader) -> None:
    write(writer, P, C, R, A, A, P, hidden=4)
    assert closing(reader, 3) == {3}


def test_no_further_than_its_reach(writer: Writer, reader: Reader) -> None:
    far = [COUNTED] * REACH
    write(writer, P, C, *far, A, *far, C)
    assert closing(reader, 2 + REACH) == set()
    write(writer, P, C, *far[1:], A, *far, C, source=Source("b", session="two"))
    assert closing(reader, 1 + REACH, session=2) == {1 + REACH}
