"""The same work gives the same episode, whichever agent wrote it down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect.insights.episodes import EditGrouper
from recollect.insights.session_events import SessionEvents
from recollect.memory import parse_file
from recollect.model.events import Event
from recollect.model.insights.nodes import Episode
from recollect.testing.builders import ClaudeTranscript, CodexRollout

PATCH = "*** Begin Patch\n*** Update File: sum.py\n@@\n-    return a - b\n+    return a + b\n*** End Patch"


def claude(folder: Path) -> list[Event]:
    written = ClaudeTranscript(folder, "sum")
    written.user("fix the sum")
    call = {"file_path": "/w/demo/sum.py", "old_string": "    return a - b", "new_string": "    return a + b"}
    hunk = {
        "oldStart": 2,
        "oldLines": 1,
        "newStart": 2,
        "newLines": 1,
        "lines": ["-    return a - b", "+    return a + b"],
    }
    result = {"filePath": "/w/demo/sum.py", "oldString": "", "newString": "", "structuredPatch": [hunk]}
    _edited(written, call, result)
    written.tool("Bash", {"command": "git commit -am sum"}, "[main 1a2b3c4] sum\n 1 file changed")
    written.assistant("Fixed.")
    return list(parse_file(written.path))


def _edited(written: ClaudeTranscript, call: dict[str, Any], result: dict[str, Any]) -> None:
    """Append an edit with the structured result that Claude Code writes beside the text."""
    written.tool("Edit", call, "The file has been updated.")
    *before, last = written.path.read_bytes().splitlines()
    record = json.loads(last)
    record["toolUseResult"] = result
    written.path.write_bytes(b"\n".join([*before, json.dumps(record).encode(), b""]))


def codex(folder: Path) -> list[Event]:
    written = CodexRollout(folder, "sum")
    written.turn("fix the sum", "I look.")
    _call(written, "c1", "apply_patch", PATCH)
    shell = {"command": ["bash", "-lc", "git commit -am sum"], "workdir": "/w/demo"}
    output = {"output": "[main 1a2b3c4] sum\n 1 file changed", "metadata": {"exit_code": 0}}
    written.line(
        "response_item",
        {"type": "function_call", "name": "shell", "arguments": json.dumps(shell), "call_id": "c2"},
    )
    written.line("response_item", {"type": "function_call_output", "call_id": "c2", "output": json.dumps(output)})
    return list(parse_file(written.path))


def _call(written: CodexRollout, call_id: str, name: str, patch: str) -> None:
    asked = {"type": "custom_tool_call", "status": "completed", "call_id": call_id, "name": name, "input": patch}
    written.line("response_item", asked)
    done = {
        "type": "custom_tool_call_output",
        "call_id": call_id,
        "output": "Success. Updated the following files:\nM sum.py",
    }
    written.line("response_item", done)


def grok(folder: Path) -> list[Event]:
    session = "019f6000-0000-7000-8000-00000000000b"
    path = folder / f"sessions/%2Fw%2Fdemo/{session}/updates.jsonl"
    path.parent.mkdir(parents=True)
    edit = {"file_path": "/w/demo/sum.py", "old_string": "    return a - b", "new_string": "    return a + b"}
    diff = {"type": "diff", "path": "/w/demo/sum.py", "oldText": "    return a - b", "newText": "    return a + b"}
    lines = [
        _update(
            session, "user_message_chunk", 0, content={"type": "text", "text": "fix the sum"}, _meta={"promptIndex": 0}
        ),
        _tool(session, "c1", "search_replace", edit, 1),
        _update(session, "tool_call_update", 2, toolCallId="c1", status="completed", content=[diff]),
        _tool(session, "c2", "run_terminal_command", {"command": "git commit -am sum"}, 3),
        _update(
            session, "tool_call_update", 4, toolCallId="c2", status="completed",
            content=[{"type": "content", "content": {"type": "text", "text": "[main 1a2b3c4] sum\n 1 file changed"}}],
        ),
    ]  # fmt: skip
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return list(parse_file(path))


def _update(session: str, kind: str, at: int, **fields: Any) -> dict[str, Any]:
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}
    return {"timestamp": 1_785_600_000 + at, "method": "session/update", "params": params}


def _tool(session: str, call_id: str, name: str, arguments: dict[str, Any], at: int) -> dict[str, Any]:
    about = {"x.ai/tool": {"version": 1, "name": name, "kind": "execute", "read_only": False}}
    return _update(session, "tool_call", at, toolCallId=call_id, title=name, rawInput=arguments, _meta=about)


def episodes_of(events: Sequence[Event]) -> list[Episode]:
    return EditGrouper().episodes(SessionEvents(events), ())


@pytest.mark.parametrize("write", [claude, codex, grok])
def test_an_edit_and_its_commit_are_one_episode(write: Any, tmp_path: Path) -> None:
    (episode,) = episodes_of(write(tmp_path))
    assert [(Path(e.path).name, e.operation, e.added, e.removed) for e in episode.edits] == [("sum.py", "modify", 1, 1)]
    assert episode.commits == ("1a2b3c4",)
    assert [c.command for c in episode.commands] == ["git commit -am sum"]
    assert episode.ts is not None
