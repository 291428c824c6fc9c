"""The ordered list of migrations; a released one never changes, a change is a new one at the end."""

from __future__ import annotations

from recollect.store.migrations import (
    m0001_first,
    m0002_drift_and_trails,
    m0004_derivation,
    m0005_distilled,
    m0006_holes_and_tombstones,
    m0007_learned,
    m0008_arrangements,
    m0009_small_values,
)
from recollect.store.migrations import m0003_own_and_context_log as m0003_own_and_context_log

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    m0001_first.STATEMENTS,
    m0002_drift_and_trails.STATEMENTS,
    m0003_own_and_context_log.STATEMENTS,
    m0004_derivation.STATEMENTS,
    m0005_distilled.STATEMENTS,
    m0006_holes_and_tombstones.STATEMENTS,
    m0007_learned.STATEMENTS,
    m0008_arrangements.STATEMENTS,
    m0009_small_values.STATEMENTS,
)
"""Each is a tuple of single SQL statements; its position + 1 is the schema version that it makes."""

SCHEMA_VERSION = len(MIGRATIONS)
