"""The definitions hold for transcripts as Claude Code, Codex and Grok write them, read by their own parsers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import SourceError
from recollect.memory import parse_file
from recollect.model.events import Event
from recollect.model.insights.digests import as_schema_1
from recollect.model.insights.signals import Signal, kind_of_signal
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from tests.agents.grok.lines import call, chunk, ended, said_by_tool
from tests.formats.goldens import is_golden
from tests.insights.signals.stories import digest_from, signals_of

PYTEST_FAILS = "E   assert 1 == 2\nFAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed, 3 passed in 0.12s"
PYTEST_PASSES = "4 passed in 0.10s"
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)


def claude(home: Path) -> list[Event]:
    """A fix with a failing test, a failed edit, a refused push and an interrupt, as Claude Code writes it."""
    told = ClaudeTranscript(home, "signals", cwd="/w/demo", branch="fix/ABC-12")
    told.user("fix the failing test")
    told.tool("Bash", {"command": "uv run pytest -q"}, f"Exit code 1\n{PYTEST_FAILS}", is_error=True)
    edit = {"file_path": "/w/demo/app.py", "old_string": "a", "new_string": "b"}
    told.tool("Edit", edit, "<tool_use_error>String to replace not found in file.</tool_use_error>", is_error=True)
    told.tool("Edit", edit, "The file /w/demo/app.py has been updated.")
    told.tool("Bash", {"command": "uv run pytest -q"}, PYTEST_PASSES)
    told.tool("Bash", {"command": "git push"}, REJECTED, is_error=True)
    told.user("[Request interrupted by user for tool use]")
    told.user("don't push, just stop here")
    told.assistant("The test passes; nothing is pushed.", output_tokens=30)
    return list(parse_file(told.path))


def codex(home: Path) -> list[Event]:
    """The same as Codex writes it: exec results with exit codes, patches, an aborted turn."""
    told = CodexRollout(home, "signals")
    told.line("turn_context", {"cwd": "/w/demo", "model": "gpt-5.1-codex"})
    user = [{"type": "input_text", "text": "fix the failing test of ABC-12"}]
    told.line("response_item", {"type": "message", "role": "user", "content": user})

    def shell(call_id: str, command: str, exit_code: int, output: str) -> None:
        arguments = json.dumps({"cmd": command})
        told.line(
            "response_item",
            {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call_id},
        )
        framed = f"Chunk ID: 1f\nWall time: 1.0 seconds\nProcess exited with code {exit_code}\nOutput:\n{output}"
        told.line("response_item", {"type": "function_call_output", "call_id": call_id, "output": framed})

    shell("call_1", "pytest -q", 1, PYTEST_FAILS)
    patch = "*** Begin Patch\n*** Update File: app.py\n@@\n-a\n+b\n*** End Patch"
    told.line("response_item", {"type": "custom_tool_call", "call_id": "call_2", "name": "apply_patch", "input": patch})
    change = {"/w/demo/app.py": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": None}}
    told.line(
        "event_msg",
        {
            "type": "patch_apply_end",
            "call_id": "call_2",
            "success": True,
            "stdout": "",
            "stderr": "",
            "changes": change,
        },
    )
    told.line(
        "response_item", {"type": "custom_tool_call_output", "call_id": "call_2", "output": "Exit code: 0\nSuccess."}
    )
    shell("call_3", "pytest -q", 0, PYTEST_PASSES)
    said = [{"type": "output_text", "text": "Fixed; the tests pass."}]
    told.line("response_item", {"type": "message", "role": "assistant", "content": said})
    more = [{"type": "input_text", "text": "now push it"}]
    told.line("response_item", {"type": "message", "role": "user", "content": more})
    told.line("event_msg", {"type": "turn_aborted", "reason": "interrupted"})
    return list(parse_file(told.path))


def grok(home: Path) -> list[Event]:
    """The same as Grok writes it: updates of calls that end completed or failed."""
    lines = [
        chunk("user", "fix the failing test", 0),
        call("c1", "run_terminal_command", {"command": "pytest -q"}, 1),
        ended("c1", "failed", 2, content=said_by_tool(PYTEST_FAILS), rawOutput={"exit_code": 1}),
        call("c2", "search_replace", {"file_path": "app.py", "old_string": "a", "new_string": "b"}, 3),
        ended("c2", "failed", 4, content=said_by_tool("old_string not found in app.py")),
        call("c3", "search_replace", {"file_path": "app.py", "old_string": "aa", "new_string": "b"}, 5),
        ended("c3", "completed", 6, content=said_by_tool("edited")),
        call("c4", "run_terminal_command", {"command": "pytest -q"}, 7),
        ended("c4", "completed", 8, content=said_by_tool(PYTEST_PASSES), rawOutput={"exit_code": 0}),
        chunk("agent", "Fixed.", 9),
    ]
    return written(home / "updates.jsonl", lines)


def written(path: Path, lines: Sequence[Any]) -> list[Event]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return list(parse_file(path))


def kinds(signals: Sequence[Signal]) -> list[str]:
    return [kind_of_signal(signal) for signal in signals]


def test_claude_code(tmp_path: Path) -> None:
    events = claude(tmp_path)
    found = signals_of(events)
    errors = signals_of(events, "error")
    assert [(e.source, e.tool, e.exit_code) for e in errors] == [("exit", "shell", 1), ("update", "edit", None)]
    assert [(e.sample) for e in errors] == ["E assert 1 == 2", "String to replace not found in file."]
    runs = signals_of(events, "test_run")
    assert [(r.framework, r.ok, r.passed, r.failed) for r in runs] == [
        ("pytest", False, 3, 1),
        ("pytest", True, 4, None),
    ]
    retries = signals_of(events, "retry")
    assert [(r.tool, r.target, r.ok) for r in retries] == [("edit", "/w/demo/app.py", True), ("shell", "pytest", True)]
    assert [i.reason for i in signals_of(events, "human_intervention")] == ["denied"]
    digest = digest_from(events)
    assert digest.outcome == "success"
    assert digest.task_ref is not None
    assert (digest.task_ref.ref, digest.task_ref.found_in) == ("ABC-12", "branch")
    assert digest.tool_histogram == {"Bash": 3, "Edit": 2}
    assert digest.cost.output_tokens == 80
    assert len(found) == sum(digest.signals.values())


def test_codex(tmp_path: Path) -> None:
    events = codex(tmp_path)
    [error] = signals_of(events, "error")
    assert (error.source, error.tool, error.exit_code, error.sample) == ("exit", "shell", 1, "E assert 1 == 2")
    runs = signals_of(events, "test_run")
    assert [(r.framework, r.ok, r.passed, r.failed) for r in runs] == [
        ("pytest", False, 3, 1),
        ("pytest", True, 4, None),
    ]
    assert [(r.tool, r.target, r.ok) for r in signals_of(events, "retry")] == [("shell", "pytest", True)]
    assert [(e.path, e.operation) for e in signals_of(events, "edit")] == [("app.py", "modify")]
    assert [i.reason for i in signals_of(events, "human_intervention")] == ["interrupt"]
    digest = digest_from(events)
    assert (digest.outcome, digest.outcome_reasons) == ("abandoned", ("an interrupt and nothing after it",))
    assert digest.task_ref is not None
    assert (digest.task_ref.ref, digest.task_ref.found_in) == ("ABC-12", "first_prompt")


def test_grok(tmp_path: Path) -> None:
    events = grok(tmp_path)
    errors = signals_of(events, "error")
    assert [(e.source, e.tool, e.exit_code) for e in errors] == [("exit", "shell", 1), ("update", "edit", None)]
    runs = signals_of(events, "test_run")
    assert [(r.framework, r.ok, r.passed, r.failed) for r in runs] == [
        ("pytest", False, 3, 1),
        ("pytest", True, 4, None),
    ]
    retries = signals_of(events, "retry")
    assert [(r.tool, r.target, r.ok) for r in retries] == [("edit", "app.py", True), ("shell", "pytest", True)]
    assert kinds(signals_of(events))[-1] == "completion"
    assert digest_from(events).outcome == "success"


def test_a_prompt_during_a_codex_task_is_an_intervention(tmp_path: Path) -> None:
    told = CodexRollout(tmp_path, "steered")

    def says(text: str) -> None:
        user = [{"type": "input_text", "text": text}]
        told.line("response_item", {"type": "message", "role": "user", "content": user})
        told.line("event_msg", {"type": "user_message", "message": text})

    for turn, prompts in (("t1", ("fix the parser", "but keep the old flag")), ("t2", ("now the docs",))):
        told.line("event_msg", {"type": "task_started", "turn_id": turn})
        told.line("turn_context", {"turn_id": turn, "cwd": "/w/demo", "model": "gpt-5.1-codex"})
        for number, prompt in enumerate(prompts):
            says(prompt)
            call = f"{turn}-{number}"
            arguments = json.dumps({"cmd": "ls"})
            asked = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call}
            told.line("response_item", asked)
            told.line("response_item", {"type": "function_call_output", "call_id": call, "output": "app.py"})
        told.line("event_msg", {"type": "task_complete", "turn_id": turn, "last_agent_message": "Done."})
    events = list(parse_file(told.path))
    (found,) = signals_of(events, "human_intervention")
    (said,) = (e for e in events if e.event_id == found.evidence[0].event_id)
    assert (found.reason, getattr(said.payload, "text", "")) == ("message", "but keep the old flag")


@pytest.mark.golden
@pytest.mark.parametrize("build", [claude, codex, grok], ids=lambda build: build.__name__)
def test_a_digest_is_the_reviewed_one(tmp_path: Path, build: Any) -> None:
    """digest_v1_*.json: other programs read these; a change of shape needs a new schema_version."""
    shown = json.dumps(as_schema_1(digest_from(build(tmp_path))), indent=1, ensure_ascii=False) + "\n"
    assert is_golden(f"digest_v1_{build.__name__}.json", shown), "if it may change: `make goldens`"


@pytest.mark.corpus
def test_every_real_transcript_has_a_digest_with_a_reason(shared: Path) -> None:
    """A sample over all agents: nothing fails, every outcome has a reason, and a second run gives the same."""
    paths = sorted((shared / "corpus").glob("*/*/**/*.jsonl"))[::40]
    seen = 0
    for path in paths:
        try:
            events = list(parse_file(path))
        except SourceError:  # sidecars and such, which no adapter takes
            continue
        digest = digest_from(events)
        assert digest.outcome_reasons
        assert digest_from(events) == digest
        seen += 1
    assert seen > 0
