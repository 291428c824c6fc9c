"""What failed and what made it pass, out of calls, results and edits."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from recollect.model.payloads import FileEdit, Payload, ToolCall, ToolResult, kind_of
from recollect.recall.context.commands import command_of
from recollect.recall.context.failures import Failure, FailureWalk
from recollect.store.recent import RecentEvent

UID = "codex:s1"


def shell(command: Any, call_id: str = "c") -> ToolCall:
    return ToolCall(call_id=call_id, name="bash", canonical="shell", arguments={"command": command})


def failed(text: str = "E  AssertionError: 3 != 4", call_id: str = "c") -> ToolResult:
    return ToolResult(call_id=call_id, ok=False, exit_code=1, text=text)


PASSED = ToolResult(call_id="c", ok=True, exit_code=0, text="3 passed")


def edit(path: str) -> FileEdit:
    return FileEdit(path=path)


def events(payloads: Iterable[Payload]) -> list[RecentEvent]:
    return [
        RecentEvent(seq, kind_of(p), 1_000 + seq, partial(tuple, (p, "")), is_failed=getattr(p, "ok", None) is False)
        for seq, p in enumerate(payloads)
    ]


def walked(*payloads: Payload) -> list[Failure]:
    walk = FailureWalk()
    walk.take(UID, events(payloads))
    return walk.failures()


def test_a_command_that_passes_after_an_edit_was_fixed_by_it() -> None:
    (failure,) = walked(shell("pytest -q"), failed(), edit("/r/cart.py"), shell("pytest -q"), PASSED)
    assert (failure.edited, failure.passed, failure.is_worth_telling) == (["/r/cart.py"], f"{UID}#4", True)
    assert failure.reason == "E AssertionError: 3 != 4"


def test_edits_before_the_failure_did_not_fix_it() -> None:
    (failure,) = walked(edit("/r/before.py"), shell("pytest -q"), failed(), shell("pytest -q"), PASSED)
    assert failure.edited == []


def test_a_command_that_fails_again_and_again_is_one_failure() -> None:
    payloads = [p for _ in range(3) for p in (shell("make x"), failed(), edit("/r/a.py"))]
    (failure,) = walked(*payloads)
    assert (failure.count, failure.passed, failure.citation) == (3, "", f"{UID}#7")


def test_a_failure_of_one_session_can_be_fixed_in_the_next() -> None:
    walk = FailureWalk()
    walk.take("codex:one", events([shell("cargo test"), failed()]))
    walk.take("codex:two", events([edit("/r/lib.rs"), shell("cargo test"), PASSED]))
    (failure,) = walk.failures()
    assert (failure.citation, failure.passed, failure.edited) == ("codex:one#1", "codex:two#2", ["/r/lib.rs"])


def test_a_result_that_says_nothing_of_how_it_ended_fixes_nothing() -> None:
    (failure,) = walked(shell("pytest -q"), failed(), shell("pytest -q"), ToolResult(call_id="c", text="?"))
    assert failure.passed == ""


def test_a_person_who_said_no_is_no_failure() -> None:
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    assert walked(shell("make deploy"), failed(refused)) == []


@pytest.mark.parametrize("command", ["grep -r x src", "ls /none && cat y", "rg foo | head", "test -f x", "cd nowhere"])
def test_looking_for_something_in_vain_is_no_failure(command: str) -> None:
    assert walked(shell(command), failed("")) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pytest -q tests/x", "cd /r && pytest  -q tests/x 2>&1 | tail -20"),
        ("npm test", "timeout 60 npm test"),
        ("make check", "CI=1 make check > /tmp/log 2>&1"),
        (["bash", "-lc", "go test ./..."], "go test ./..."),
    ],
)
def test_the_same_command_is_known_whatever_it_is_wrapped_in(one: Any, other: Any) -> None:
    first, second = command_of(shell(one)), command_of(shell(other))
    assert first is not None
    assert second is not None
    assert first.key == second.key


def test_other_commands_are_others() -> None:
    first, second = command_of(shell("pytest tests/a")), command_of(shell("pytest tests/b"))
    assert first is not None
    assert second is not None
    assert first.key != second.key


@pytest.mark.parametrize(
    ("command", "is_check"),
    [("python -c 'import x'", False), ("pytest", True), ("npm run build", True), ("./gradlew assemble", True)],
)
def test_a_check_that_failed_once_is_worth_telling_and_a_try_is_not(command: str, is_check: bool) -> None:
    (failure,) = walked(shell(command), failed())
    assert failure.is_worth_telling is is_check
