"""DeepSeek Harness: pieces of a stream, forks under the same ids, generations, and logs of many frames."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.dsh.parse import DshAdapter
from recollect.config import AgentConfig, Config
from recollect.memory import Memory
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    Payload,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of
from recollect.testing.strategies import any_values
from tests.agents.kit.bent import bent

ADAPTER = DshAdapter()
SESSION = "session-eaf5c9ac"
FOLDER = f"sessions/--w--/{SESSION}"
INFO = SourceInfo("dsh", "log", f"{FOLDER}/session.jsonl", SESSION)
HEADER = {"type": "session", "version": 0, "id": SESSION, "createdAt": 1787320263000, "cwd": "/w"}


def event(seq: int, kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "seq": seq, "time": 1787320263000 + seq * 10, "data": data}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def user(seq: int, name: str, said: str, source: str = "user") -> dict[str, Any]:
    return event(seq, "user/message", id=name, role="user", content=[text(said)], source={"kind": source})


def answer(seq: int, name: str, *blocks: Any, **fields: Any) -> dict[str, Any]:
    source = {"kind": "model", "model": "deepseek-v4"}
    message = {"id": name, "role": "assistant", "content": list(blocks), "source": source}
    return event(seq, "assistant/message", turn=1, step=1, message=message, **fields)


def pieces(*texts: str) -> dict[str, Any]:
    data = {"turn": 1, "step": 1, "index": 0, "texts": list(texts)}
    return {"type": "text-chunks", "seq0": 3, "time0": 1787320263030, "data": data}


def result(seq: int, said: str, *, failed: bool = False, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool-result", "toolCallId": "c1", "content": [text(said)], "isError": failed}
    message = {"id": "r1", "source": {"kind": "tool", "callId": "c1"}, "content": [block]}
    return event(seq, "tool/result", turn=1, step=1, message=message, **fields)


ASKED = {"type": "tool-call", "id": "c1", "name": "edit", "arguments": '{"file_path": "a", "old_string": "1"}'}
USAGE = {"inputTokens": 20, "outputTokens": 6, "cacheReadTokens": 80, "reasoningTokens": 2}
STOPPED = event(9, "turn/end", turn=1, reason={"kind": "aborted"})
RECORDS: list[Any] = [
    HEADER,
    user(1, "m1", "Hi"),
    event(2, "request/header", header={"config": {"model": "deepseek-v4"}, "system": "You are DSH."}),
    pieces("H", "o"),
    event(4, "assistant/chunk", turn=1, step=1, chunk={"type": "reasoning-delta", "text": "Hm"}),
    answer(5, "m2", {"type": "reasoning", "text": "Hm."}, text("Ho"), ASKED, usage=USAGE),
    event(6, "tool/call", turn=1, step=1, callId="c1", name="edit", arguments=ASKED["arguments"]),
    result(7, "ok", meta={"exitCode": 0}),
    event(8, "compaction/summary", compactionId="k", summary=[text("s")], shadowedTokenCount=9, usage=USAGE),
    STOPPED,
]


def drafts(*values: Any, info: SourceInfo = INFO) -> list[Draft]:
    return [d for found in read(ADAPTER, info, records_of(values)).events for d in found]


def given_by(kind: type[Payload], *values: Any) -> list[Any]:
    return [d.payload for d in drafts(*values) if isinstance(d.payload, kind)]


def test_pieces_count_only_where_the_message_never_comes() -> None:
    whole = given_by(AssistantMessage, pieces("H", "o"), answer(5, "m2", text("Ho")), STOPPED)
    assert [(m.text, m.stop_reason) for m in whole] == [("Ho", "")]
    stopped = given_by(AssistantMessage, pieces("H", "o"), STOPPED)
    assert [(m.text, m.stop_reason) for m in stopped] == [("Ho", "interrupted")]
    assert [t.text for t in given_by(Thinking, RECORDS[4], STOPPED)] == ["Hm"]


def test_a_person_is_told_by_the_source_and_not_by_the_role() -> None:
    found = given_by(UserMessage, user(1, "m0", "It is noon.", "plugin"), user(2, "m1", "Hi"))
    assert [m.origin for m in found] == ["injected", "human"]


def test_a_call_stands_twice_under_one_name() -> None:
    found = [d for d in drafts(RECORDS[5], RECORDS[6]) if isinstance(d.payload, ToolCall)]
    assert len(found) == 2
    assert len({(d.native_id, repr(d.payload)) for d in found}) == 1


def test_names_do_not_depend_on_the_number_that_a_migration_changes() -> None:
    moved = [{**r, "seq": r["seq"] + 5} if "seq" in r else r for r in RECORDS]
    assert [d.native_id for d in drafts(*moved)] == [d.native_id for d in drafts(*RECORDS)]


def test_a_fork_repeats_its_parent_under_the_same_ids() -> None:
    fork = {**HEADER, "id": "session-b", "parentSession": SESSION, "seedLength": 5}
    info = SourceInfo("dsh", "log", "sessions/--w--/session-b/session.jsonl", "session-b")
    first, second = drafts(*RECORDS), drafts(fork, *RECORDS[1:], info=info)
    assert [d.native_id for d in first] == [d.native_id for d in second]
    assert [d.payload.forked_from for d in second if isinstance(d.payload, SessionStart)] == [SESSION]
    keys = [{d.payload.dedupe_key for d in given if isinstance(d.payload, TokenUsage)} for given in (first, second)]
    assert keys[0] == keys[1]
    assert len(keys[0]) == 2


def test_a_delegated_session_is_no_fork() -> None:
    (start,) = given_by(SessionStart, {**HEADER, "parentSession": "p", "origin": "subagent", "agentPreset": "explorer"})
    assert (start.parent_session, start.forked_from, start.agent_name) == ("p", "", "explorer")


def test_the_last_count_in_a_stream_is_the_responses() -> None:
    counts = [{"chunk": {"type": "usage", "usage": {"inputTokens": n, "outputTokens": n}}} for n in (1, 3)]
    (usage,) = given_by(TokenUsage, answer(1, "m2", text("Ho"), stream=counts))
    assert (usage.input_tokens, usage.output_tokens, usage.dedupe_key) == (3, 3, "dsh:m2")


def test_an_edit_is_told_by_its_result() -> None:
    assert [e.path for e in given_by(FileEdit, RECORDS[5], RECORDS[7])] == ["a"]
    assert not given_by(FileEdit, RECORDS[5], result(7, "no", failed=True))
    found = given_by(ToolResult, RECORDS[5], result(7, "", error={"message": "lost"}), result(8, "x", failed=True))
    assert [(r.ok, "lost" in r.text) for r in found] == [(False, True), (False, False)]


def test_a_compaction_has_a_summary_and_tokens_of_its_own() -> None:
    (found,) = given_by(Compaction, RECORDS[8])
    assert (found.summary, found.tokens_before) == ("s", 9)
    assert len(given_by(TokenUsage, RECORDS[8])) == 1


def test_a_turn_that_is_neither_done_nor_failed_was_interrupted() -> None:
    ends = [event(n, "turn/end", turn=n, reason={"kind": k}) for n, k in enumerate(("completed", "error", "aborted"))]
    assert [e.name for e in given_by(Lifecycle, *ends)] == ["turn_ended", "turn_aborted", "interrupted"]


def test_a_log_is_known_by_its_header() -> None:
    assert ADAPTER.recognise("x.jsonl", json.dumps(HEADER).encode()) == "log"
    assert ADAPTER.recognise("x.jsonl", b'{"type": "session", "id": "x", "cwd": "/w"}') is None
    assert ADAPTER.recognise("session.v4.jsonl.zstd", b"\x28\xb5\x2f\xfd") == "log_zstd"
    assert ADAPTER.recognise("other.zstd", b"\x28\xb5\x2f\xfd") is None
    assert ADAPTER.identify(SourceInfo("dsh", "log_zstd", "a/s%3A1/session.jsonl.zstd"), b"\x28\xb5") == "s:1"


def test_a_log_of_many_frames_grows_frame_by_frame(tmp_path: Path) -> None:
    root, nobody = tmp_path / "root", tmp_path / "nobody"
    path = root / FOLDER / "session.v4.jsonl.zstd"
    path.parent.mkdir(parents=True)
    nobody.mkdir()
    frames = [zstandard.compress(f"{json.dumps(r)}\n".encode()) for r in RECORDS]
    path.write_bytes(b"".join(frames[:4]))
    config = Config(agents={"dsh": AgentConfig(roots=(str(root),))})
    with Memory.open(tmp_path / "home", config=config, env={"HOME": str(nobody)}) as memory:
        memory.sync(agents=["dsh"])
        assert not [e for e in memory.events(f"dsh:{SESSION}") if e.kind == "assistant_message"]
        path.write_bytes(b"".join(frames))
        memory.sync(agents=["dsh"])
        kinds = [e.kind for e in memory.events(f"dsh:{SESSION}")]
        assert kinds.count("assistant_message") == kinds.count("user_message") == kinds.count("file_edit") == 1
        shutil.copy(path, path.with_name("session.jsonl.zstd"))
        assert sum(a.events for a in memory.sync(agents=["dsh"]).agents.values()) == 0


@given(values=any_values() | st.lists(bent(RECORDS), max_size=8))
def test_any_content_keeps_the_contract(values: list[Any]) -> None:
    assert check_adapter(ADAPTER, INFO, values) == []


@pytest.mark.corpus
def test_the_shared_log_is_read_without_a_defect(shared: Path) -> None:
    (path,) = (shared / "corpus/multi-synthetic").rglob("registry/deepseek/**/session.jsonl")
    values = [json.loads(line) for line in path.read_text().splitlines()]
    found = read(ADAPTER, INFO, records_of(values))
    assert found.defects == ()
    assert "user_message" in found.kinds
    assert "unknown" not in found.kinds
