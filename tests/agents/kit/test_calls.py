"""Calls wait for their result, bounded; the edits that they ask for are told from any arguments."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from recollect.agents.kit.calls import (
    MAX_ALL_CHARS,
    MAX_CALLS,
    MAX_EDIT_CHARS,
    Waiting,
    edits_asked,
    edits_of,
    file_edits,
    with_call,
    without_call,
)
from recollect.model.payloads import FileEdit, Json
from recollect.testing.strategies import any_json


def test_a_call_is_taken_once() -> None:
    waiting = with_call((), "c1", "edit", [FileEdit("a.py", after="x")])
    call, others = without_call(waiting, "c1")
    assert call is not None
    assert file_edits(call) == [FileEdit("a.py", after="x", call_id="c1")]
    assert without_call(others, "c1") == (None, ())


def test_a_call_that_comes_again_replaces_the_first() -> None:
    waiting = with_call(with_call((), "c1", "edit"), "c1", "write")
    assert waiting == (Waiting("c1", "write"),)


def test_waiting_calls_are_bounded() -> None:
    waiting: tuple[Waiting, ...] = ()
    for number in range(MAX_CALLS + 5):
        waiting = with_call(waiting, f"c{number}", "edit", [FileEdit("a.py", after="x" * MAX_EDIT_CHARS)])
    assert len(waiting) == MAX_CALLS
    assert len(msgspec.json.encode(waiting)) < 2 * MAX_ALL_CHARS
    assert waiting[0].edits[0] == FileEdit("a.py")


def test_what_cannot_be_stored_is_not_remembered() -> None:
    assert with_call((), "", "edit") == with_call((), "\ud83d", "edit") == ()
    assert with_call((), "c", "edit", [FileEdit("a", after="\ud83d")])[0].edits == (FileEdit("a"),)


@given(arguments=any_json())
def test_any_arguments_ask_for_edits_or_none(arguments: Json) -> None:
    assert all(isinstance(edit, FileEdit) for edit in edits_of(arguments))


@pytest.mark.parametrize(
    ("arguments", "edit"),
    [
        ({"path": "a", "old_str": "x", "new_str": "y"}, FileEdit("a", "modify", "x", "y")),
        ({"filePath": "a", "oldText": "x", "newText": "y"}, FileEdit("a", "modify", "x", "y")),
        ({"path": "a", "edit": {"old": "x", "new": "y"}}, FileEdit("a", "modify", "x", "y")),
        ({"edits": [{"path": "a", "old_string": "x", "new_string": "y"}]}, FileEdit("a", "modify", "x", "y")),
        ({"file_path": "a", "content": "x"}, FileEdit("a", "modify", after="x")),
        ({"old_str": "x", "new_str": "y"}, FileEdit("", "modify", "x", "y")),
    ],
)
def test_the_names_of_arguments_are_known(arguments: Json, edit: FileEdit) -> None:
    assert edits_asked("edit", arguments) == (edit,)
    assert edits_asked("bash", arguments) == ()


@pytest.mark.parametrize("patch", ["*** Begin Patch\n*** End Patch", "*** ", "*** Update File: \n"])
def test_a_patch_that_names_no_file_asks_for_no_edit_of_one(patch: str) -> None:
    assert all(not edit.path for edit in edits_of({"input": patch}))
