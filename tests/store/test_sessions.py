"""What is known of a session: merged facts, its repository, its place in the tree, how it is found."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from recollect.model.payloads import UserMessage
from recollect.model.sessions import Session, SessionPatch
from recollect.store.reader import Reader, open_reader
from recollect.store.rows import EventFilter
from recollect.store.session_rows import SessionFacts, repo_of
from recollect.store.writer import Writer, open_writer
from tests.store.slices import START, Line, Source, make_slices, write_all


def write_session(writer: Writer, native: str, *, lines: int = 1, minute: int = 0, **patch: Any) -> None:
    made = [Line(f"{native} {n}", f"{native}-{n}", session=native, minute=minute) for n in range(lines)]
    write_all(writer, make_slices(made, Source(native, session=native, patch=patch)))


def get(reader: Reader, uid: str) -> Session:
    session = reader.session(uid)
    assert session is not None
    return session


def roots(reader: Reader) -> dict[str, str]:
    return {s.session_uid: s.root_session for s in reader.sessions(EventFilter(), limit=100)[0]}


@pytest.mark.parametrize(
    ("facts", "repo"),
    [
        ({"repo_root": "/work/alpha", "git_remote": "git@host:org/beta.git", "cwd": "/x/gamma"}, "alpha"),
        ({"git_remote": "git@host:org/beta.git", "cwd": "/x/gamma"}, "beta"),
        ({"git_remote": "https://host/org/beta/?a=b", "cwd": "/x/gamma"}, "beta"),
        ({"git_remote": "host:beta.git"}, "beta"),
        ({"cwd_first": "/x/gamma/", "cwd": "/elsewhere"}, "gamma"),
        ({"cwd": r"C:\work\delta"}, "delta"),
        ({"repo_root": "/work/alpha/.claude/worktrees/fix-1"}, "alpha"),
        ({"cwd": "/work/alpha/.worktrees/fix/src"}, "alpha"),
        ({"cwd": "/"}, ""),
        ({}, ""),
    ],
)
def test_the_repository_follows_one_rule(facts: Mapping[str, str], repo: str) -> None:
    assert repo_of(SessionFacts(**facts)) == repo


def test_a_name_that_many_sessions_share_is_listed_once(writer: Writer, reader: Reader) -> None:
    for native in ("one", "two", "three"):
        write_session(writer, native, cwd=f"/{native}/shop", git_branch="main")
    assert (reader.names("repo"), reader.names("branch"), reader.names("agent")) == (("shop",), ("main",), ("claude",))


def test_the_newest_title_and_the_first_lineage_win(writer: Writer, reader: Reader) -> None:
    lines = [Line("a"), Line("b")]
    first = Source(patch={"title": "old", "cwd": "/work/alpha", "tool_version": "1", "models": ["m1"]})
    second = Source(patch={"title": "new", "cwd": "/work/beta", "tool_version": "2", "models": ["m2", "m1"]})
    write_all(writer, make_slices(lines, first, cuts=[1])[:1])
    write_all(writer, make_slices(lines, second, cuts=[1])[1:])
    session = get(reader, "claude:one")
    assert (session.title, session.title_status, session.cwd) == ("new", "agent", "/work/beta")
    assert (session.tool_version, session.models, session.repo, session.domain) == ("1", ("m1", "m2"), "alpha", "work")


def test_the_first_human_words_stand_in_for_a_title(writer: Writer, reader: Reader) -> None:
    write_all(writer, make_slices([Line("please fix it", is_human=True), Line("ok"), Line("more", is_human=True)]))
    session = get(reader, "claude:one")
    assert (session.title, session.title_status) == ("please fix it", "derived")


@pytest.mark.parametrize(
    ("prompts", "title"),
    [
        (["hi", "why does the parser skip empty lines?", "add a test"], "why does the parser skip empty lines?"),
        (["add a test for it", "why does the parser skip empty lines?"], "add a test for it"),
        (["hi", "go on"], "hi"),
        (["嗨", "修复空行解析"], "修复空行解析"),
    ],
)
def test_a_session_that_begins_with_a_greeting_is_called_after_the_next_prompt(prompts: list[str], title: str) -> None:
    at_once = SessionPatch()
    in_slices = SessionFacts()
    for text in prompts:
        at_once.take(UserMessage(text=text, origin="human"), None)
        of_slice = SessionPatch()
        of_slice.take(UserMessage(text=text, origin="human"), None)
        in_slices.take(of_slice)
    assert (at_once.first_human, in_slices.first_human) == (title, title)


@pytest.mark.parametrize("order", list(permutations(["root", "child", "grandchild"])))
def test_every_order_of_arrival_gives_the_same_root(tmp_path: Path, order: tuple[str, ...]) -> None:
    parents = {"root": "", "child": "root", "grandchild": "child"}
    with open_writer(tmp_path) as writer, open_reader(tmp_path, None, None) as reader:
        for native in order:
            write_session(writer, native, parent_session=parents[native])
        assert set(roots(reader).values()) == {"claude:root"}


def test_children_group_before_their_parent_arrives(writer: Writer, reader: Reader) -> None:
    for native in ("a", "b"):
        write_session(writer, native, parent_session="missing")
    assert roots(reader) == {"claude:a": "claude:missing", "claude:b": "claude:missing"}


@pytest.mark.parametrize("order", list(permutations(["a", "b", "c"])))
def test_parents_in_a_circle_have_one_root(tmp_path: Path, order: tuple[str, ...]) -> None:
    parents = {"a": "b", "b": "c", "c": "a"}
    with open_writer(tmp_path) as writer, open_reader(tmp_path, None, None) as reader:
        for native in order:
            write_session(writer, native, parent_session=parents[native])
        assert set(roots(reader).values()) == {"claude:a"}


def test_a_session_that_names_itself_as_parent_is_a_root(writer: Writer, reader: Reader) -> None:
    write_session(writer, "a", parent_session="a")
    assert roots(reader) == {"claude:a": "claude:a"}
    assert get(reader, "claude:a").parent_session == ""


def test_a_session_is_found_by_a_unique_prefix(writer: Writer, reader: Reader) -> None:
    for native in ("abc-1", "abc-2", "xyz"):
        write_session(writer, native)
    assert get(reader, "xy").session_uid == "claude:xyz"
    assert get(reader, "claude:abc-2").session_uid == "claude:abc-2"
    assert reader.session("abc") is None
    assert reader.session("") is None
    assert reader.session("%") is None
    assert set(reader.nearest_sessions("abc-7")) == {"claude:abc-1", "claude:abc-2"}
    assert set(reader.nearest_sessions("a")) == {"claude:abc-1", "claude:abc-2"}
    assert reader.nearest_sessions("zzz") == ()


def test_a_beginning_that_subagents_share_means_their_session(writer: Writer, reader: Reader) -> None:
    write_session(writer, "abc-1", lines=2)
    for native, parent in (("abc-1/agent-1", "abc-1"), ("abc-1/agent-1/agent-2", "abc-1/agent-1")):
        write_session(writer, native, parent_session=parent)
    assert get(reader, "abc").session_uid == "claude:abc-1"
    assert len(list(reader.events("claude:abc"))) == 2
    write_session(writer, "abc-2")
    assert reader.session("abc") is None


def test_sessions_are_listed_newest_first_in_pages(writer: Writer, reader: Reader) -> None:
    for minute, native in enumerate(("a", "b", "c", "d")):
        write_session(writer, native, minute=minute)
    page, total = reader.sessions(EventFilter(), limit=2, offset=1)
    assert ([s.session_uid for s in page], total) == (["claude:c", "claude:b"], 4)


def test_sessions_are_confined_by_every_filter(writer: Writer, reader: Reader) -> None:
    write_session(writer, "a", cwd="/w/Alpha", git_branch="main")
    write_session(writer, "b", cwd="/w/beta", git_branch="fix/Login", parent_session="a", minute=60)
    cases: list[tuple[EventFilter, set[str]]] = [
        (EventFilter(repos=("ALP",)), {"a"}),
        (EventFilter(repos=("none",)), set()),
        (EventFilter(branches=("login",)), {"b"}),
        (EventFilter(agents=("Claude",)), {"a", "b"}),
        (EventFilter(agents=("codex",)), set()),
        (EventFilter(sessions=("claude:b",)), {"b"}),
        (EventFilter(is_subagent=True), {"b"}),
        (EventFilter(is_subagent=False, repos=("a",)), {"a"}),
    ]
    for where, expected in cases:
        found, total = reader.sessions(where)
        assert ({s.session_uid.removeprefix("claude:") for s in found}, total) == (expected, len(expected))
        assert len(reader.session_numbers(where)) == len(expected)
    hour = 3_600_000_000
    assert reader.sessions(EventFilter(), after=START + hour)[1] == 1
    assert reader.sessions(EventFilter(), before=START + hour)[1] == 1


def test_ranking_gets_the_keys_of_sessions(writer: Writer, reader: Reader) -> None:
    write_session(writer, "a")
    write_session(writer, "b", lines=3, parent_session="a")
    keys = reader.session_keys([1, 2, 99])
    assert [(k.session_uid, k.root_uid, k.event_count, k.is_subagent) for k in keys.values()] == [
        ("claude:a", "claude:a", 1, False),
        ("claude:b", "claude:a", 3, True),
    ]
    assert reader.session_keys([]) == {}


def test_the_keys_of_sessions_are_those_of_now(writer: Writer, reader: Reader) -> None:
    write_session(writer, "a")
    assert [k.event_count for k in reader.session_keys([1, 2]).values()] == [1]
    write_session(writer, "b", lines=3)
    with writer.transaction():
        writer._db.execute("UPDATE session SET event_count = 2 WHERE number = 1")
    assert [k.event_count for k in reader.session_keys([1, 2]).values()] == [2, 3]
    assert sum(reader.shards().values()) == 5
    assert reader.index_lag("index").events == 4


def test_odd_native_ids_and_paths_survive(writer: Writer, reader: Reader) -> None:
    odd = "naïve \udcff"
    write_all(writer, make_slices([Line("x", session=odd)], Source("odd", session=odd)))
    row = writer.sources("claude")["s-odd"]
    row.path = "/p/\udcff.jsonl"
    writer.touch_source(row)
    [session] = reader.sessions(EventFilter())[0]
    assert session.sources == ("/p/\udcff.jsonl",)
    assert session.source_bytes > 0
    assert writer.sources("claude")["s-odd"].session == odd


def test_the_shard_is_fixed_at_first_sight(writer: Writer) -> None:
    lines = [Line("a"), Line("b", minute=60 * 24 * 90), Line("c", session="two", minute=None)]
    docs = [doc for outcome in write_all(writer, make_slices(lines, cuts=[1])) for doc in outcome.docs]
    assert [doc.shard for doc in docs] == ["2026-05", "2026-05", "undated"]


def test_stats_count_what_is_stored(writer: Writer, reader: Reader) -> None:
    write_session(writer, "a", lines=2)
    write_session(writer, "b", parent_session="a")
    stats = reader.stats()
    [counts] = stats.agents
    assert (counts.sessions, counts.subagent_sessions, counts.events, counts.sources) == (2, 1, 3, 2)
    assert stats.kind_counts == {"assistant_message": 3}
    assert stats.database_bytes > 0
    assert (stats.first_event, stats.last_event) == (START, START)


@pytest.mark.parametrize("odd", ["\0", "a\0b", "\udcff", "'; DROP TABLE session; --", "%_*?[", "\U0010ffff"])
def test_no_text_breaks_a_filter(writer: Writer, reader: Reader, odd: str) -> None:
    write_session(writer, "a", git_branch="x\0y")
    where = EventFilter(agents=(odd,), repos=(odd,), branches=(odd,), sessions=(odd,))
    assert reader.sessions(where) == ((), 0)
    assert reader.session(odd) is None
    assert reader.sessions(EventFilter(branches=("\0",)))[1] == 1
    assert len(reader.nearest_sessions(odd)) <= 1
