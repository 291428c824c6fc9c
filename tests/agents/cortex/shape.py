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
                "type": "tool_use",
                "tool_use": {
                    "tool_use_id": f"{text}{index}",
                    "name": "edit",
                    "input": {"path": text, "old_string": text, "new_string": text},
                },
            }
        ],
    }


SHAPE = Shape(
    FormatAdapter("cortex"),
    path="u-1.json",
    names="""session_id title history connection_name working_directory git_branch created_at role id content
    type text internalOnly tool_use tool_result tool_use_id name input status user_sent_time
    permission_cache""",
    kinds="""user assistant text tool_use tool_result success error edit bash""",
    large=_large,
    places=("history", ""),
    large_at="history",
)
