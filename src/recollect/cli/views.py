"""Result types that only the command line assembles. `Memory` defines all others."""

from __future__ import annotations

import msgspec

from recollect.memory import SearchAnswer, Stats, SyncReport


class UpReport(msgspec.Struct, frozen=True):
    """What `up --once` did and what is there now. `demo_home`: set where the bundled sample was loaded instead."""

    sync: SyncReport
    stats: Stats
    example: SearchAnswer | None
    demo_home: str = ""
