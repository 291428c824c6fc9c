"""The edits of a file as blame asks for them: all of it, the newest first, whatever sessions they are in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.config import Config
from recollect.memory import BlameQuestion, Memory
from recollect.memory.blame import StoredEdits
from recollect.testing.builders import ClaudeTranscript, CodexRollout

BEGAN = datetime(2026, 8, 1, 9, 0, tzinfo=UTC)


@given(
    edits=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 40), st.sampled_from(["a.py", "b.py", "src/a.py"])), max_size=14
    )
)
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_edits_of_sessions_side_by_side_come_newest_first(
    edits: list[tuple[int, int, str]], tmp_path_factory: object
) -> None:
    root: Path = tmp_path_factory.mktemp("desk")  # type: ignore[attr-defined]
    env = {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}
    for number in range(4):
        own = sorted(((minute, path) for one, minute, path in edits if one == number))
        session = ClaudeTranscript(root / "claude", f"s{number}", start=BEGAN)
        session.user("write")
        for minute, path in own:
            session._at = BEGAN + timedelta(minutes=minute)
            session.write(f"/w/demo/{path}", f"minute {minute} of {number}\n")
    with Memory.open(root / "memory", config=Config(), env=env) as memory:
        memory.sync()
        memory.distilling.run()
        given_edits = list(StoredEdits(memory, BlameQuestion("/w/demo/a.py")).edits("a.py"))
        other = StoredEdits(memory, BlameQuestion("src/a.py", repos=("demo",), root="/w/demo"))
        below = {recorded.event.payload.path for recorded in other.edits("a.py")}  # type: ignore[union-attr]
    times = [recorded.event.ts or 0 for recorded in given_edits]
    assert times == sorted(times, reverse=True)
    assert len(given_edits) == sum(path.endswith("a.py") for _, _, path in edits)
    assert below == {"/w/demo/src/a.py" for _, _, path in edits if path == "src/a.py"}


def test_an_edit_whose_result_is_not_recorded_is_named(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    session = ClaudeTranscript(tmp_path / "claude", "one")
    session.user("write")
    session.tool("Edit", {"file_path": "/w/demo/pay.py", "old_string": "a", "new_string": "b"}, "")
    session.tool("Edit", {"file_path": "/w/demo/no.py", "old_string": "a", "new_string": "b"}, "denied", is_error=True)
    with Memory.open(tmp_path / "memory", config=Config(), env=env) as memory:

        def why(path: str) -> str:
            return memory.blame(BlameQuestion(path, repos=("demo",), root="/w/demo")).blame.reason

        assert why("pay.py") == f"no proof: {session.uid}#2 calls an edit of this file, but no result of it is recorded"
        assert why("no.py").endswith("calls an edit of this file, but it failed")
        assert why("other.py") == "no proof: no recorded edit of this file"


@pytest.mark.parametrize("recorded", [True, False])
def test_a_later_call_without_a_result_may_have_written_a_line_that_no_recorded_edit_has(
    tmp_path: Path, recorded: bool
) -> None:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    session = ClaudeTranscript(tmp_path / "claude", "one")
    edit = {"file_path": "/w/demo/pay.py", "old_string": "retries = 3", "new_string": "retries = 3\nlimit = 9"}
    session.user("write")
    session.tool("Edit", edit, "")
    session.write("/w/demo/pay.py", "retries = 3")
    if recorded:
        session.tool("Edit", edit, "denied", is_error=True)
    else:
        session.tool("Edit", edit, "")
    with Memory.open(tmp_path / "memory", config=Config(), env=env) as memory:
        asked = BlameQuestion("pay.py", "limit = 9", repos=("demo",), root="/w/demo")
        reason = memory.blame(asked).blame.reason
        calls = [e.seq for e in memory.events(session.uid) if e.kind == "tool_call"]
    told = "no proof: a recorded edit rewrote this file without this line, and no edit recorded since added it"
    may = f"; {session.uid}#{calls[-1]}, a later call without a recorded result, may have written it"
    assert reason == told + ("" if recorded else may)


@pytest.mark.parametrize("question", ["blame", "handoff"])
def test_what_a_question_analyses_is_learned_from_too(tmp_path: Path, question: str) -> None:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    session = ClaudeTranscript(tmp_path / "claude", "one")
    session.user("Make it retry.")
    with Memory.open(tmp_path / "memory", config=Config(), env=env) as memory:
        memory.sync()
        session.write("/w/demo/pay.py", "retries = 3")
        session.user("Always run the linter before you commit.")
        if question == "blame":
            memory.blame(BlameQuestion("pay.py", repos=("demo",), root="/w/demo"))
        else:
            memory.refresh()
            memory.handoff.analyse(session.uid)
        assert memory.recall.unanalysed() == ()
        assert [one.kind for one in memory.learn.learnings()] == ["preference"]


@pytest.mark.parametrize("has_result", [True, False])
@pytest.mark.parametrize("written", ["src/tax.py", "/w/demo/src/tax.py"])
def test_an_edit_that_only_its_call_tells_is_found_and_said_to_lack_a_result(
    tmp_path: Path, written: str, has_result: bool
) -> None:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    session = CodexRollout(tmp_path / "codex", "one")
    session.turn("Set the rate.", "I will.")
    patch = f"*** Begin Patch\n*** Update File: {written}\n@@\n-rate_percent = 16\n+rate_percent = 19\n*** End Patch"
    session.line("response_item", {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": patch})
    if has_result:
        session.line("response_item", {"type": "custom_tool_call_output", "call_id": "c", "output": "Success."})
    lacks = "no result of this edit's call is recorded, so it may not have been made"
    with Memory.open(tmp_path / "memory", config=Config(), env=env) as memory:
        for line in (None, "rate_percent = 19"):
            asked = BlameQuestion("src/tax.py", line, repos=("demo", "src"), root="/w/demo")  # a folder may name it too
            answer = memory.blame(asked)
            assert answer.citation.startswith(session.uid)
            assert (lacks in answer.notes) != has_result
        (edit,) = memory.files.blame("demo", "src/tax.py").edits
        assert edit.notes == (() if has_result else (lacks,))
