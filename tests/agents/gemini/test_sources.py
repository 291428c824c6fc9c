"""Which files are Gemini CLI's, and which session they belong to."""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path

import pytest

from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import read
from tests.agents.gemini.recordings import ADAPTER, HEADER, PATHS, SESSION, reply, user


def head(*values: object) -> bytes:
    return b"\n".join(json.dumps(v).encode() for v in values)


@pytest.mark.parametrize(
    ("name", "content", "role"),
    [
        ("x.jsonl", head(HEADER, user("m1", "Hi")), "chat"),
        ("x.jsonl", head({**HEADER, "kind": "subagent"}), "subagent"),
        ("x.jsonl", head(user("m1", "Hi"), reply("m2", "Ho")), "chat"),
        ("x.jsonl", head({"$set": {"lastUpdated": "x"}}), "chat"),
        ("x.json", json.dumps({**HEADER, "messages": [user("m1", "Hi")]}, indent=2).encode()[:-30], "chat_json"),
        ("x.json", head({**HEADER, "messages": []}), "chat_json"),
        ("logs.json", head([{"sessionId": "s", "messageId": 0, "timestamp": "t", "type": "user"}]), "prompts"),
        ("checkpoint-a.json", head([{"role": "user", "parts": []}]), "saved"),
        ("other.json", head([{"role": "user", "parts": []}]), None),
        ("x.jsonl", head({"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user"}}), None),
        ("x.jsonl", head({"type": "session", "id": "s", "timestamp": "t"}), None),
        ("x.jsonl", b"\xff{", None),
    ],
)
def test_a_file_is_told_by_its_content(name: str, content: bytes, role: str | None) -> None:
    assert ADAPTER.recognise(name, content) == role


def test_a_recording_is_named_by_its_first_line_and_not_by_its_file() -> None:
    info = SourceInfo("gemini", "chat", PATHS["chat"])
    assert ADAPTER.identify(info, head(HEADER)) == SESSION
    assert ADAPTER.identify(info, head(reply("m1", 'says "sessionId": "x"'))) == "session-2026-08-01T09-00-0f0e0d0c"


def test_a_snapshot_is_named_by_its_members_and_not_by_what_is_said_in_it() -> None:
    info = SourceInfo("gemini", "chat_json", PATHS["chat_json"])
    call = {"args": {"sessionId": "wrong"}}
    early = json.dumps({**HEADER, "messages": [call]}, indent=2).encode()
    assert ADAPTER.identify(info, early) == SESSION


def test_a_subagent_knows_its_parent_by_its_folder() -> None:
    info = SourceInfo("gemini", "subagent", PATHS["subagent"], "1a2b3c4d")
    assert ADAPTER.begin(info).parent == SESSION


def test_files_without_a_session_have_names_of_their_own() -> None:
    names = {role: ADAPTER.identify(SourceInfo("gemini", role, PATHS[role]), b"") for role in PATHS}
    assert names["saved"] == "saved/demo/before"
    assert names["project"] == "project/demo"
    assert names["prompts"] == "prompts/demo"
    assert all(names.values())


@pytest.mark.parametrize(
    "path",
    [
        "oauth_creds.json", "google_accounts.json", "mcp-oauth-tokens.json",
        "mcp-oauth-tokens-v2.json", "settings.json", "installation_id", ".env", "tmp/demo/shell_history",
        "antigravity/x.json", "tmp/demo/checkpoints/a.json",
    ],
)  # fmt: skip
def test_credentials_and_other_products_match_no_pattern(path: str) -> None:
    patterns = [pattern for place in ADAPTER.facts.places for pattern in place.patterns]
    assert not [p for p in patterns if p.count("/") == path.count("/") and fnmatch.fnmatchcase(path, p)]


@pytest.mark.corpus
def test_real_recordings_give_events_and_no_defects(shared: Path) -> None:
    paths = sorted((shared / "corpus" / "gemini-cli").glob("**/session-*.json"))
    assert paths
    for path in paths:
        content = path.read_bytes()
        assert ADAPTER.recognise(path.name, content[: 64 * 1024]) == "chat_json"
        info = SourceInfo("gemini", "chat_json", f"tmp/x/chats/{path.name}")
        session = ADAPTER.identify(info, content[: 64 * 1024])
        document = json.loads(content)
        assert session == document["sessionId"]
        messages = document.pop("messages")
        records = [Record(document, b"", 0), *(Record(m, b"", i, "messages") for i, m in enumerate(messages, 1))]
        told = read(ADAPTER, SourceInfo("gemini", "chat_json", info.path, session), records, stops=True)
        assert told.defects == ()
        assert all(told.events)
