"""The shape of what this agent writes, for the laws that hold for any content."""

from __future__ import annotations

from typing import Any

from recollect.agents.formats.parse import FormatAdapter
from tests.agents.kit.shapes import Shape


def _large(text: str, index: int) -> Any:
    return {
        "id": f"{text}{index}",
        "type": "function_call",
        "name": "Edit",
        "callId": f"{text}{index}",
        "arguments": {"path": text, "old_string": text, "new_string": text},
        "cwd": text,
    }


SHAPE = Shape(
    FormatAdapter("workbuddy"),
    path="work-demo/s1.jsonl",
    names="""id timestamp type role content sessionId cwd providerData usage rawUsage model inputTokens
    prompt_tokens text image name callId arguments output rawContent status""",
    kinds="""message reasoning function_call function_call_result user assistant system text input_text
    input_image completed Edit Bash""",
    large=_large,
    places=("",),
    large_at="",
)
