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
    FormatAdapter("zencoder"),
    path="s1.jsonl",
    names="""id parentId creationReason createdAt role content reason type text tag name toolCallId toolName
    input content isError exitCode output""",
    kinds="""newChat directContinuation user assistant tool system finish permission text reasoning tool-call
    tool-result skill shell-result user-input stop""",
    large=_large,
    places=("",),
    large_at="",
)
