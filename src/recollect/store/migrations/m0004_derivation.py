"""Which derivation a database is: keys of events mean something in one only."""

from __future__ import annotations

STATEMENTS: tuple[str, ...] = (
    # class: derived; never copied into a database that is derived again
    "CREATE TABLE derivation (id BLOB NOT NULL)",
    "INSERT INTO derivation VALUES (randomblob(16))",
)
