"""The fix is the last change that stands: not what was taken back, nor what took it back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from recollect.insights.last_change import Change, changes_since, edits_in, is_change
from recollect.model.payloads import FileEdit, Payload, ToolCall


def edited(path: str, before: str, after: str) -> FileEdit:
    return FileEdit(path, "modify", before, after)


def hunk(path: str, before: str, after: str) -> FileEdit:
    return FileEdit(path, "modify", diff=f"@@ -1,2 +1,2 @@\n kept\n-{before}\n+{after}")


def called(path: str, before: str, after: str) -> ToolCall:
    arguments = {"file_path": path, "old_string": before, "new_string": after}
    return ToolCall(call_id=f"{before}{after}", name="Edit", canonical="edit", arguments=arguments)


def standing(*done: Payload | str, failed: int = -1) -> list[str]:
    changes: list[Change] = []
    for place, one in enumerate(done):
        if isinstance(one, str):
            changes.append(Change(place, "command", one))
        else:
            changes += edits_in(place, one, partial(lambda payload: payload, one))
    return [change.what for change in changes_since(changes, failed)]


@pytest.mark.parametrize("edit", [edited, hunk, called])
def test_an_edit_that_was_taken_back_is_no_part_of_the_fix(edit: Callable[[str, str, str], Payload]) -> None:
    assert standing(edit("/r/t.py", "4", "3"), edit("/r/conf.py", "a", "b"), edit("/r/t.py", "3", "4")) == [
        "/r/conf.py"
    ]
    assert standing(edit("/r/t.py", "4", "3"), edit("/r/t.py", "3", "2"), edit("/r/t.py", "2", "4")) == []


def test_what_an_edit_leaves_otherwise_is_a_change() -> None:
    assert standing(edited("/r/t.py", "4", "3"), edited("/r/t.py", "3", "5")) == ["/r/t.py", "/r/t.py"]
    assert standing(edited("/r/a.py", "4", "3"), edited("/r/b.py", "3", "4")) == ["/r/a.py", "/r/b.py"]
    assert standing(FileEdit("/r/t.py"), FileEdit("/r/t.py")) == ["/r/t.py", "/r/t.py"]  # nobody knows what they did


@pytest.mark.parametrize(
    "command",
    ["git checkout -- tests/t.py", "git restore tests/", "git checkout HEAD .", "git reset --hard", "git stash"],
)
def test_what_git_takes_back_is_no_part_of_the_fix(command: str) -> None:
    assert standing(edited("/r/tests/t.py", "4", "3"), command, edited("/r/conf.py", "a", "b")) == ["/r/conf.py"]


@pytest.mark.parametrize("command", ["git checkout main", "git restore --staged tests/t.py", "git checkout -b tests"])
def test_git_leaves_alone_what_it_does_not_name(command: str) -> None:
    assert "/r/tests/t.py" in standing(edited("/r/tests/t.py", "4", "3"), command)


def test_an_edit_from_before_the_failure_that_is_taken_back_after_it_is_the_fix() -> None:
    assert standing(edited("/r/t.py", "3", "4")) == ["/r/t.py"]
    assert standing("git checkout -- t.py") == ["git checkout -- t.py"]


def test_what_was_done_before_the_last_failure_did_not_fix_it_but_can_be_taken_back_after_it() -> None:
    done = (edited("/r/t.py", "4", "3"), edited("/r/conf.py", "a", "b"), edited("/r/t.py", "3", "4"))
    assert standing(*done, failed=0) == ["/r/conf.py"]
    assert standing(*done, failed=1) == []


@pytest.mark.parametrize(
    "command", ["terraform force-unlock 8f2", "aws sso login", "cp .env.example .env", "ruff format .", "npm ci"]
)
def test_what_does_more_than_look_and_check_is_a_change(command: str) -> None:
    assert is_change(command)


@pytest.mark.parametrize("command", ["git status", "pytest -q", "ls | head", "cd x && make test", "git commit -m x"])
def test_what_only_looks_or_checks_is_no_change(command: str) -> None:
    assert not is_change(command)
