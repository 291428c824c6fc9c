"""The glossary: facts with the predicate `means`, as a search uses them."""

from __future__ import annotations

from typing import Any

import apsw

from recollect.store.notes import MEANS, glossary_of


def read_glossary(db: apsw.Connection, *, now_us: int) -> dict[str, tuple[str, ...]]:
    """Return the other words of each word (both normal, see `model.learnings.names`) that mean the same now.

    It goes both ways: after `k8s means kubernetes` each of them has the other.
    """
    rows: Any = db.execute(
        "SELECT subject, object FROM fact WHERE predicate = ? AND NOT is_retracted "
        "AND coalesce(valid_from <= ?, TRUE) AND coalesce(valid_to > ?, TRUE)",
        (MEANS, now_us, now_us),
    ).fetchall()
    return glossary_of(rows)
