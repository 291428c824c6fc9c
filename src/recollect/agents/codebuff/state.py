"""What the parser of Codebuff carries from record to record."""

from __future__ import annotations

from recollect.agents.kit import adapter as kit
from recollect.agents.kit.names import NamingState


class ChatState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """State after a record."""

    began: int | None = None
    """When the chat's folder was made, in UTC microseconds."""
    first_minute: int = -1
    last_minute: int = -1
    days: int = 0
    """Minutes of the day of the first and the newest message, and how often midnight passed between them."""


Reading = kit.Reading[ChatState]
