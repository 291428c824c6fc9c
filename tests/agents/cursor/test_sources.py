"""Whose a source is: one session in three stores, and what must never be opened."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import msgspec
import pytest

from recollect.model.capabilities import Table
from recollect.model.records import SourceInfo
from recollect.testing.conformance import read, records_of
from tests.agents.cursor.rows import ADAPTER, CHILD, COMPOSER, DATABASE, STORE, TRANSCRIPT, ide, transcript

PLACES = ADAPTER.facts.places


def test_the_three_stores_name_one_session() -> None:
    infos = [
        SourceInfo("cursor", "ide", DATABASE, document=COMPOSER),
        SourceInfo("cursor", "cli_store", STORE),
        SourceInfo("cursor", "cli_meta", STORE),
        SourceInfo("cursor", "transcript", TRANSCRIPT),
        SourceInfo("cursor", "transcript", f"projects/w-demo/agent-transcripts/{COMPOSER}.jsonl"),
        SourceInfo("cursor", "transcript_text", f"projects/w-demo/agent-transcripts/{COMPOSER}.txt"),
    ]
    assert {ADAPTER.identify(info, b"") for info in infos} == {COMPOSER}


def test_two_places_of_one_database_are_two_sources() -> None:
    keys = {ADAPTER.source_key(SourceInfo("cursor", role, STORE)) for role in ("cli_store", "cli_meta")}
    assert len(keys) == 2
    assert ADAPTER.source_key(ide()) != ADAPTER.source_key(ide(CHILD))


def test_the_better_store_has_the_lower_lane() -> None:
    lanes = {place.role: place.lane for place in PLACES}
    assert lanes["ide"] < lanes["cli_store"] == lanes["cli_meta"] < lanes["transcript"] == lanes["transcript_text"]


def test_only_two_prefixes_of_one_table_of_the_editor_are_read() -> None:
    tables: tuple[Table, ...] = next(place.tables for place in PLACES if place.role == "ide")
    assert [(t.name, t.keys) for t in tables] == [
        ("cursorDiskKV", ("bubbleId:*",)),
        ("cursorDiskKV", ("composerData:*",)),
    ]
    assert not any(table.name == "ItemTable" for place in PLACES for table in place.tables)


@pytest.mark.parametrize(
    "path",
    [
        "mcp.json",
        "cli-config.json",
        "agent-cli-state.json",
        "ai-tracking/ai-code-tracking.db",
        "globalStorage/storage.json",
    ],
)
def test_settings_and_credentials_match_no_place(path: str) -> None:
    assert not any(fnmatch(path, pattern) for place in PLACES for pattern in place.patterns)


def test_a_loose_transcript_is_told_by_its_envelope() -> None:
    line = b'{"role":"user","message":{"content":[{"type":"text","text":"<user_query>\\nHi.\\n</user_query>"}]}}\n'
    assert ADAPTER.recognise("loose.jsonl", line) == "transcript"
    assert ADAPTER.recognise("p/subagents/loose.jsonl", line) == "subagent"
    assert ADAPTER.recognise("loose.jsonl", line[:60]) == "transcript"
    assert ADAPTER.recognise("loose.txt", b"user:\n<user_query>\nHi.\n</user_query>\n") == "transcript_text"


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"user","message":{"role":"user","content":"Hi."},"uuid":"1","sessionId":"2"}',
        b'{"type":"message","id":"1","message":{"role":"user","content":[]}}',
        b'{"role":"user","message":{"role":"user","content":"Hi."}}',
        b'{"role":"user","content":"Hi."}',
        b'{"role":"user","parts":[{"text":"Hi."}]}',
        b"user:\nis the first word of a note",
        b"",
        b"SQLite format 3\x00",
    ],
)
def test_files_of_others_are_left_to_them(line: bytes) -> None:
    assert ADAPTER.recognise("loose.jsonl", line) is None


@pytest.mark.corpus
def test_shared_transcripts_are_read_without_a_loss(shared: Path) -> None:
    found = [
        *(shared / "corpus" / "cursor").rglob("*.jsonl"),
        *(shared / "corpus").glob("*/*/fixtures/**/cursor/**/agent-transcripts/**/*.jsonl"),
    ]
    assert found
    for path in found:
        values = [msgspec.json.decode(line) for line in path.read_bytes().splitlines() if line.strip()]
        story = read(ADAPTER, transcript(f"projects/p/agent-transcripts/{path.name}"), records_of(values))
        empty = [i for i, drafts in enumerate(story.events) if not drafts and values[i]["message"]["content"]]
        assert empty == [], path
        assert ADAPTER.recognise(path.name, path.read_bytes()[:65536]) or "schema_drift" in path.name, path


@pytest.mark.corpus
def test_a_shared_dump_of_the_editors_rows_is_read(shared: Path) -> None:
    dump = shared / "corpus" / "peers" / "moraine" / "fixtures" / "cursor" / "state-vscdb-kv.jsonl"
    rows = [msgspec.json.decode(line) for line in dump.read_bytes().splitlines()]
    rows = sorted((r for r in rows if r["key"].startswith(("bubbleId:", "composerData:1"))), key=lambda r: r["key"])
    story = read(ADAPTER, ide("11111111-2222-4333-8444-555555555555"), records_of(rows))
    kinds = {"session_start", "user_message", "assistant_message", "thinking", "tool_call", "tool_result", "file_edit"}
    assert kinds <= story.kinds
    assert story.defects == ()
