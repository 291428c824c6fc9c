"""Results that only the command line puts together; the rest of what `--json` prints is typed by `Memory`."""

from __future__ import annotations

import msgspec

from recollect.memory import SearchAnswer, Stats, SyncReport
from recollect.model.events import Event
from recollect.model.sessions import Session


class SessionView(msgspec.Struct, frozen=True):
    """A page of a session. `next_seq`: where to go on with `--from`; None at the end."""

    session: Session
    events: tuple[Event, ...]
    next_seq: int | None
    notes: tuple[str, ...] = ()


class UpReport(msgspec.Struct, frozen=True):
    """What `up --once` did and what is there now. `demo_home`: set where the bundled sample was loaded instead."""

    sync: SyncReport
    stats: Stats
    example: SearchAnswer | None
    demo_home: str = ""
