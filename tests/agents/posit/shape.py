"""The shape of what this agent writes, for the laws that hold for any content."""

from __future__ import annotations

from typing import Any

from recollect.agents.formats.parse import FormatAdapter
from tests.agents.kit.shapes import Shape


def _large(text: str, index: int) -> Any:
    return {
        "id": index,
        "message": {
            "role": "assistant",
            "content": [
                {
                    "type": "tool-call",
                    "toolCallId": f"{text}{index}",
                    "toolName": "edit",
                    "input": {"path": text, "old_string": text, "new_string": text},
                }
            ],
        },
        "kind": text,
        "type": "usage",
    }


SHAPE = Shape(
    FormatAdapter("posit"),
    path="ws/conv1/lm-messages.jsonl",
    names="""id message role content providerOptions providerMetadata positai timestamp modelId usage inputTokens
    outputTokens cacheWriteTokens type text toolCallId toolName input output value root metadata kind
    title parentTreeId messages lmMessageIds isActive files image data mediaType""",
    kinds="""user assistant system tool text reasoning tool-call tool-result image file usage main subagent
    error-text content json""",
    large=_large,
    places=("messages", ""),
    large_at="",
)
