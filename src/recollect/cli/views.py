"""Results that only the command line puts together; the rest of what `--json` prints is typed by `Memory`."""

from __future__ import annotations

import msgspec

from recollect.config import Config
from recollect.model.events import Event
from recollect.model.sessions import Session


class SessionView(msgspec.Struct, frozen=True):
    """A page of a session. `next_seq`: where to go on with `--from`; None at the end."""

    session: Session
    events: tuple[Event, ...]
    next_seq: int | None
    notes: tuple[str, ...] = ()


class ConfigView(msgspec.Struct, frozen=True):
    """The configuration in force and where it comes from."""

    home: str
    path: str
    exists: bool
    config: Config


class ErrorDetail(msgspec.Struct, frozen=True):
    """What failed. `retryable`: trying again later may help."""

    code: str
    message: str
    hint: str
    retryable: bool


class ErrorView(msgspec.Struct, frozen=True):
    """What stands on stdout instead of a result when a verb fails with `--json`."""

    error: ErrorDetail
