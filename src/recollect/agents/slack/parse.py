"""Slack: one day of a channel in, its events out. Pure, and never raises on content."""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.agents.kit.exports.head import first_element
from recollect.agents.kit.reading import BaseState, Reading
from recollect.agents.slack.declare import CHANNEL, FACTS
from recollect.agents.slack.messages import is_stamp, read_message
from recollect.model.payloads import Lifecycle, SessionStart
from recollect.model.records import SourceInfo

_TEAM = re.compile(rb'\\?"team\\?"\s*:\s*\\?"([TE][A-Z0-9]{2,20})\\?"')
_DAY = re.compile(r"(?:^|/)\d{4}-\d\d-\d\d\.json$", re.ASCII)
_PERSON = re.compile(r"[UW][A-Z0-9]{4,20}")
_HEAD_BYTES = 60_000
"""A head of fewer bytes is the whole file."""
_WRITERS = frozenset(("user", "bot_id", "subtype", "username"))


class SlackAdapter(KitAdapter[BaseState]):
    """The adapter of a Slack workspace export."""

    facts = FACTS
    state_type = BaseState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a list of messages, each with its time as Slack writes it, and who wrote it.

        Where a long first message is cut before its time, the file's name must be a day's.
        """
        if b'"message"' not in head or not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            return None
        first = first_element(head) or {}
        is_cut = "ts" not in first and len(head) >= _HEAD_BYTES and _DAY.search(path) is not None
        is_person = is_cut and _PERSON.fullmatch(text(first.get("user"))) is not None
        is_message = first.get("type") == "message" and (is_stamp(first.get("ts")) or is_person)
        return CHANNEL if is_message and first.keys() & _WRITERS else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the channel, below its workspace where a message names it."""
        team = _TEAM.search(head)
        channel = info.document or info.stem
        return f"{team.group(1).decode()}/{channel}" if team else channel

    def read(self, reading: Reading[BaseState]) -> None:
        """See `KitAdapter.read`."""
        day = reading.record.value
        if not isinstance(day, list):
            read_odd(reading)
            return
        for value in day:
            message = mapping(value)
            if not message:
                reading.wrong("message")
                reading.kept("message", value)
                continue
            _date(reading, message)
            if not reading.now("is_started"):
                _start(reading)
            read_message(reading, message)


def _start(reading: Reading[BaseState]) -> None:
    reading.set(is_started=True)
    reading.add(SessionStart(originator="slack"), native_id="start")
    channel = reading.state.document
    if channel:
        reading.add(Lifecycle("title", title=f"#{channel}"), native_id="title")


def _date(reading: Reading[BaseState], message: dict[str, Any]) -> None:
    """Take the time of a message, which is also its name: seconds and a number that makes it unique."""
    written = text(message.get("ts"))
    if is_stamp(written):
        seconds, _, micros = written.partition(".")
        reading.date(int(seconds) * 1_000_000 + int((micros + "000000")[:6]), "ts")
    else:
        reading.wrong("ts", "bad_timestamp")
        reading.infer(reading.last_ts)
        if reading.last_ts is None:
            reading.ts_quality = "missing"
