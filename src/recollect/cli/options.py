"""Options that several verbs share, so that the same thing has the same name everywhere; and the door to the memory."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from recollect.model.time import parse_iso

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.memory import Memory

Command = TypeVar("Command", bound=Callable[..., Any])

WHEN_FORMS = "2026-08-01, 2026-08-01T09:00, today, yesterday, 12h, 3d, 2w, 6mo, 1y"
_UNITS = {"min": 60, "h": 3600, "d": 86_400, "w": 604_800, "mo": 30 * 86_400, "y": 365 * 86_400}
_SPAN = re.compile(r"(\d{1,6})\s*(min|mo|h|d|w|y)")
_HAS_OFFSET = re.compile(r"(?:[Zz]|[+-]\d\d:?\d\d)\s*$")


class NamedPath(click.Path):
    """A path that is not empty: an unset variable of a shell must not stand for the working directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType.convert`."""
        if value == "":
            self.fail("an empty name names no file", param, ctx)
        return super().convert(value, param, ctx)


def parse_when(text: str, now: datetime) -> int | None:
    """Return UTC microseconds of what a person may write, or None.

    `2026-08-01` and `2026-08-01T09:00` are in the zone of `now`, unless an offset is given; `today`,
    `yesterday` are midnights; `30min`, `12h`, `3d`, `2w`, `6mo` (of 30 days), `1y` (of 365) are that long before now.
    """
    word = text.strip().lower()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    if word in ("today", "yesterday"):
        return _instant(midnight - timedelta(days=word == "yesterday"), now)
    if span := _SPAN.fullmatch(word):
        return int(now.timestamp() * 1_000_000) - int(span[1]) * _UNITS[span[2]] * 1_000_000
    us = parse_iso(text.strip())
    if us is None or _HAS_OFFSET.search(text):
        return us
    return _instant(datetime(1970, 1, 1) + timedelta(microseconds=us), now)


def _instant(naive: datetime, now: datetime) -> int | None:
    """Return UTC microseconds of a local time; the zone's own rules decide the offset where `now` has none fixed."""
    try:
        return int((naive.astimezone() if now.tzinfo is None else naive.replace(tzinfo=now.tzinfo)).timestamp() * 1e6)
    except (OverflowError, OSError, ValueError):
        return None


def _when(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Turn an option's text into UTC microseconds. Fails with the forms that are understood."""
    if value is None:
        return None
    us = parse_when(value, datetime.now())
    if us is None:
        raise click.BadParameter(f"{value!r} is not a time; write one of {WHEN_FORMS}", ctx=ctx, param=param)
    return us


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
as_option = click.option(
    "--as", "agent", metavar="SLUG", help="The agent that wrote it, where the content doesn't tell."
)
sink_option = click.option(
    "--sink",
    metavar="ndjson:FILE|sqlite:FILE",
    help="Write there instead of standard output; what was written is never doubled or torn.",
)
no_sync_option = click.option(
    "--no-sync", is_flag=True, help="Answer from what is stored; don't look for changes first."
)
agent_option = click.option("--agent", "agents", multiple=True, metavar="SLUG", help="Only this agent (repeatable).")
repo_option = click.option(
    "--repo", "repos", multiple=True, metavar="NAME", help="Only repositories whose name has this (repeatable)."
)


class TimeRange(TypedDict):
    """What `range_options` gives: UTC microseconds, from `after` on and before `before`."""

    after: int | None
    before: int | None


def range_options(command: Command) -> Command:
    """Add `--after` and `--before`."""
    command = click.option("--before", metavar="WHEN", callback=_when, help="Only before this time.")(command)
    text = f"Only from this time on: {WHEN_FORMS}."
    return click.option("--after", metavar="WHEN", callback=_when, help=text)(command)


def when_option(name: str, text: str, *, default: str | None = None, also: str = "") -> Callable[[Command], Command]:
    """Return an option that takes a time, as `--after` does. also: another name of it."""
    return click.option(
        *filter(None, (name, also)),
        metavar="WHEN",
        callback=_when,
        default=default,
        show_default=default is not None,
        help=text,
    )


def limit_option(default: int | None, what: str) -> Callable[[Command], Command]:
    """Return the option `--limit`; `what` is counted."""
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        default=default,
        show_default=default is not None,
        metavar="N",
        help=f"At most this many {what}.",
    )


def open_memory(home: Path | None = None) -> Memory:
    """Open the user's memory: of `home`, `RECOLLECT_HOME`, else the platform's data directory. Close it (`with`)."""
    from recollect.memory import Memory

    return Memory.open(home)


def now_us() -> int:
    """Return the time now in UTC microseconds, for showing how long ago something was."""
    return time.time_ns() // 1000
