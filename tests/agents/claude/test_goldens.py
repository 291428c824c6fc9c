"""Each fixture, named for the trap it holds, against its reviewed events."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest

from recollect.model.events import Draft
from tests.agents.claude.transcripts import FOLDER, Told, lines_of

TRAPS = sorted(p.name.removesuffix(".jsonl") for p in FOLDER.glob("*.jsonl") if not p.name.endswith(".events.jsonl"))


def _told(record: int, part: int, draft: Draft) -> dict[str, Any]:
    written: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(draft))
    payload = written.pop("payload")
    return {"record": record, "part": part, **{k: v for k, v in written.items() if v}, "payload": payload}


@pytest.mark.golden
@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_gives_its_reviewed_events(trap: str) -> None:
    told = Told(lines_of(f"{trap}.jsonl"))
    events = [_told(r, p, d) for r, drafts in enumerate(told.by_record) for p, d in enumerate(drafts)]
    golden = FOLDER / f"{trap}.events.jsonl"
    if os.environ.get("RECOLLECT_UPDATE_GOLDENS"):
        golden.write_bytes(b"".join(msgspec.json.encode(e) + b"\n" for e in events))
    assert events == lines_of(golden.name)
