"""Runs an agent's own command that registers or removes a server, as the person would."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from recollect.units import duration
from recollect.wire import INTERNAL_VARIABLE

TIMEOUT_S = 60
_SHOWN_CHARACTERS = 300


class Ran(NamedTuple):
    """How a command ended. detail: empty if it ended well, else one line of why not."""

    is_ok: bool
    detail: str


def run_command(argv: Sequence[str], env: Mapping[str, str]) -> Ran:
    """Run a command without a terminal and wait for it. Never raises for how it ends."""
    try:
        done = subprocess.run(  # noqa: S603 (the agent's own program, shown to the person before)
            list(argv),
            env={**env, INTERNAL_VARIABLE: "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ran(False, f"did not end within {duration(TIMEOUT_S)}")
    except OSError as error:
        return Ran(False, f"cannot be started: {error.strerror}")
    if done.returncode == 0:
        return Ran(True, "")
    said = " ".join(done.stdout.decode("utf-8", "replace").split())[-_SHOWN_CHARACTERS:]
    return Ran(False, f"ended with {done.returncode}" + (f": {said}" if said else ""))
