"""Retries, loops, what people did, edits, completions, pressure: one small session each."""

from __future__ import annotations

import pytest

from recollect.model.insights.signals import Signal, kind_of_signal
from recollect.model.payloads import Compaction, FileEdit
from tests.insights.signals.stories import Story

REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def kinds(story: Story) -> list[str]:
    found: list[Signal] = story.signals()
    return [kind_of_signal(signal) for signal in found]


def test_the_same_tool_on_the_same_target_after_an_error_is_a_retry() -> None:
    story = Story()
    story.runs("npm run build", "error: boom", exit_code=1)
    story.runs("ls")
    story.runs("npm run build -- --verbose")
    [retry] = story.signals("retry")
    assert (retry.tool, retry.target, retry.attempt, retry.ok) == ("shell", "npm build", 2, True)
    assert [e.event_id for e in retry.evidence] == ["e4", "e1"]


def test_attempts_are_counted() -> None:
    story = Story()
    for exit_code in (1, 1, 0, 0):
        story.runs("cargo build", "error: boom" if exit_code else "", exit_code=exit_code)
    assert [(r.attempt, r.ok) for r in story.signals("retry")] == [(2, False), (3, True)]


def test_a_success_in_between_makes_a_later_call_no_retry() -> None:
    story = Story()
    story.runs("make build", "error: boom", exit_code=1)
    story.runs("make build")
    story.runs("make build")
    assert len(story.signals("retry")) == 1


def test_another_target_is_no_retry() -> None:
    story = Story()
    story.edits("/w/a.py", ok=False, text="String not found")
    story.edits("/w/b.py")
    assert story.signals("retry") == []


def test_a_failed_edit_of_the_same_file_is_tried_again() -> None:
    story = Story()
    story.edits("/w/a.py", ok=False, text="String not found")
    story.edits("/w/a.py")
    [retry] = story.signals("retry")
    assert (retry.tool, retry.target, retry.ok) == ("edit", "/w/a.py", True)


def test_calls_made_side_by_side_repeat_nothing() -> None:
    story = Story()
    ids = [story.calls("Bash", {"command": "make build"}) for _ in range(3)]
    for call_id in ids:
        story.gets(call_id, "error: boom", ok=False, exit_code=1)
    assert story.signals("retry") == []


def test_a_refused_call_is_neither_a_failure_nor_a_retry() -> None:
    story = Story()
    story.edits("/w/a.py", ok=False, text=REJECTED)
    story.edits("/w/a.py")
    assert story.signals("retry") == []


@pytest.mark.parametrize(
    ("name", "detail", "attempt"),
    [("retry", None, 2), ("retry", {"attempt": 3}, 4), ("api_error", {"retryAttempt": 1}, 2)],
)
def test_the_agents_own_retry_is_one(name: str, detail: dict[str, int] | None, attempt: int) -> None:
    story = Story()
    story.notes(name, "overloaded", detail=detail)
    [retry] = story.signals("retry")
    assert (retry.tool, retry.target, retry.attempt) == ("", "", attempt)


def test_an_api_error_that_is_not_tried_again_is_no_retry() -> None:
    story = Story()
    story.notes("api_error", "overloaded")
    assert story.signals("retry") == []


def test_the_same_failing_call_three_times_in_a_row_is_a_loop() -> None:
    story = Story()
    for number in range(4):
        story.runs("pytest tests/a.py", f"E   assert {number} == 7", exit_code=1)
    [loop] = story.signals("loop")
    assert (loop.tool, loop.count) == ("shell", 4)
    assert len(loop.evidence) == 4


def test_something_that_works_in_between_ends_a_loop() -> None:
    story = Story()
    for number in range(4):
        story.runs("make", "error: boom", exit_code=1)
        if number == 1:
            story.runs("ls")
    assert story.signals("loop") == []


def test_different_errors_are_no_loop() -> None:
    story = Story()
    for word in ("one", "two", "three"):
        story.runs("make", f"error: {word}", exit_code=1)
    assert story.signals("loop") == []


@pytest.mark.parametrize("name", ["interrupted", "turn_aborted"])
def test_an_interrupt_is_an_intervention(name: str) -> None:
    story = Story()
    story.asks("do it")
    story.calls("Bash", {"command": "sleep 100"})
    story.notes(name, "[Request interrupted by user]")
    assert [i.reason for i in story.signals("human_intervention")] == ["interrupt"]


def test_a_message_to_an_agent_that_says_it_is_at_work_is_an_intervention() -> None:
    story = Story()
    story.notes("turn_started")
    story.asks("fix the login")
    story.runs("ls")
    said = story.asks("and leave the logout alone")
    story.says("Fixed.")
    story.notes("turn_ended")
    story.asks("now the tests")
    story.notes("turn_started")
    story.asks("really")
    (found,) = story.signals("human_intervention")
    assert (found.reason, found.evidence[0].event_id) == ("message", said.event_id)


def test_a_refused_call_and_its_marks_are_one_intervention() -> None:
    story = Story()
    story.asks("do it")
    call = story.calls("Edit", {"file_path": "/w/a.py"})
    story.gets(call, REJECTED, ok=False)
    story.notes("interrupted", "[Request interrupted by user for tool use]")
    story.asks("let's discuss it first")
    assert [i.reason for i in story.signals("human_intervention")] == ["denied"]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("rejected", None),
        ("run_shell\nreject", None),
        ("", {"decision": "denied"}),
        ("not now", {"denied": True}),
        ("the user denied this", None),
    ],
)
def test_a_question_for_permission_that_was_answered_with_no_is_an_intervention(
    text: str, detail: dict[str, object] | None
) -> None:
    story = Story()
    story.notes("permission", text, detail=detail)
    assert [i.reason for i in story.signals("human_intervention")] == ["denied"]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("approved", None),
        ("Run `git rebase --abort`?", None),
        ("approved", {"denied": False}),
        ("", {"tool": "reject"}),
    ],
)
def test_a_question_for_permission_by_itself_is_none(text: str, detail: dict[str, object] | None) -> None:
    story = Story()
    story.notes("permission", text, detail=detail)
    assert story.signals("human_intervention") == []


def test_a_call_that_telemetry_says_was_refused_is_refused() -> None:
    story = Story()
    story.calls("Bash", {"command": "rm -r build"}, call_id="c1")
    story.gets("c1", "", ok=False)
    story.notes("tool_completed", detail={"outcome": "permission_rejected"}, call_id="c1")
    assert story.signals("error") == []
    assert [i.reason for i in story.signals("human_intervention")] == ["denied"]


def test_a_result_that_does_not_say_how_it_went_is_judged_by_telemetry() -> None:
    story = Story()
    story.calls("Bash", {"command": "make"}, call_id="c1")
    story.gets("c1", "error: no rule to make target", ok=None)
    story.notes("tool_completed", detail={"outcome": "error", "duration_ms": 12}, call_id="c1")
    story.calls("Bash", {"command": "pytest -q"}, call_id="c2")
    story.gets("c2", "3 passed", ok=None)
    story.notes("tool_completed", detail={"outcome": "success"}, call_id="c2")
    assert [e.sample for e in story.signals("error")] == ["error: no rule to make target"]
    assert [run.ok for run in story.signals("test_run")] == [True]


def test_a_result_that_says_how_it_went_is_believed() -> None:
    story = Story()
    story.calls("Bash", {"command": "make"}, call_id="c1")
    story.gets("c1", "done", ok=True)
    story.notes("tool_completed", detail={"outcome": "error"}, call_id="c1")
    assert story.signals("error") == []


@pytest.mark.parametrize("ok", [None, False])
def test_a_call_that_telemetry_says_was_stopped_is_an_interrupt_and_no_error(ok: bool | None) -> None:
    story = Story()
    story.calls("Bash", {"command": "sleep 100"}, call_id="c1")
    story.gets("c1", "", ok=ok)
    story.notes("tool_completed", detail={"outcome": "cancelled"}, call_id="c1")
    assert story.signals("error") == []
    assert [i.reason for i in story.signals("human_intervention")] == ["interrupt"]


def test_a_message_to_an_agent_at_work_is_an_intervention() -> None:
    story = Story()
    story.asks("do it")
    story.runs("ls")
    story.calls("Bash", {"command": "sleep 100"})
    story.asks("wait, use the other file")
    assert [i.reason for i in story.signals("human_intervention")] == ["message"]


def test_a_queued_message_is_an_intervention() -> None:
    story = Story()
    story.asks("do it")
    story.asks("and in German", "queued")
    assert [i.reason for i in story.signals("human_intervention")] == ["message"]


def test_a_message_that_waits_in_a_queue_is_an_intervention_once() -> None:
    story = Story()
    story.asks("do it")
    story.runs("ls")
    queued = story.notes("queue", "and in German", detail={"operation": "enqueue"})
    story.notes("queue", "<task-notification>done</task-notification>", detail={"operation": "enqueue"})
    story.runs("pwd")
    story.notes("queue", detail={"operation": "dequeue"})
    story.asks("and in German", "queued")
    [intervention] = story.signals("human_intervention")
    assert (intervention.reason, intervention.evidence[0].event_id) == ("message", queued.event_id)


def test_a_message_after_a_reply_is_none() -> None:
    story = Story()
    story.asks("do it")
    story.runs("ls")
    story.says("Done.")
    story.asks("now the other one")
    assert story.signals("human_intervention") == []


def test_where_no_results_are_written_down_open_calls_tell_nothing() -> None:
    story = Story()
    story.asks("do it")
    story.calls("Bash", {"command": "ls"})
    story.asks("and then")
    assert story.signals("human_intervention") == []


def test_leaving_the_program_after_a_reply_is_no_intervention() -> None:
    story = Story()
    story.asks("do it")
    story.says("Done.")
    story.notes("interrupted", "^C again to exit")
    assert story.signals("human_intervention") == []


def test_an_edit_that_worked_is_seen() -> None:
    story = Story()
    story.edits("/w/a.py")
    story.add(FileEdit("/w/b.py", "create"))
    assert [(e.path, e.operation) for e in story.signals("edit")] == [("/w/a.py", "modify"), ("/w/b.py", "create")]


def test_an_edit_that_failed_or_a_copy_that_was_kept_is_none() -> None:
    story = Story()
    story.edits("/w/a.py", ok=False, text="no")
    story.add(FileEdit("/w/b.py", "checkpoint"))
    call = story.calls("Edit", {"file_path": "/w/c.py"})
    story.add(FileEdit("/w/c.py", call_id=call))
    story.gets(call, REJECTED, ok=False)
    assert story.signals("edit") == []


def test_a_reply_after_work_completes_a_request() -> None:
    story = Story()
    asked = story.asks("fix it")
    story.edits()
    story.says("I look at it again.")
    story.runs("ls")
    reply = story.says("Fixed.")
    story.asks("thanks, and what is a monad?")
    story.says("A monoid in the category of endofunctors.")
    [completion] = story.signals("completion")
    assert [e.event_id for e in completion.evidence] == [reply.event_id, asked.event_id]


def test_a_compaction_and_its_summary_are_one_moment_of_pressure() -> None:
    story = Story()
    story.add(Compaction("auto", tokens_before=150_000))
    story.add(Compaction("", "What happened so far: …"))
    story.says("On we go.")
    story.add(Compaction("manual"))
    found = story.signals("context_pressure")
    assert [(p.trigger, p.tokens_before) for p in found] == [("auto", 150_000), ("manual", None)]


def test_a_prompt_that_was_too_long_is_pressure_and_an_error() -> None:
    story = Story()
    story.notes("api_error", "prompt is too long: 213000 tokens > 200000 maximum")
    assert kinds(story) == ["error", "context_pressure"]


def test_signals_stand_in_the_order_of_their_events() -> None:
    story = Story()
    story.asks("do it")
    story.runs("pytest", "E   assert 1 == 2\n1 failed in 0.1s", exit_code=1)
    story.edits()
    story.runs("pytest", "1 passed in 0.1s")
    story.says("Done.")
    assert kinds(story) == ["test_run", "error", "edit", "retry", "test_run", "completion"]
