"""`memory.exported`: what another program is told of a session that ended."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from recollect.insights.correlation import counts_as_infra, exported
from recollect.model.insights.digests import Digest
from recollect.model.payloads import ToolCall
from recollect.paths import DATABASE_NAME
from recollect.store.sqlite.insights.feed import SqliteSessionFeed


def exported_of(home: Path, digest: Digest, infra: tuple[str, ...]) -> dict[str, str]:
    """Return a session's variables, see `insights.correlation`. infra: `[infra] tools` of the configuration.

    Tools of MCP servers that an agent gives plain names are told by the stored calls; the digest has names only.
    """
    feed = SqliteSessionFeed(home, None, None)
    try:
        source = feed.read(digest.session_uid)
        payloads = [event.payload for event in source.events] if source is not None else []
    finally:
        feed.close()
    # A call whose name counts already goes by "mcp" too, so that either reason counts it, and both count it once.
    calls = Counter(
        "mcp" if counts_as_infra(payload.name, infra) else payload.canonical
        for payload in payloads
        if isinstance(payload, ToolCall)
    )
    return exported(digest, calls, infra, str((home / DATABASE_NAME).absolute()))
