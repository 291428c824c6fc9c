"""What the memory gave to agents, and which calls asked it."""

from __future__ import annotations

# `own_call.call`: see `model.ids.call_key`. `firing.nonce` tells two of the same microsecond apart.
STATEMENTS: tuple[str, ...] = (
    # class: derived
    """CREATE TABLE own_call (
        session INTEGER NOT NULL,
        call BLOB NOT NULL,
        PRIMARY KEY (session, call)
    ) WITHOUT ROWID""",
    # class: authored
    """CREATE TABLE firing (
        at INTEGER NOT NULL,
        nonce INTEGER NOT NULL,
        agent TEXT NOT NULL,
        session TEXT NOT NULL,
        event TEXT NOT NULL,
        repo TEXT NOT NULL,
        citations TEXT NOT NULL,
        identifiers TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        left_out INTEGER NOT NULL,
        took_us INTEGER NOT NULL,
        note TEXT NOT NULL,
        PRIMARY KEY (at, nonce)
    ) WITHOUT ROWID""",
)
