"""Runs the program of `[notify] command` about urgent matters, each at most once a day."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from recollect.config import NotifyConfig
from recollect.errors import StoreError
from recollect.store.marks import read_mark, write_mark
from recollect.units import duration

NoticeName = Literal["session_memory.data_loss", "session_memory.distilled_cap", "session_memory.failure"]
_MARK = "notified"
_DAY_US = 24 * 3600 * 1_000_000
_decode = msgspec.json.Decoder(dict[str, int]).decode


class Notice(msgspec.Struct, frozen=True):
    """One thing to tell. value: counts, uids, reasons; never content."""

    event: NoticeName
    value: Mapping[str, Any]


def notify(home: Path, config: NotifyConfig, notice: Notice, *, now_us: int) -> str:
    """Run the configured program with a notice as one JSON object on its standard input; return what went wrong, or "".

    Does nothing where no program is configured, or it was told of the same thing within a day. Waits no longer than the
    configuration says; a program that takes longer is ended. Never raises.
    """
    if not config.command:
        return ""
    try:
        told = _told(home)
        last = told.get(notice.event)
        if last is not None and 0 <= now_us - last < _DAY_US:
            return ""
        write_mark(home, _MARK, msgspec.json.encode({**told, notice.event: now_us}).decode())
    except StoreError as error:
        return f"nobody was told of {notice.event}: {error}"
    said = {"event": notice.event, "at": now_us, "home": str(home), **notice.value}
    try:
        done = subprocess.run(  # noqa: S603 - the user's own program, without a shell
            list(config.command), input=msgspec.json.encode(said) + b"\n", timeout=config.timeout_seconds, check=False,
            cwd=home,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"`[notify] command` took longer than {duration(config.timeout_seconds)} and was ended"
    except (OSError, ValueError) as error:
        return f"`[notify] command` could not be run: {error}"
    return f"`[notify] command` ended with {done.returncode}" if done.returncode else ""


def _told(home: Path) -> dict[str, int]:
    try:
        return _decode(read_mark(home, _MARK) or "{}")
    except ValueError:
        return {}
