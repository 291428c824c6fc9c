"""The writer's side of token usage: every sighting by session and dedupe key, the fullest one wins."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from math import isfinite

import apsw

from recollect.store.ports import SessionPart, UsageSighting

MAX_TOKENS = 1 << 40
"""What an agent writes beyond this is nonsense; it is cut off here so that sums stay whole numbers of 64 bits."""

_UPSERT = (
    "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET ts = excluded.ts, "
    "model = excluded.model, input = excluded.input, output = excluded.output, cache_read = excluded.cache_read, "
    "cache_write_5m = excluded.cache_write_5m, cache_write_1h = excluded.cache_write_1h, "
    "reasoning = excluded.reasoning, cost_usd = excluded.cost_usd, is_additive = excluded.is_additive "
    "WHERE (excluded.output, excluded.input + excluded.cache_read) > (output, input + cache_read)"
)
_SHARE = (
    "INSERT OR IGNORE INTO usage_shared "
    "SELECT dedupe FROM usage WHERE dedupe IN (SELECT value FROM carray(?)) AND session <> ?"
)


def save_usage(
    db: apsw.Connection, session: int, part: SessionPart, *, keys: list[int | None], intern: Callable[[str], int]
) -> None:
    """Store a part's sightings. A sighting without a dedupe key is its event's own.

    Keys that another session has too are noted in `usage_shared`; which session counts them is decided when read.
    """
    fullest: dict[str, UsageSighting] = {}
    for sighting in part.usage:
        key = sighting.dedupe_key or f"\0{keys[sighting.event]}"
        known = fullest.get(key)
        if known is None or _fullness(sighting) > _fullness(known):
            fullest[key] = sighting
    rows = [
        (
            session,
            dedupe_sha(key),
            sighting.ts if sighting.ts is not None else part.events[sighting.event].ts,
            intern(sighting.model),
            *[tokens if 0 <= tokens <= MAX_TOKENS else max(0, min(tokens, MAX_TOKENS)) for tokens in sighting[4:10]],
            sighting.cost_usd if sighting.cost_usd is not None and isfinite(sighting.cost_usd) else None,
            sighting.is_additive,
        )
        for key, sighting in fullest.items()
    ]
    db.executemany(_UPSERT, rows)
    db.execute(_SHARE, (apsw.carray(tuple(row[1] for row in rows)), session))


def _fullness(sighting: UsageSighting) -> tuple[int, int]:
    """Order sightings of one response: by output, then by all that went in (an agent's total may have no output)."""
    return sighting.output_tokens, sighting.input_tokens + sighting.cache_read_tokens


def dedupe_sha(key: str) -> bytes:
    """Return the 12-byte hash under which a dedupe key is stored."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12, person=b"recollect.usage").digest()
