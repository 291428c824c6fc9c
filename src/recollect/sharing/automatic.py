"""Pushes, and syncs with a folder, from time to time for a daemon; remembers how the last push went."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from recollect.clock import now_us
from recollect.endpoints.team_client import TeamClient
from recollect.errors import TeamError
from recollect.files import write_file
from recollect.ingest.open_home import OpenHome
from recollect.paths import BACKGROUND_VARIABLE, HOME_VARIABLE
from recollect.processes import own_command
from recollect.sharing.membership import NAME, read_folder_state, read_membership
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


class AutomaticSharing:
    """Pushes to the team and syncs with the folder of one home, where it has them. Call it from one thread, as often as
    something may have changed."""

    def __init__(self, home: OpenHome, log: Callable[[str], None]) -> None:
        self._home = home
        self._log = log
        self._push = _Spaced(self._push_once)
        self._folder = _Spaced(self._sync_folder, every_s=EVERY_S)

    def __call__(self) -> float:
        """Do what is due; return in how many seconds to do so again.

        Raises StoreError, StoreLocked. That the server is away or refuses is noted, for `recollect team status`.
        """
        next_s = self._push() if (self._home.home / NAME).exists() else EVERY_S
        return min(next_s, self._folder())

    def _push_once(self) -> bool:
        try:
            push_and_note(self._home, attempts=1)
        except TeamError:
            return False
        return True

    def _sync_folder(self) -> bool:
        """Sync with the folder that is remembered. In a process of its own: it writes, and may take long."""
        state = read_folder_state(self._home.home)
        if not (state.folder and state.keys and os.path.isdir(state.folder)):  # a stick is not always there
            return True
        done = subprocess.run(  # noqa: S603  our own program
            own_command("sync-folder", state.folder, "--machine", state.name),
            env={**self._home.env, HOME_VARIABLE: str(self._home.home), BACKGROUND_VARIABLE: "0"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )  # fmt: skip
        if done.returncode in (0, 3):  # 3: it told of files that it passed over
            return True
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        self._log(f"the folder {state.folder} was not synced: {said[0] if said else done.returncode}")
        return False


class _Spaced:
    """Work that has its pauses: longer ones while it fails. every_s: the least between two that went well."""

    def __init__(self, work: Callable[[], bool], *, every_s: float = 0.0) -> None:
        self._work = work
        self._every_s = every_s
        self._failures = 0
        self._not_before = 0.0

    def __call__(self) -> float:
        """Work, unless a pause lasts; return in how many seconds to do so again."""
        left = self._not_before - time.monotonic()
        if left > 0:
            return left
        if self._work():
            self._failures = 0
            self._not_before = time.monotonic() + self._every_s
            return EVERY_S
        self._failures += 1
        # Spread, so that a server that comes back isn't asked by all of a team at once.
        longest = min(AFTER_FAILURE_S * 2.0 ** min(self._failures - 1, 16), LONGEST_S)
        wait = longest * random.uniform(0.5, 1)  # noqa: S311  spread, no secret
        self._not_before = time.monotonic() + wait
        return wait
