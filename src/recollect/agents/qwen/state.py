"""What is carried from record to record of a Qwen Code source, and its limits."""

from __future__ import annotations

import msgspec

from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.content.google.chat import ChatState

MAX_METADATA = 32


class Metadata(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The newest metadata record of a subtype: the name its event has, and a hash of what it says."""

    subtype: str
    native_id: str
    content: str


class QwenState(ChatState, frozen=True):
    """What the records so far said that later ones need."""

    parent: str = ""
    """Of a subagent: the session that started it."""
    cwd: str = ""
    branch: str = ""
    model: str = ""
    title: str = ""
    waiting: tuple[Waiting, ...] = ()
    """Calls without a result yet, the newest at the end."""
    metadata: tuple[Metadata, ...] = ()
