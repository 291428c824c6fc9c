"""The shape of what this agent writes, for the laws that hold for any content."""

from __future__ import annotations

from typing import Any

from recollect.agents.shelley.parse import ShelleyAdapter
from tests.agents.kit.shapes import Shape


def _large(text: str, index: int) -> Any:
    return {
        "message_id": f"{text}{index}",
        "type": "agent",
        "llm_data": {
            "Content": [
                {
                    "Type": 5,
                    "ID": f"{text}{index}",
                    "ToolName": "patch",
                    "ToolInput": {"path": text, "patches": [{"oldText": text, "newText": text}]},
                }
            ]
        },
    }


SHAPE = Shape(
    ShelleyAdapter(),
    path="shelley.db",
    names="""message_id sequence_id type llm_data user_data usage_data display_data created_at Role Content Type
    Text Thinking ToolName ToolInput ToolUseID ToolResult ToolError Display MediaType Data ID distilled
    distill_status slug tags parent_conversation_id user_initiated path patches oldText""",
    kinds="""user agent tool system error gitinfo warning bash patch true 2 3 5 6 8""",
    large=_large,
    places=("messages", "conversations"),
    large_at="messages",
)
