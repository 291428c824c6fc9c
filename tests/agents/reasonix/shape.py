"""The shape of what this agent writes, for the laws that hold for any content."""

from __future__ import annotations

from typing import Any

from recollect.agents.reasonix.parse import ReasonixAdapter
from tests.agents.kit.shapes import Shape


def _large(text: str, index: int) -> Any:
    return {
        "schema_version": 1,
        "type": "append",
        "revision": index,
        "role": "user",
        "content": text,
        "messages": [
            {"role": "user", "content": f"{text}{index}"},
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": f"{text}{index}",
                        "name": "edit_file",
                        "arguments": {"path": text, "old_string": text, "new_string": text},
                    }
                ],
            },
        ],
    }


SHAPE = Shape(
    ReasonixAdapter(),
    path="sessions/s1.events.jsonl",
    names="""schema_version type revision messages reason created_at role content raw_content reasoning_content
    tool_calls tool_call_id id name arguments diff tool_execution exitCode images local_only
    interrupted_turn decision_receipts origin createdAt parentSession status parent_id topic_title
    thinking_blocks thinking""",
    kinds="""append replace user assistant tool system compact_auto running completed edit_file bash task""",
    large=_large,
    places=("",),
    large_at="",
)
