"""The shape of what this agent writes, for the laws that hold for any content."""

from __future__ import annotations

from typing import Any

from recollect.agents.formats.parse import FormatAdapter
from tests.agents.kit.shapes import Shape


def _large(text: str, index: int) -> Any:
    return [
        {
            "role": "assistant",
            "id": f"{text}{index}",
            "content": [
                {
                    "type": "tool_use",
                    "id": f"{text}{index}",
                    "name": "edit_file",
                    "input": {"path": text, "old_text": text, "new_text": text},
                }
            ],
        },
        [],
    ]


SHAPE = Shape(
    FormatAdapter("copaw"),
    path="workspaces/w/sessions/s1.json",
    names="""id name role content metadata timestamp type text thinking input raw_input output source media_type
    data agent memory _compressed_summary _sys_prompt toolkit active_groups""",
    kinds="""user assistant system text thinking tool_use tool_result image compressed hint edit_file base64""",
    large=_large,
    places=("agent.memory.content", "agent.memory", "agent", ""),
    large_at="agent.memory.content",
)
