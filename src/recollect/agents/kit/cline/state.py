"""What the parser of the Cline family remembers from record to record."""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import NamingState
from recollect.agents.kit.reading import Reading

MAX_ASKED = 16


class ClineState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """All that is bounded: names, calls, and a few words."""

    counts_cached_input: bool = False
    """Whether this agent's `tokensIn` may include the cached tokens."""
    parent: str = ""
    waiting: tuple[Waiting, ...] = ()
    asked: tuple[str, ...] = ()
    """Calls of the newest assistant message that was written in XML, in order: results there have no ids."""
    deleted_range: tuple[int, int] | None = None
    is_summarised: bool = False
    """The model's own summary was seen, and not yet the truncation that it causes."""
    is_wrapped: bool = False
    """The log marks human text with tags, so that text without them is the harness's."""
    model: str = ""
    cwd: str = ""


ClineReading = Reading[ClineState]


def see_model(reading: ClineReading, model: str) -> bool:
    """Remember the model in use; say whether it is another one than before."""
    is_new = bool(model) and len(model) <= 200 and model != reading.now("model")
    if is_new:
        reading.set(model=model)
    return is_new


def record_id(value: dict[str, Any]) -> str:
    """Return the message's own id, "" where this generation writes none."""
    found = value.get("id")
    return found if isinstance(found, str) and 0 < len(found) <= 4096 else ""
