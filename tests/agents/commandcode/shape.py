"""The shape of what this agent writes, for the laws that hold for any content."""

from __future__ import annotations

from typing import Any

from recollect.agents.formats.parse import FormatAdapter
from tests.agents.kit.shapes import Shape


def _large(text: str, index: int) -> Any:
    return {
        "role": "assistant",
        "id": f"{text}{index}",
        "content": [
            {
                "type": "tool-call",
                "toolCallId": f"{text}{index}",
                "toolName": "edit",
                "input": {"path": text, "old_string": text, "new_string": text},
            }
        ],
        "cwd": text,
        "gitBranch": text,
    }


SHAPE = Shape(
    FormatAdapter("commandcode"),
    path="work-demo/sess_1.jsonl",
    names="""id timestamp sessionId role content gitBranch metadata version cwd context projectPath type text
    toolCallId toolName input output value name tool_use_id title""",
    kinds="""user assistant tool text reasoning thinking tool-call tool-result tool_use tool_result error-text
    Edit Bash""",
    large=_large,
    places=("",),
    large_at="",
)
