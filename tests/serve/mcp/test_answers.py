"""What an answer holds: as much as fits its bytes, the rest by cursor, from the repository that the caller works in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import UnknownName, UsageError
from recollect.memory import ForgetSelection, Memory
from recollect.serve.mcp.bounded_answer import Caller, Cursors, PageFrame, fit, size
from recollect.serve.mcp.handler import ToolHandler
from recollect.serve.mcp.tools import TOOLS
from tests.serve.mcp.homes import Machine, with_history

_CURSOR = re.compile(r'cursor "([^"]+)"$')
_CJK = "結帳服務的測試不穩定，因為它讀取了真實的時鐘而不是假的時鐘。"
_LONG = "The retry of the payment gateway waits for a jittered backoff before it gives up. " * 40


def big(machine: Machine) -> Machine:
    """Many long sessions, in Latin and in Chinese."""
    for number in range(14):
        session = machine.claude(f"big-{number}", branch=f"feature/{'very-' * 20}{number}")
        session.user(f"Number {number}: {_LONG}")
        session.assistant(f"{_LONG} answered {number}")
        for call in range(6):
            edit = {"file_path": f"/w/{'deep/' * 30}{call}.py", "old_string": "a", "new_string": _LONG}
            session.tool("Edit", edit, _LONG)
            session.tool("Bash", {"command": f"pytest {_LONG}"}, _LONG, is_error=True)
        chinese = machine.codex(f"cjk-{number}")
        chinese.turn(f"{number} {_CJK * 30}", f"{_CJK * 30} payment gateway")
    return machine


class Asked:
    """A desk over one open memory."""

    def __init__(self, memory: Memory, folder: Path | None, key: bytes = b"k") -> None:
        caller = Caller((str(folder),) if folder else ())
        self._desk = ToolHandler(memory, Cursors(key), caller, ["Coverage is partial: a note."])

    def __call__(self, name: str, /, **arguments: Any) -> str:
        return self._desk.answer(name, arguments)

    def pages(self, tool: str, /, **arguments: Any) -> list[str]:
        pages = [self(tool, **arguments)]
        while found := _CURSOR.search(pages[-1]):
            assert len(pages) < 500
            pages.append(self(tool, **arguments, cursor=found[1]))
        return pages


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    machine = big(Machine(tmp_path_factory.mktemp("large")))
    machine.sync()
    with machine.memory() as memory:
        yield Asked(memory, machine.folder("shop"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    machine = with_history(Machine(tmp_path_factory.mktemp("small")))
    machine.sync()
    with machine.memory() as memory:
        yield Asked(memory, machine.folder("shop"))


@pytest.mark.parametrize("max_bytes", [1000, 4096, 20_000])
def test_no_page_of_any_answer_is_larger_than_asked_for(large: Asked, max_bytes: int) -> None:
    sessions = [cited.partition("#")[0] for cited in re.findall(r"^\S+#0", large("list_sessions", limit=50), re.M)]
    assert sessions
    asked: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "payment gateway", "limit": 50}),
        ("search", {"query": "假的時鐘", "limit": 50}),
        ("search", {"query": "nothing of this is there qwxz"}),
        ("search_conversations", {"query": "retry of the payment gateway", "limit": 50}),
        ("search_conversations", {"query": "測試不穩定", "limit": 50}),
        ("list_sessions", {"limit": 50}),
        *(("get_session", {"session": uid}) for uid in sessions[:4]),
        *(("open", {"id": f"{uid}#{seq}", "around": 20}) for uid in sessions[:4] for seq in (1, 2, 5)),
    ]
    sizes: list[int] = []
    for tool, arguments in asked:
        pages = large.pages(tool, **arguments, max_bytes=max_bytes)
        sizes += [size(page) for page in pages]
        assert len(pages) > 1 or tool in ("search", "open") or max_bytes > 4096, (tool, arguments)
    assert max(sizes) <= max_bytes
    assert len(sizes) > len(asked) + (10 if max_bytes <= 4096 else 2)


def test_default_answers_take_at_most_four_kibibytes(large: Asked) -> None:
    for tool, arguments in (
        ("search", {"query": "payment gateway"}),
        ("search", {"query": "真實的時鐘"}),
        ("search_conversations", {"query": "payment"}),
        ("list_sessions", {}),
    ):
        assert 1000 < size(large(tool, **arguments)) <= 4096, tool


def test_a_long_text_is_given_whole_over_its_pages(large: Asked) -> None:
    cited = re.search(r"^(\S+#\d+) .* user_message", large("search", query="payment kind:user_message"), re.M)
    assert cited is not None
    pages = large.pages("open", id=cited[1], max_bytes=1000)
    body = "".join(re.findall(r"^ {2}\| (.*)", "\n".join(pages[1:]), re.M))
    assert len(pages) > 4
    assert pages[0].count("\n") > 4, "the first page has the neighbours"
    assert body.endswith(_LONG.strip()[-len(body) :])
    assert body.count("jittered backoff") > 25


def test_the_repository_that_the_caller_works_in_is_the_default(small: Asked) -> None:
    assert "blog" not in small("list_sessions")
    assert "repository shop" in small("list_sessions")
    assert "@main" in small("list_sessions", scope="all")
    assert "blog@main" in small("list_sessions", scope="all")
    assert "blog@main" in small("list_sessions", repo="blo")


def test_a_repository_with_nothing_says_so_and_how_to_widen(history: Machine) -> None:
    with history.memory() as memory:
        nowhere, blog = Asked(memory, history.folder("empty")), Asked(memory, history.folder("blog"))
        listed, found = nowhere("list_sessions"), blog("search", query="checkout")
        assert "No sessions in repository empty. 3 elsewhere" in listed
        assert "Nothing found in repository blog." in found
        assert 'scope "all"' in listed
        assert 'scope "all"' in found
        assert re.search(r"\. (1 event matches|\d+ events match) elsewhere: repeat", found)
        assert "Nothing elsewhere either" in blog("search", query="zyxwvut")


def test_hits_that_match_only_in_part_do_not_hide_what_matches_better_elsewhere(history: Machine) -> None:
    with history.memory() as memory:
        blog = Asked(memory, history.folder("blog"))
        for tool in ("search", "search_conversations"):
            found = blog(tool, query="blog checkout")
            assert re.search(r"^\S+:\S+", found, re.M)
            assert re.search(r"(1 event matches|\d+ events match) elsewhere: repeat", found), found


def test_in_a_folder_of_which_nothing_is_stored_a_search_looks_everywhere_and_says_so(history: Machine) -> None:
    with history.memory() as memory:
        nowhere = Asked(memory, history.folder("empty"))
        for tool in ("search", "search_conversations"):
            found = nowhere(tool, query="checkout")
            assert "Nothing is stored of repository empty: these are from elsewhere." in found
            assert re.search(r"^claude:\S+#\d+ ", found, re.M)
        pages = nowhere.pages("search", query="checkout", limit=1)
        assert len(pages) > 1
        assert "Nothing found" in nowhere("search", query="zyxwvut")


def test_another_repository_with_a_longer_name_is_not_this_one(machine: Machine) -> None:
    for name in ("shop", "shop-admin"):
        machine.claude(name, repo=name).user(f"work in {name}")
    machine.sync()
    with machine.memory() as memory:
        listed = Asked(memory, machine.folder("shop"))("list_sessions")
    assert "work in shop" in listed
    assert "shop-admin" not in listed


def test_a_folder_inside_of_a_repository_and_a_worktree_are_the_repository(history: Machine) -> None:
    top = history.folder("shop")
    (top / ".git" / "worktrees" / "fix").mkdir(parents=True)
    inside = top / "src" / "deep"
    inside.mkdir(parents=True)
    worktree = history.folder("fix")
    (worktree / ".git").write_text(f"gitdir: {top / '.git' / 'worktrees' / 'fix'}\n", "utf-8")
    with history.memory() as memory:
        for folder in (inside, worktree):
            assert "Fix the flaky checkout test" in Asked(memory, folder)("list_sessions")


def test_a_clone_under_another_name_is_found_by_its_remote(history: Machine) -> None:
    clone = history.folder("my-clone")
    (clone / ".git").mkdir()
    (clone / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:team/shop.git\n', "utf-8")
    with history.memory() as memory:
        assert "Fix the flaky checkout test" in Asked(memory, clone)("list_sessions")


def test_filters_confine(small: Asked) -> None:
    assert "codex" not in small("search", query="checkout", agent="claude")
    assert "claude" not in small("list_sessions", agent="codex").split("\n", 2)[2]
    assert "tool_call" not in small("search", query="checkout", kind="user_message")
    assert "user_message" not in small("search", query="checkout", tool="shell")
    assert "Nothing found" in small("search", query="checkout", before="2026-01-01")
    assert "checkout" in small("search", query="checkout", after="2026-07", before="2026-09")
    assert "Nothing found" in small("search", query="checkout", after="yesterday")
    assert "No sessions" in small("list_sessions", after="2027")
    assert "claude" in small("list_sessions", agent="claude-code")


def test_a_query_cannot_lose_its_filters(small: Asked) -> None:
    for query in ('"', 'certificate "', 'certificate" "', "certificate\nrepo:blog agent:codex", "-certificate render"):
        assert "blog@" not in small("search_conversations", query=query)
        assert "render the certificate page" not in small("search", query=query)


def test_a_query_that_names_a_repository_looks_there(small: Asked) -> None:
    assert "blog@main" in small("search_conversations", query="repo:blog certificate")
    assert "blog@main" in small("search_conversations", query="certificate", repo="blog")


def test_pasted_output_is_searched_as_words(small: Asked) -> None:
    assert "1 failed" in small("search", query='E assert 3 == 4\n"1 failed"\n-x /tmp/[a')


def test_an_unsure_answer_says_so_before_its_first_hit(small: Asked) -> None:
    text = small("search", query="which zeppelin and which gondola did the checkout moor?")
    assert "(no exact match; closest results" in text.partition("\n| ")[0].partition("#")[0]
    assert text.count("no exact match") == 1


def test_a_summary_says_what_a_session_was_about(small: Asked) -> None:
    uid = re.findall(r"^(claude:\S+)#0", small("list_sessions"), re.M)[0]
    said = small("get_session", session=uid)
    for part in (
        "claude-sonnet-4-5-20250929",
        "shop@main",
        "1 turn",
        "first prompt\n  | Fix the flaky checkout test",
        "last answer\n  | The checkout test read the wall clock",
        "failed\n  | Bash pytest -q tests/test_checkout.py → failed: E assert 3 == 4 1 failed",
    ):
        assert part in said
    events = small.pages("get_session", session=uid)[1:]
    assert re.findall(r"#(\d+) ·", "".join(events)) == sorted(re.findall(r"#(\d+) ·", "".join(events)), key=int)
    assert "done" in events[0]


def test_a_tool_is_named_once(small: Asked) -> None:
    called = small("search", query="pytest", kind="tool_call", scope="all")
    assert " · tool_call Bash" in called
    assert "| Bash" not in called


def test_code_lists_and_tables_keep_their_lines(machine: Machine) -> None:
    session = machine.claude("lines")
    session.user("How does the heron retry?")
    session.assistant(
        "The heron retries:\n\n```python\n    for wait in (1, 2):\n        retry(wait)\n```\n\n| wait | unit   |\n"
        "|------|--------|\n| 1    | second |\n"
    )
    with machine.memory() as memory:
        memory.sync()
        asked = Asked(memory, None)
        shown = (
            "  | The heron retries:\n  | ```python\n  |     for wait in (1, 2):\n  |         retry(wait)\n  | ```\n"
            "  | | wait | unit |\n  | |------|--------|\n  | | 1 | second |\n"
        )
        assert shown in asked("search", query="How does the heron retry?")
        found = re.search(r"claude:\S+(?=#0)", asked("list_sessions"))
        assert found is not None
        assert shown in asked("get_session", session=found[0])


def test_a_search_says_how_to_look_further_in_one_session(small: Asked) -> None:
    uid = re.findall(r"^(claude:\S+)#0", small("list_sessions"), re.M)[0]
    told = "More of one session: search with `session`."
    assert told in small("search", query="the", limit=1)
    assert told not in small("search", query="the", limit=1, session=uid)


def test_an_event_is_opened_with_its_neighbours(small: Asked) -> None:
    uid = re.findall(r"^(claude:\S+)#0", small("list_sessions"), re.M)[0]
    opened = small("open", id=f"{uid}#4", around=1)
    assert re.findall(r"#(\d+) ·", opened) == ["2", "4", "5"]
    assert "  | E assert 3 == 4\n  | 1 failed" in opened
    assert re.findall(r"#(\d+) ·", small("open", id=f"{uid}#4", around=0)) == ["4"]
    assert small("open", id=f"{uid[:12]}#4") == small("open", id=f"{uid}#4").replace(uid, uid)


@pytest.mark.parametrize(
    ("tool", "arguments", "error", "says"),
    [
        ("search", {}, UsageError, "the call is missing the required field `query`"),
        ("search", {"query": ""}, UsageError, "the query is empty"),
        ("search", {"query": "x" * 5000}, UsageError, "`query`"),
        ("search", {"query": ["a"]}, UsageError, "`query`"),
        ("search", {"query": "x", "limit": 10**9}, UsageError, "`limit`"),
        ("search", {"query": "x", "limit": "many"}, UsageError, "`limit`"),
        ("search", {"query": "x", "scope": "world"}, UsageError, "`scope`"),
        ("search", {"query": "x", "agent": "claud-code"}, UnknownName, "no agent"),
        ("search", {"query": "x", "agent": "claude,claud-code"}, UnknownName, "no agent"),
        ("search_conversations", {"query": "x", "agent": "claud-code"}, UnknownName, "no agent"),
        ("list_sessions", {"agent": "claud-code"}, UnknownName, "no agent"),
        ("list_sessions", {"repo": "shp"}, UnknownName, "no repository called 'shp'; did you mean shop"),
        ("search", {"query": "x", "repo": "shp"}, UnknownName, "no repository called 'shp'; did you mean shop"),
        ("search_conversations", {"query": "x", "repo": "shp"}, UnknownName, "did you mean shop"),
        ("search", {"query": "x", "kind": "tool_cal"}, UnknownName, "did you mean tool_call"),
        ("search", {"query": "x", "tool": "bsh"}, UnknownName, "no tool called 'bsh'; did you mean Bash"),
        ("search", {"query": "x", "session": "claude:nope"}, UnknownName, "no session called 'claude:nope'"),
        ("search", {"query": "x", "collection": "bekery"}, UnknownName, "no collection called 'bekery'"),
        ("search", {"query": "x", "after": "whenever"}, UsageError, "is not a time"),
        ("search", {"query": "x", "nested": {"a": [1] * 40_000}}, UsageError, "larger"),
        ("search", {"query": "x", "max_bytes": 10}, UsageError, "`max_bytes`"),
        ("search", {"query": "x\ud800"}, UsageError, "not text"),
        ("search", {"query": "x", "cursor": "AAAA"}, UsageError, "not one of ours"),
        ("search", {"query": "x", "cursor": "‹›"}, UsageError, "not one of ours"),
        ("list_sessions", {"query": "x"}, UsageError, "the call has an unknown field `query`"),
        ("get_session", {"session": "claude:nobody"}, UnknownName, "no session"),
        ("get_session", {"session": "' OR 1=1 --"}, UnknownName, "no session"),
        ("open", {"id": "claude:nobody#1"}, UnknownName, "no session"),
        ("open", {"id": "no citation"}, UsageError, "not a citation"),
        ("open", {"id": "claude:x#٣"}, UsageError, "not a citation"),
        ("open", {"id": "claude:x#99999999999999999999"}, UsageError, "not a citation"),
        ("delete_everything", {}, UnknownName, "no tool"),
    ],
)
def test_what_cannot_be_asked_is_a_clear_error(
    small: Asked, tool: str, arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=re.escape(says)):
        small(tool, **arguments)


def test_a_repository_that_nobody_knows_is_noted_where_the_query_names_it(small: Asked) -> None:
    assert "no repository called 'shp'; did you mean shop?" in small("search", query="checkout repo:shp")


def test_the_repository_of_the_caller_may_be_new(history: Machine) -> None:
    new = history.folder("bakery")
    with history.memory() as memory:
        asked = Asked(memory, new)
        for text in (asked("search", query="checkout"), asked("list_sessions"), asked("list_sessions", repo="bakery")):
            assert "called" not in text
        assert "Nothing is stored of repository bakery" in asked("search", query="checkout")


def test_a_collection_is_searched_alone_wherever_the_caller_works(history: Machine, tmp_path: Path) -> None:
    for name in ("bakery", "dairy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(f"# Checkout\n\nThe checkout of the {name}.\n")
    with history.memory() as memory:
        for name in ("bakery", "dairy"):
            memory.documents.add(tmp_path / name)
        asked = Asked(memory, history.folder("shop"))
        by_argument = asked("search", query="checkout", collection="Bakery")
        for answer in (by_argument, asked("search", query="checkout collection:bakery")):
            assert "document:bakery/README.md" in answer
            assert "claude:" not in answer
            assert "dairy" not in answer
        assert "claude:" in asked("search", query="checkout -collection:bakery")
        with pytest.raises(UnknownName, match="no collection called 'bakry'; did you mean bakery"):
            asked("search", query="checkout", collection="bakry")


def test_an_agent_is_known_by_any_of_its_names(small: Asked) -> None:
    by_slug = small("search", query="checkout", agent="claude")
    assert small("search", query="checkout", agent="cc") == small("search", query="checkout", agent="Claude Code")
    assert by_slug == small("search", query="checkout", agent="claude_code")


def test_an_unknown_agent_in_a_query_is_a_note(small: Asked) -> None:
    answer = small("search", query="checkout agent:claud-code")
    assert "no agent called 'claud-code'; did you mean claude" in answer
    assert "nothing was searched" in answer


def test_numbers_as_text_nulls_and_empty_texts_are_understood(small: Asked) -> None:
    same = small("search", query="checkout", limit=2)
    assert small("search", query="checkout", limit="2", agent=None, repo="", cursor="") == same


@given(text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=200))
def test_any_query_is_answered(large: Asked, text: str) -> None:
    if text.strip():
        assert large("search", query=text, scope="all").startswith("<recollect-memory>")


def test_a_cursor_belongs_to_its_call_and_to_its_memory(large: Asked, small: Asked) -> None:
    found = _CURSOR.search(large("search", query="payment", limit=2))
    assert found is not None
    cursor = found[1]
    with pytest.raises(UsageError, match="other arguments"):
        large("search", query="payment gateway", limit=2, cursor=cursor)
    with pytest.raises(UsageError, match="other arguments"):
        large("list_sessions", cursor=cursor)
    with pytest.raises(UsageError, match="not one of ours"):
        large("search", query="payment", cursor=cursor[:-2] + ("AA" if cursor[-2:] != "AA" else "BB"))
    assert "these from number 3" in large("search", query="payment", limit=5, max_bytes=8000, cursor=cursor)
    with pytest.raises(UsageError, match="not one of ours"):
        Asked(large._desk._memory, None, key=b"another")("search", query="payment", scope="all", cursor=cursor)


def test_a_cursor_of_an_answer_that_has_changed_is_stale(machine: Machine) -> None:
    with_history(machine)
    machine.sync()
    with machine.memory() as memory:
        asked = Asked(memory, None)
        found = _CURSOR.search(asked("search", query="checkout", limit=1))
        listed = _CURSOR.search(asked("list_sessions", limit=1))
        assert found is not None
        assert listed is not None
        newer = machine.claude("newer")
        newer.user("checkout?")
        newer.assistant("checkout checkout checkout checkout: the checkout")
        memory.sync()
        with pytest.raises(UsageError, match="stale"):
            asked("search", query="checkout", limit=1, cursor=found[1])
        # A list goes on behind the session that it showed last, whatever came in before it.
        assert asked("list_sessions", limit=1, cursor=listed[1]).startswith("<recollect-memory>")


@given(
    lines=st.lists(st.text(st.characters(codec="utf-8"), max_size=400), max_size=12), max_bytes=st.integers(1000, 9000)
)
def test_any_lines_fit(lines: list[str], max_bytes: int) -> None:
    page = fit(lines, PageFrame("What they are." * 50, ("a note", "時" * 500, "b", "x" * 900)), max_bytes=max_bytes)
    assert size(page.text) <= max_bytes
    assert page.shown >= min(1, len(lines))


def test_every_property_of_a_tool_is_an_argument_and_the_other_way_round() -> None:
    import msgspec

    for tool in TOOLS:
        fields = {field.name: field for field in msgspec.structs.fields(tool.arguments)}
        assert set(tool.properties) == set(fields), tool.name
        assert set(tool.required) == {name for name, field in fields.items() if field.required}
        for name, schema in tool.properties.items():
            if "default" in schema:
                assert schema["default"] == fields[name].default, (tool.name, name)


def test_a_session_says_on_each_page_where_something_was_forgotten(machine: Machine) -> None:
    session = machine.claude("one")
    session.user("please look at the readme")
    session.assistant("It is fine.")
    session.user("now call it zapbox")
    session.assistant("Done.")
    machine.sync()
    with machine.memory() as memory:
        asked = Asked(memory, None)
        assert "forgotten here" not in "".join(asked.pages("get_session", session=session.uid))
        memory.maintenance.forgetting.run(ForgetSelection(pattern="zapbox"))
        pages = asked.pages("get_session", session=session.uid)
    assert len(pages) > 1
    assert all("forgotten here: 1 record after #" in page and "zapbox" not in page for page in pages)
