"""What failed and what made it pass, out of calls, results and edits."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from recollect.model.payloads import FileEdit, Payload, ToolCall, ToolResult, kind_of
from recollect.recall.context.failures import FailedCall, FailureWalk, command_of
from recollect.store.context_rows import RecentEvent

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


def walked(*payloads: Payload) -> list[FailedCall]:
    walk = FailureWalk()
    walk.take(UID, events(payloads))
    return walk.failures()


def test_a_command_that_passes_after_an_edit_was_fixed_by_it() -> None:
    (failure,) = walked(shell("pytest -q"), failed(), edit("/r/cart.py"), shell("pytest -q"), PASSED)
    assert (failure.edited, failure.passed, failure.is_worth_telling) == ("/r/cart.py", f"{UID}#4", True)
    assert failure.reason == "E AssertionError: 3 != 4"


def test_edits_before_the_failure_did_not_fix_it() -> None:
    (failure,) = walked(edit("/r/before.py"), shell("pytest -q"), failed(), shell("pytest -q"), PASSED)
    assert failure.edited == ""


def test_a_command_that_fails_again_and_again_is_one_failure() -> None:
    payloads = [p for _ in range(3) for p in (shell("make x"), failed(), edit("/r/a.py"))]
    (failure,) = walked(*payloads)
    assert (failure.count, failure.passed, failure.citation) == (3, "", f"{UID}#7")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pytest -q tests/cart", "pytest"),
        ("pytest tests/cart/test_total.py::test_cents", "uv run pytest -x tests/cart"),
        (".venv/bin/pytest tests", "python -m pytest -q tests/"),
        ("npm test", "npm run test"),
        ("go test ./cart/...", "go test ./..."),
        ("cargo test total", "cargo test"),
    ],
)
def test_a_check_of_at_least_as_much_that_passes_fixes_a_failure(one: str, other: str) -> None:
    (failure,) = walked(shell(one), failed(), edit("/r/cart.py"), shell(other), PASSED)
    assert failure.passed == f"{UID}#4"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pytest", "pytest tests/cart"),
        ("pytest tests/cart", "pytest tests/carton"),
        ("pytest tests/cart", "pytest -k cents"),
        ("pytest", "ruff check"),
        ("make test", "make lint"),
        ("make test", "make"),
        ("npm run build", "npm test"),
        ("cargo test", "cargo build"),
        ("cd front && npm test", "cd back && npm test"),
    ],
)
def test_a_check_of_less_or_of_something_else_leaves_a_failure_open(one: str, other: str) -> None:
    (failure,) = walked(shell(one), failed(), edit("/r/cart.py"), shell(other), PASSED)
    assert failure.passed == ""


def test_a_failure_that_may_have_passed_is_neither_open_nor_fixed() -> None:
    said_nothing = ToolResult(call_id="c", ok=True, exit_code=0, text="")
    failed_in_a_pipe = ToolResult(call_id="c", ok=True, exit_code=0, text="1 failed, 2 passed")
    assert walked(shell("cd front && npm test"), failed(), edit("/r/a.ts"), shell("npm test"), PASSED) == []
    assert walked(shell("pytest"), failed(), edit("/r/a.py"), shell("pytest | tail -3"), said_nothing) == []
    assert walked(shell("pytest"), failed(), edit("/r/a.py"), shell("pytest | tail -3"), failed_in_a_pipe) == []


def test_the_end_of_a_pipe_counts_where_its_output_says_that_all_passed() -> None:
    (failure,) = walked(shell("pytest"), failed(), edit("/r/a.py"), shell("pytest | tail -3"), PASSED)
    assert failure.passed == f"{UID}#4"


def test_a_fix_names_the_command_that_changed_something() -> None:
    (failure,) = walked(
        shell("pytest -q"), failed("ModuleNotFoundError: yaml"), shell("git status"), PASSED,
        shell("uv sync --all-extras"), PASSED, shell("ruff check"), PASSED, shell("pytest -q"), PASSED,
    )  # fmt: skip
    assert (failure.ran, failure.is_worth_telling) == ("uv sync --all-extras", True)


def test_a_call_that_passed_when_run_again_tells_no_fix() -> None:
    (failure,) = walked(shell("pytest -q"), failed(), shell("pytest -q"), PASSED)
    assert not failure.is_worth_telling


def test_a_failure_of_one_session_can_be_fixed_in_the_next() -> None:
    walk = FailureWalk()
    walk.take("codex:one", events([shell("cargo test"), failed()]))
    walk.take("codex:two", events([edit("/r/lib.rs"), shell("cargo test"), PASSED]))
    (failure,) = walk.failures()
    assert (failure.citation, failure.passed, failure.edited) == ("codex:one#1", "codex:two#2", "/r/lib.rs")


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
