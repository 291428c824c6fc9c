"""Patch logs: the folded document is what a naive fold gives, and what a line changed is said, as it is after it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture.containers.jsonl import split_lines
from recollect.capture.containers.patchlog import PatchFold
from recollect.capture.replay import LineReader
from recollect.model.records import Changed
from tests.capture.conftest import Desk
from tests.examples import tried

NAMES = st.sampled_from(("requests", "response", "result", "title", "x"))
PATHS = st.lists(NAMES | st.integers(0, 3), max_size=6)
NATURAL = st.builds(
    lambda steps, length: steps[:length],
    st.tuples(st.just("requests"), st.integers(0, 2), st.just("response"), st.integers(0, 2), NAMES).map(list),
    st.integers(1, 5),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.sampled_from(("", "a", "text")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
LINES = st.one_of(
    st.builds(lambda v: {"kind": 0, "v": v}, VALUES),
    st.builds(lambda k, v: {"kind": 1, "k": k, "v": v}, NATURAL | PATHS, VALUES),
    st.builds(
        lambda k, i, v: {"kind": 2, "k": k, **i, **v},
        NATURAL | PATHS,
        st.just({}) | st.builds(lambda i: {"i": i}, st.integers(-1, 4) | VALUES),
        st.just({}) | st.builds(lambda v: {"v": v}, st.lists(VALUES, max_size=3) | VALUES),
    ),
    st.builds(lambda k: {"kind": 3, "k": k}, NATURAL | PATHS),
    VALUES,
    st.builds(lambda k, v: {"kind": k, "k": v, "v": v}, VALUES, VALUES),
)


class Naive:
    """The fold as the format notes describe it, on plain values, copied at every step."""

    def __init__(self) -> None:
        self.document: Any = None

    def take(self, line: Any) -> None:
        line = copy.deepcopy(line)
        if not isinstance(line, dict):
            return
        kind, path = line.get("kind"), line.get("k")
        if kind == 0 and "v" in line:
            self.document = line["v"]
        is_path = isinstance(path, list) and all(type(s) in (str, int) and (type(s) is str or s >= 0) for s in path)
        if not is_path:
            return
        if kind == 1:
            self.document = self._with(self.document, path, lambda _: line.get("v"))
        elif kind == 2 and (path or isinstance(self.document, list)):
            self.document = self._with(self.document, path, lambda old: self._spliced(old, line))
        elif kind == 3 and path:
            self.document = self._without(self.document, path)

    @staticmethod
    def _spliced(old: Any, line: dict[str, Any]) -> list[Any]:
        array = list(old) if isinstance(old, list) else []
        start, pushed = line.get("i"), line.get("v")
        if type(start) is int and start >= 0:
            array = array[:start]
        return array + (pushed if isinstance(pushed, list) else [])

    def _with(self, node: Any, path: list[Any], change: Any) -> Any:
        """Return a node in which the value at a path is changed; containers that are missing are made."""
        if not path:
            return change(node)
        step, wanted = path[0], dict if isinstance(path[0], str) else list
        if not isinstance(node, dict | list):
            node = wanted()
        if not isinstance(node, wanted):
            return node
        if isinstance(node, dict):
            return {**node, step: self._with(node.get(step), path[1:], change)}
        node = node + [None] * (step + 1 - len(node))
        return [*node[:step], self._with(node[step], path[1:], change), *node[step + 1 :]]

    def _without(self, node: Any, path: list[Any]) -> Any:
        step = path[0]
        if isinstance(node, dict) and isinstance(step, str) and step in node:
            if len(path) == 1:
                return {name: value for name, value in node.items() if name != step}
            return {**node, step: self._without(node[step], path[1:])}
        if isinstance(node, list) and isinstance(step, int) and step < len(node):
            inner = None if len(path) == 1 else self._without(node[step], path[1:])
            return [*node[:step], inner, *node[step + 1 :]]
        return node


def at(node: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(node, dict) and isinstance(step, str):
            node = node.get(step)
        elif isinstance(node, list) and isinstance(step, int) and step < len(node):
            node = node[step]
        else:
            return None
    return node


def differing(before: Any, after: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths at which two documents differ, as deep as they can be told."""
    if type(before) is type(after) and isinstance(before, dict):
        names = [*before, *(name for name in after if name not in before)]
        missing = object()
        pairs = [(name, before.get(name, missing), after.get(name, missing)) for name in names]
    elif type(before) is type(after) and isinstance(before, list):  # elements that only fill up are nothing
        pairs = [
            (n, before[n] if n < len(before) else None, after[n] if n < len(after) else None)
            for n in range(max(len(before), len(after)))
        ]
    else:
        return [] if before == after and type(before) is type(after) else [path]
    return [found for name, one, two in pairs for found in differing(one, two, (*path, name))]


def is_covered(path: tuple[str | int, ...], changes: tuple[Changed, ...]) -> bool:
    return any(c.path == path[: len(c.path)] or c.path[: len(path)] == path for c in changes)


@settings(max_examples=tried(300))
@given(st.lists(LINES, max_size=7))
def test_the_fold_is_the_naive_one_and_every_difference_is_said(lines: list[Any]) -> None:
    fold, naive = PatchFold(), Naive()
    for line in lines:
        before = naive.document
        naive.take(line)
        changes = fold.take(copy.deepcopy(line))
        assert fold.at(()) == naive.document
        assert [d for d in differing(before, naive.document) if not is_covered(d, changes)] == []
        for change in changes:
            if not change.is_gone:
                assert change.value == at(naive.document, change.path)
            else:
                assert change.value == at(before, change.path)


@settings(max_examples=tried(100))
@given(st.lists(LINES, max_size=7))
def test_what_was_given_out_is_not_changed_by_later_lines(lines: list[Any]) -> None:
    fold = PatchFold()
    given_out = [change for line in lines for change in fold.take(line)]
    copies = PatchFold()
    at_once: list[Changed] = []
    for line in lines:
        at_once += copy.deepcopy(copies.take(line))
    assert given_out == at_once


def folded(*lines: Any) -> tuple[PatchFold, tuple[Changed, ...]]:
    fold = PatchFold()
    changes: tuple[Changed, ...] = ()
    for line in lines:
        changes = fold.take(line)
    return fold, changes


DOCUMENT: dict[str, Any] = {"kind": 0, "v": {"requests": [{"response": [{"value": "a"}], "result": None}]}}


def test_a_change_below_an_element_of_an_answer_gives_that_element() -> None:
    _, changes = folded(DOCUMENT, {"kind": 1, "k": ["requests", 0, "response", 0, "value"], "v": "ab"})
    assert changes == (Changed(("requests", 0, "response", 0), {"value": "ab"}),)
    _, changes = folded(DOCUMENT, {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "b"}]})
    assert changes == (Changed(("requests", 0, "response", 1), {"value": "b"}),)


def test_an_array_that_is_cut_says_what_is_gone_before_what_came() -> None:
    _, changes = folded(DOCUMENT, {"kind": 2, "k": ["requests", 0, "response"], "i": 0, "v": [{"value": "z"}]})
    assert changes == (
        Changed(("requests", 0, "response", 0), {"value": "a"}, is_gone=True),
        Changed(("requests", 0, "response", 0), {"value": "z"}),
    )
    fold, changes = folded(DOCUMENT, {"kind": 2, "k": ["requests"], "i": 0})
    assert [c.is_gone for c in changes] == [True]
    assert fold.at(("requests",)) == []


def test_a_removed_member_is_gone_with_what_it_was() -> None:
    fold, changes = folded(DOCUMENT, {"kind": 3, "k": ["requests"]})
    assert [(c.path, c.is_gone) for c in changes] == [(("requests",), True)]
    assert fold.at(()) == {}


@pytest.mark.parametrize(
    "path",
    [["requests", 10**9], ["new", 10**6, 10**6], [-1], [True], [1.5], [None], "requests", {"a": 1}, ["x"] * 65],
)
def test_a_path_that_leads_nowhere_or_too_far_is_left_alone(path: Any) -> None:
    fold, changes = folded(DOCUMENT, {"kind": 1, "k": path, "v": "x"})
    assert (changes, fold.at(())) == ((), DOCUMENT["v"])


def test_a_very_deep_value_is_no_obstacle() -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    fold, changes = folded(DOCUMENT, {"kind": 1, "k": ["requests", 0, "result"], "v": deep})
    assert fold.at(("requests", 0, "result")) == deep
    assert [c.path for c in changes] == [("requests", 0, "result")]


@given(st.lists(LINES, max_size=6), st.data())
def test_lines_mean_the_same_wherever_the_stream_is_cut(lines: list[Any], data: st.DataObject) -> None:
    raw = b"".join(json.dumps(line).encode("utf-8", "replace") + b"\n" for line in lines)
    records = split_lines(raw, is_end=True, is_start=True).lines
    whole = LineReader("patchlog").take(records)
    cut = data.draw(st.integers(0, len(records)))
    reader = LineReader("patchlog")
    assert [*reader.take(records[:cut]), *reader.take(records[cut:])] == list(whole)


# In a memory


def test_a_log_that_grows_is_folded_from_its_start_in_every_pass(desk: Desk) -> None:
    lines = [
        {"kind": 0, "v": {"requests": []}},
        {"kind": 2, "k": ["requests"], "v": [{"message": {"id": "n1", "say": "first"}, "response": []}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"id": "a1", "answer": "one"}]},
        {"kind": 1, "k": ["requests", 0, "response", 0, "answer"], "v": "one and more"},
        {"kind": 2, "k": ["requests"], "v": [{"message": {"id": "n2", "say": "second"}, "response": []}]},
    ]
    for count in range(1, len(lines) + 1):
        desk.put("logs/l.jsonl", b"".join(json.dumps(line).encode() + b"\n" for line in lines[:count]))
        assert desk.sync().records == 1
    assert desk.said("l") == ["first", "second"]
    answers = [e.payload.text for e in desk.events("l") if e.kind == "assistant_message"]
    assert answers[-1] == "one and more"
    before = desk.events("l")
    desk.memory.maintenance.rebuild("all")
    assert desk.events("l") == before
    assert desk.is_whole()


def test_a_log_larger_than_a_slice_is_folded_over_its_slices(small_steps: Desk) -> None:
    desk = small_steps
    lines: list[Any] = [{"kind": 0, "v": {"requests": [{"message": {"id": "n1", "say": "first"}, "response": []}]}}]
    lines += [
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"id": f"a{n}", "answer": "x" * 9000}]} for n in range(30)
    ]
    lines.append({"kind": 1, "k": ["requests", 0, "response", 29, "answer"], "v": "the last one"})
    desk.put("logs/l.jsonl", b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    desk.sync()
    answers = [e.payload.text for e in desk.events("l") if e.kind == "assistant_message"]
    assert answers[-1] == "the last one"
    assert len(answers) == 30


def test_a_line_that_is_not_json_stops_nothing(desk: Desk) -> None:
    good = json.dumps({"kind": 0, "v": {"requests": [{"id": "n1", "say": "first"}]}}).encode()
    more = json.dumps({"kind": 2, "k": ["requests"], "v": [{"id": "n2", "say": "second"}]}).encode()
    desk.put("logs/l.jsonl", good + b"\n{broken\n" + more + b"\n")
    assert desk.sync().defects == {"not_json": 1}
    assert desk.said("l") == ["first", "second"]
