"""Checks whether Hermes may run a hook."""

from collections.abc import Mapping
from typing import Any

from recollect.model.own import SERVER


def is_allowed(document: Mapping[str, Any], _path: str, event: str, _number: int) -> bool:
    """Return whether a command of ours is approved for an event: it names our program and this agent."""
    approvals = document.get("approvals")
    return isinstance(approvals, list) and any(
        isinstance(one, Mapping)
        and one.get("event") == event
        and isinstance(command := one.get("command"), str)
        and SERVER in command
        and " hermes " in command
        for one in approvals
    )
