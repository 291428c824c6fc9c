"""What holds for any content: nothing raises, the state stays small, and no cut of the stream shows."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import MAX_STATE_BYTES, read
from tests.agents.crush.rows import ADAPTER, T0, Row, block, call, message, records, result
from tests.agents.kit.bent import bent_rows
from tests.examples import tried

TABLES = ("messages", "sessions", "files", "")
ROLES = ("transcript", "session", "files")
ROWS: list[Row] = [
    message("user", block("text", text="Hello"), block("binary", Path="a", MIMEType="image/png", Data="AAAA")),
    message("user", block("image_url", url="data:image/png;base64,AAAA"), block("shell_command", command="ls")),
    message("assistant", block("reasoning", thinking="Hm."), block("finish", reason="canceled", time=T0)),
    call("edit", {"file_path": "a.py"}),
    result("edit", "ok", {"old_content": "1", "new_content": "2", "working_directory": "/w", "start_time": 1}),
    message("system", block("text", text="Be brief.")),
    ("sessions", {"id": "s1", "title": "t", "todos": [{"content": "c"}], "cost": 0.1, "created_at": T0}),
    ("files", {"id": "f1", "path": "a.py", "content": "x", "version": 1, "created_at": T0}),
]


@settings(max_examples=tried(150))
@given(rows=bent_rows(ROWS, TABLES), role=st.sampled_from(ROLES))
def test_no_content_makes_the_parser_raise(rows: list[Row], role: str) -> None:
    info = SourceInfo("crush", role, ".crush/crush.db", session="s1", document="s1")
    made = records(rows)
    whole = read(ADAPTER, info, made)
    assert whole.kinds <= set(ADAPTER.facts.capabilities.kinds)
    assert repr(read(ADAPTER, info, made, stops=True)) == repr(whole)
    for drafts in whole.events:
        assert all((d.ts is None) == (d.ts_quality == "missing") for d in drafts)


def test_the_state_of_a_very_long_session_stays_small() -> None:
    info = SourceInfo("crush", "transcript", ".crush/crush.db", session="s1", document="s1")
    state = ADAPTER.begin(info)
    for n in range(2000):
        row = call("edit" * 500, {"file_path": "x" * 5000}, f"{n}" * 500)
        state = ADAPTER.parse(Record(row[1], b"", n, "messages"), state).state
    assert len(msgspec.msgpack.encode(state)) <= MAX_STATE_BYTES
