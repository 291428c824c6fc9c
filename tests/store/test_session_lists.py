"""Lists of sessions in any order, families of sessions, and parts of transcripts before and after a place."""

from __future__ import annotations

from typing import get_args

from recollect.store.reader import Reader
from recollect.store.sessions import SessionOrder, SessionQuestion
from recollect.store.writer import Writer
from tests.store.slices import Line, Source, make_slices, write_all

MAX = 1 << 20


def write(writer: Writer, name: str, *texts: str, **patch: str) -> None:
    lines = [Line(text, f"{name}-{place}", session=name) for place, text in enumerate(texts)]
    write_all(writer, make_slices(lines, Source(key=name, session=name, patch=patch)))


def uids(reader: Reader, asked: SessionQuestion) -> list[str]:
    lines, total = reader.listed(asked, costs={"claude:b": 2.0, "claude:a": 1.0}, limit=100, offset=0)
    assert total == len(lines)
    return [line.session.session_uid for line in lines]


def test_every_order_lists_every_session_and_its_reverse(writer: Writer, reader: Reader) -> None:
    write(writer, "a", "one", "two", title="zebra")
    write(writer, "b", "one", title="Apple")
    write(writer, "c", "one", "two", "three", title="mango")
    for order in get_args(SessionOrder):
        for is_descending in (True, False):
            found = uids(reader, SessionQuestion(by=order, is_descending=is_descending))
            assert set(found) == {"claude:a", "claude:b", "claude:c"}
    assert uids(reader, SessionQuestion(by="title", is_descending=False)) == ["claude:b", "claude:c", "claude:a"]
    assert uids(reader, SessionQuestion(by="cost")) == ["claude:b", "claude:a", "claude:c"]
    assert uids(reader, SessionQuestion(title="ZEB")) == ["claude:a"]


def test_a_name_that_many_sessions_have_is_listed_once(writer: Writer, reader: Reader) -> None:
    for name in ("a", "b", "c"):
        write(writer, name, "one", cwd="/w/shop" if name < "c" else "/w/api")
    assert reader.names("repo") == ("api", "shop")


def test_a_family_is_a_tree_from_its_origin(writer: Writer, reader: Reader) -> None:
    write(writer, "root", "x")
    write(writer, "fork", "x", forked_from="root")
    write(writer, "child", "x", parent_session="fork")
    write(writer, "later", "x", resumed_from="root")
    write(writer, "alone", "x")
    for name in ("root", "fork", "child", "later"):
        session = reader.session(f"claude:{name}")
        assert session is not None
        family = {one.session.session_uid: (one.depth, one.how) for one in reader.family(session)}
        assert family == {
            "claude:root": (0, ""), "claude:fork": (1, "fork"), "claude:child": (2, "subagent"),
            "claude:later": (1, "resumed"),
        }  # fmt: skip
    alone = reader.session("claude:alone")
    assert alone is not None
    assert [one.session for one in reader.family(alone)] == [alone]


def test_sessions_that_come_from_each_other_in_a_circle_have_an_end(writer: Writer, reader: Reader) -> None:
    write(writer, "a", "x", forked_from="b")
    write(writer, "b", "x", forked_from="a")
    session = reader.session("claude:a")
    assert session is not None
    assert {one.session.session_uid for one in reader.family(session)} == {"claude:a", "claude:b"}


def test_parts_of_a_transcript_join_where_newer_versions_stand_in_an_older_ones_place(
    writer: Writer, reader: Reader
) -> None:
    lines = [Line(f"text {place}", f"e{place}") for place in range(12)]
    lines += [Line("newer", "n", replaces=("e3", 0)), Line("last", "l"), Line("newest", "m", replaces=("n", 0))]
    write_all(writer, make_slices(lines))
    whole = [event.seq for event in reader.events("claude:one")]
    assert whole.index(14) == 3
    for place, seq in enumerate(whole):
        after = [e.seq for e in reader.transcript("claude:one", first_seq=seq, limit=MAX, max_chars=MAX)]
        assert after == whole[place:]
        for behind in (1, 4, 100):
            found = reader.transcript("claude:one", first_seq=seq, limit=MAX, max_chars=MAX, behind=behind)
            assert [event.seq for event in found] == whole[max(0, place - behind) :]


def test_what_holds_a_text_is_found_in_any_case(writer: Writer, reader: Reader) -> None:
    texts = ["Alpha", "beta ALPHA", 'a "quoted" word', "back\\slash", "Größe", "gamma"]
    write_all(writer, make_slices([Line(text, f"e{place}") for place, text in enumerate(texts)]))

    def found(text: str) -> list[int]:
        return [seq for seq, holds in reader.holding("claude:one", text, first_seq=0, max_chars=MAX) if holds]

    assert found("alpha") == [0, 1]
    assert found('"quoted"') == [2]
    assert found("\\slash") == [3]
    assert found("GRÖSSE") == [4]
    assert found("delta") == []
