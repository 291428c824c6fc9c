"""A day of work, made of real transcripts: each keeps its order and its pace, all of them end within the last 24 hours.

What is given to a session depends on how old things are, so that transcripts of last year would be given nothing.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from benchmarks.support import corpora
from benchmarks.support.places import Places
from recollect.config import AgentConfig

DAY_S = 86_400.0
_STAMP = re.compile(rb'("timestamp"\s*:\s*")(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d:\d\d)(")')


class Transcript(NamedTuple):
    """One real transcript: where it lies in the corpus, its first and last time, where its session worked."""

    path: str
    began: datetime
    ended: datetime
    cwd: str
    session: str
    is_side: bool


def transcripts(at: Places, *, most: int | None) -> list[Transcript]:
    """Return the real transcripts that have times, in their order; `most`: so many of them, spread over all."""
    found = []
    for path in corpora.real_paths(at, only_real=True):
        told = _told(at.real_corpus / path, path)
        if told is not None:
            found.append(told)
    found.sort(key=lambda one: (one.began, one.path))
    if most is not None and len(found) > most:
        step = len(found) / most
        found = [found[int(n * step)] for n in range(most)]
    return found


def _told(file: Path, path: str) -> Transcript | None:
    times = [_time(m[2], m[3]) for m in _STAMP.finditer(file.read_bytes())]
    if not times:
        return None
    cwd = session = ""
    is_side = False
    with file.open("rb") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                payload = record.get("payload")
                session = session or str(record.get("sessionId") or "")
                cwd = cwd or str(record.get("cwd") or (payload.get("cwd") if isinstance(payload, dict) else "") or "")
                is_side = is_side or bool(record.get("isSidechain"))
            if cwd:
                break
    return Transcript(path, min(times), max(times), cwd, session, is_side)


def _time(stamp: bytes, zone: bytes) -> datetime:
    text = stamp.decode()[:26]
    return datetime.fromisoformat(text + ("+00:00" if zone == b"Z" else zone.decode()))


class Replay:
    """Puts transcripts into an agent's folder, one after the other, as if they were written in the last 24 hours."""

    def __init__(
        self, at: Places, folder: Path, chosen: list[Transcript], *, span_s: float = DAY_S, is_to_come: bool = False
    ) -> None:
        """span_s: seconds that all take together. is_to_come: they begin now; else they end now."""
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("claude-code", "codex"):
            (folder / name).mkdir(parents=True)
        self._at = at
        self._folder = folder
        self._slot_s = span_s / max(1, len(chosen))
        self._begin = datetime.fromtimestamp(time.time() - (0.0 if is_to_come else span_s), UTC)

    def agents(self) -> dict[str, AgentConfig]:
        """Return the configuration of the agents whose folders these are."""
        return {
            "claude": AgentConfig(roots=(str(self._folder / "claude-code"),)),
            "codex": AgentConfig(roots=(str(self._folder / "codex"),)),
        }

    def put(self, number: int, one: Transcript) -> int:
        """Write the transcript of a place in the day; return its bytes."""
        start = self._begin + timedelta(seconds=number * self._slot_s)
        lasted = (one.ended - one.began).total_seconds()
        pace = min(1.0, self._slot_s / lasted) if lasted > 0 else 1.0

        def shifted(match: re.Match[bytes]) -> bytes:
            moved = start + (_time(match[2], match[3]) - one.began) * pace
            return match[1] + moved.strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode() + match[4]

        data = _STAMP.sub(shifted, (self._at.real_corpus / one.path).read_bytes())
        target = self._folder / one.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return len(data)
