"""How declarations say what many agents have alike. Facts only: loaded before any parser."""

from __future__ import annotations

from recollect.model.payloads import KINDS


def kinds_but(*missing: str) -> tuple[str, ...]:
    """Return every kind of event but those that an agent cannot give. Raises ValueError for what is no kind."""
    unknown = set(missing) - set(KINDS)
    if unknown:
        raise ValueError(f"no kinds of events: {', '.join(sorted(unknown))}")
    return tuple(kind for kind in KINDS if kind not in missing)
