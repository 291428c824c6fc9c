"""The writer's side of removing, one class a concern; all of it runs in the writer's transactions."""

from __future__ import annotations

import apsw

from recollect.store.sqlite.erasure.eviction import SqliteEvicting
from recollect.store.sqlite.erasure.forget import SqliteForgetting
from recollect.store.sqlite.erasure.holes import SqliteHoles
from recollect.store.sqlite.erasure.redaction import SqliteRedacting


class SqliteRemoving:
    """What takes stored things away. touched: see `SqliteWriter.touched`."""

    def __init__(self, db: apsw.Connection, touched: set[int]) -> None:
        self.holes = SqliteHoles(db, touched)
        self.evicting = SqliteEvicting(db, touched)
        self.forgetting = SqliteForgetting(db, touched)
        self.redacting = SqliteRedacting(db, touched)
