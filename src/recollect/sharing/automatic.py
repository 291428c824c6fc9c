"""Pushes from time to time, for a daemon, and remembers how the last push went."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from recollect.clock import now_us
from recollect.endpoints.team_client import TeamClient
from recollect.errors import TeamError
from recollect.files import write_file
from recollect.ingest.home import OpenHome
from recollect.sharing.membership import NAME, read_membership
from recollect.sharing.push import PushReport, push
from recollect.wire import RUN_FOLDER

EVERY_S = 300.0
"""How often is looked for what nobody tells of: what was forgotten, shared or analysed by another process."""
AFTER_FAILURE_S, LONGEST_S = 15.0, 900.0
STATE = "team-push.json"


class PushState(msgspec.Struct, frozen=True):
    """How the last pushes of this home went. pushed_at: when the last one came through, UTC microseconds. failure: why
    the last one did not, "" where it did. team: other teams know nothing of it."""

    team: str = ""
    pushed_at: int | None = None
    failure: str = ""


def push_and_note(home: OpenHome, *, attempts: int = 0) -> PushReport:
    """Push, and note how it went. attempts: 0 for as many as a client makes. Raises as `push`."""
    mine = read_membership(home.home)
    before = read_state(home.home, mine.team)
    try:
        with TeamClient(mine.url, mine.token, **({"attempts": attempts} if attempts else {})) as client:
            report = push(home, mine, client)
    except TeamError as error:
        _note(home.home, msgspec.structs.replace(before, team=mine.team, failure=str(error)))
        raise
    _note(home.home, PushState(mine.team, now_us()))
    return report


def read_state(home: Path, team: str) -> PushState:
    """Return how the last pushes to a team went."""
    with suppress(OSError, msgspec.MsgspecError):
        found = msgspec.json.decode((home / RUN_FOLDER / STATE).read_bytes(), type=PushState)
        if found.team == team:
            return found
    return PushState()


def _note(home: Path, state: PushState) -> None:
    with suppress(OSError):  # a note: nothing follows from it
        (home / RUN_FOLDER).mkdir(mode=0o700, exist_ok=True)
        write_file(home / RUN_FOLDER / STATE, msgspec.json.encode(state), durable=False)


class AutomaticPush:
    """Pushes one home where it has joined a team. Call it from one thread, as often as something may have changed."""

    def __init__(self, home: OpenHome) -> None:
        self._home = home
        self._failures = 0
        self._not_before = 0.0

    def __call__(self) -> float:
        """Push, unless a server that was away is given its time; return in how many seconds to do so again.

        Raises StoreError, StoreLocked. That the server is away or refuses is noted, for `recollect team status`.
        """
        if not (self._home.home / NAME).exists():
            return EVERY_S
        left = self._not_before - time.monotonic()
        if left > 0:
            return left
        try:
            push_and_note(self._home, attempts=1)
        except TeamError:
            self._failures += 1
            # Spread, so that a server that comes back isn't asked by all of a team at once.
            longest = min(AFTER_FAILURE_S * 2.0 ** min(self._failures - 1, 16), LONGEST_S)
            wait = longest * random.uniform(0.5, 1)  # noqa: S311  spread, no secret
            self._not_before = time.monotonic() + wait
            return wait
        self._failures = 0
        return EVERY_S
