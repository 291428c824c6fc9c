"""The local time zone of this machine, in which people write and read times."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo


class LocalZone(tzinfo):
    """The zone of this machine at any date: summer and winter time follow the system's own rules."""

    def utcoffset(self, dt: datetime | None) -> timedelta:
        """Return how far a local time is ahead of UTC; where the system knows no rule, the offset of standard time."""
        if dt is None:
            return timedelta(seconds=-time.timezone)
        try:
            offset = dt.replace(tzinfo=None).astimezone().utcoffset()
        except (OverflowError, OSError, ValueError):  # before 1970 on Windows, and the ends of the calendar
            offset = None
        return timedelta(seconds=-time.timezone) if offset is None else offset

    def dst(self, dt: datetime | None) -> None:
        """Return None: the offset is all that is known."""
        return

    def tzname(self, dt: datetime | None) -> str:
        """Return the name that is shown."""
        return "local"

    def fromutc(self, dt: datetime) -> datetime:
        """Return the local time of an instant; the second of two equal ones has `fold=1`."""
        try:
            local = dt.replace(tzinfo=UTC).astimezone()
        except (OverflowError, OSError, ValueError):
            return (dt.replace(tzinfo=None) - timedelta(seconds=time.timezone)).replace(tzinfo=self)
        first = local.replace(tzinfo=self, fold=0)
        return first if first.utcoffset() == local.utcoffset() else first.replace(fold=1)


LOCAL = LocalZone()
