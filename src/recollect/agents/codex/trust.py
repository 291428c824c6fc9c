"""Checks whether Codex may run a hook."""

import re
from collections.abc import Mapping
from typing import Any

from recollect.agents.install.values import value_at

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


def is_allowed(config: Mapping[str, Any], path: str, event: str, number: int) -> bool:
    """Tell whether Codex keeps the hash of a hook that may run, in `hooks.state."FILE:session_start:GROUP:HANDLER"`."""
    label = _WORD_START.sub("_", event).lower()
    states = value_at(config, ("hooks", "state"))
    if not isinstance(states, Mapping):
        return False
    return bool(value_at(states, (f"{path}:{label}:{number}:0", "trusted_hash")))
