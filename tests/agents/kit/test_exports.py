"""The tree of a conversation and the head of an export, for any shape that a file may have."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.kit.exports import Left, Step, Tree, first_element
from recollect.testing.strategies import any_json

KEYS = st.sampled_from("abcdef")


@given(
    parents=st.dictionaries(KEYS, st.sampled_from(("", *"abcdefx"))),
    listed=st.dictionaries(KEYS, st.lists(KEYS)),
    current=st.sampled_from(("", *"abcdefx")),
)
def test_every_message_is_visited_once_and_what_leads_to_the_current_one_is_no_branch(
    parents: dict[str, str], listed: dict[str, list[str]], current: str
):
    tree = Tree(parents, listed, current)
    walked = list(tree.walk())
    steps = [item for item in walked if isinstance(item, Step)]
    assert sorted(step.key for step in steps) == sorted(parents)
    line = set(tree.ancestry(current))
    if line:
        assert {step.key for step in steps if not step.is_branch} >= line
    for left in (item for item in walked if isinstance(item, Left)):
        assert Step(left.begin, True) in walked[: walked.index(left)] or left.begin in line


def test_branches_stand_before_the_line_in_the_order_of_the_children():
    parents = {"q": "", "a": "q", "b": "q", "c": "q", "d": "b"}
    walked = list(Tree(parents, {"q": ["c", "a", "b"]}, "d").walk())
    assert [item.key if isinstance(item, Step) else f"<{item.begin}" for item in walked] == [
        "q", "c", "<c", "a", "<a", "b", "d",
    ]  # fmt: skip


def test_a_branch_in_a_branch_ends_in_it():
    parents = {"q": "", "a": "q", "b": "a", "c": "a", "d": "q"}
    walked = list(Tree(parents, {}, "d").walk())
    assert walked == [
        Step("q", False), Step("a", True), Step("b", True), Left("b", "a", True), Step("c", True),
        Left("a", "q", False), Step("d", False),
    ]  # fmt: skip


@given(element=st.dictionaries(st.text(max_size=5), any_json(), max_size=4), cut=st.integers(0, 400))
def test_a_head_gives_the_members_that_are_whole(element: dict[str, Any], cut: int):
    written = json.dumps([element, {"another": 1}]).encode()
    found = first_element(written[:cut])
    whole = first_element(written)
    assert whole == element
    assert found is None or set(found) <= set(element)


def test_a_cut_member_holds_what_is_there_of_it():
    head = b'[{"title": "t", "mapping": {"n1": {"id": "n1", "message": {"id": "n1", "content": {"parts": ["lo'
    assert first_element(head) == {
        "title": "t", "mapping": {"n1": {"id": "n1", "message": {"id": "n1", "content": {"parts": []}}}},
    }  # fmt: skip


def test_a_head_that_is_nested_without_end_gives_nothing():
    assert first_element(b"[" * 60_000) is None
    assert first_element(b'{"a":' * 12_000) is None
