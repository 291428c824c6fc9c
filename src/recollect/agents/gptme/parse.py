"""gptme: one message in, its events out. Pure, and never raises on content.

What each becomes is in `messages`, calls in `blocks` and `tools`; traps are in README.md beside this file.
"""

from __future__ import annotations

from typing import ClassVar

from recollect.agents.facts import facts_of
from recollect.agents.gptme.messages import read_message
from recollect.agents.gptme.state import GptmeState
from recollect.agents.kit.adapter import KitAdapter, first_line_name
from recollect.agents.kit.names import short
from recollect.agents.kit.values import decoded_json, mapping
from recollect.model.records import SourceInfo

BRANCH = "branch"
MAIN = "log"

_NAME = "conversation.jsonl"
_ROLES = ("system", "user", "assistant", "tool")


class GptmeAdapter(KitAdapter[GptmeState]):
    """The adapter of gptme."""

    facts = facts_of("gptme")
    state_type = GptmeState
    readers: ClassVar = {"": read_message}

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. Its messages have no mark of their own: only under gptme's own file name."""
        if path.rsplit("/", 1)[-1] != _NAME:
            return None
        value = mapping(decoded_json(head.partition(b"\n")[0]))
        is_message = value.get("role") in _ROLES and isinstance(value.get("content"), str)
        return MAIN if is_message and isinstance(value.get("timestamp"), str) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the folder's name; a branch is a session of its own, below it."""
        folders = info.path.split("/")[:-1]
        if info.role == BRANCH and len(folders) > 1:
            return f"{folders[-2]}/{info.stem}"
        return (folders[-1] if folders else "") or first_line_name(head)

    def begin(self, info: SourceInfo) -> GptmeState:
        """See `Adapter.begin`."""
        parent = info.session.rpartition("/")[0] if info.role == BRANCH else ""
        return GptmeState(session=short(info.session), role=info.role, branch_of=short(parent))
