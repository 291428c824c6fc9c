"""The only list of adapters."""

from __future__ import annotations

from functools import cache

from recollect.agents.base import Adapter
from recollect.errors import UnknownName


@cache
def adapters() -> dict[str, Adapter]:
    """Return every adapter by slug, in the order in which they are shown."""
    from recollect.agents.claude.parse import ClaudeAdapter
    from recollect.agents.codex.parse import CodexAdapter

    return {a.facts.slug: a for a in (ClaudeAdapter(), CodexAdapter())}


def adapter(name: str) -> Adapter:
    """Return an adapter by slug or by another spelling. Raises UnknownName."""
    known = adapters()
    wanted = name.strip().lower()
    for a in known.values():
        if wanted == a.facts.slug or wanted in a.facts.aliases:
            return a
    raise UnknownName("agent", name, nearest=tuple(known), hint="`recollect agents` lists them")
