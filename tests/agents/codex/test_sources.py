"""Which sources are Codex's, what they are called, and the two side files that name other sessions."""

from __future__ import annotations

import json
from fnmatch import fnmatch

import pytest

from recollect.agents.registry import adapter
from recollect.model.payloads import Lifecycle, Unknown, UserMessage
from recollect.model.records import SourceInfo
from tests.agents.codex.records import (
    ADAPTER,
    AT,
    AT_US,
    NAME,
    PARENT,
    THREAD,
    context,
    meta,
    read,
    record,
    user_event,
    user_item,
)


def lines(*records):
    return b"".join(json.dumps(r).encode() + b"\n" for r in records)


OLD_HEADER = {"id": THREAD, "timestamp": AT, "instructions": None}
DOCUMENT = {"session": {"id": THREAD, "timestamp": AT}, "items": []}
LONG_HEADER = lines(meta(base_instructions={"text": "x" * 100_000}))[:65536]


@pytest.mark.parametrize(
    ("head", "role"),
    [
        (lines(meta()), "transcript"),
        (lines(user_item("a")), "transcript"),
        (lines(user_event("a")), "transcript"),
        (lines(context()), "transcript"),
        (b"\xef\xbb\xbf" + lines(meta()), "transcript"),
        (b"not json\n" + lines(meta()), "transcript"),
        (LONG_HEADER, "transcript"),
        (lines(OLD_HEADER), "transcript"),
        (json.dumps(DOCUMENT, indent=2).encode(), "transcript_json"),
        (json.dumps({**DOCUMENT, "items": ["x" * 90_000]}).encode()[:65536], "transcript_json"),
        (lines({"session_id": THREAD, "ts": 1_782_979_200, "text": "hi"}), "history"),
        (lines({"id": THREAD, "thread_name": "A", "updated_at": AT}), "session_index"),
        (b"", None),
        (b"\x00\xff", None),
        (lines({"type": "user", "uuid": "1", "sessionId": "2", "message": {"role": "user"}}), None),
        (lines({"type": "event_msg"}), None),
        (lines({"role": "user", "content": "hi"}), None),
        (b'{"items": [], "session": 1}', None),
        (b"[" * 60_000, None),
    ],
)
def test_a_source_is_told_by_its_content(head, role):
    assert ADAPTER.recognise("folder/any.jsonl", head) == role


def test_a_compressed_rollout_is_told_by_its_name_or_by_its_content():
    name = f"rollout-2026-07-02T08-00-00-{THREAD}.jsonl.zst"
    assert ADAPTER.recognise(name, b"\x28\xb5\x2f\xfd....") == "transcript_zst"
    assert ADAPTER.recognise(name, lines(meta())) == "transcript_zst"
    assert ADAPTER.recognise("other.zst", b"\x28\xb5\x2f\xfd....") is None


def test_a_source_stays_the_same_when_it_is_archived_or_compressed():
    name = NAME.rsplit("/", 1)[-1]
    paths = (NAME, f"archived_sessions/{name}", f"{NAME}.zst", f"archived_sessions/{name}.zst")
    assert {ADAPTER.source_key(SourceInfo("codex", "transcript", p)) for p in paths} == {f"rollout/{THREAD}"}


def test_two_rollouts_are_two_sources_also_without_thread_ids_in_their_names():
    keys = {ADAPTER.source_key(SourceInfo("codex", "transcript", f"a/{n}.jsonl")) for n in ("x", "y", "rollout-z")}
    assert len(keys) == 3


@pytest.mark.parametrize(
    ("path", "head", "native"),
    [
        (NAME, lines(meta("other")), THREAD),
        ("a.jsonl", lines(meta("mine"), meta(PARENT)), "mine"),
        ("a.jsonl", lines(record("session_meta", {"session_id": "alias"})), "alias"),
        ("a.jsonl", lines(OLD_HEADER), THREAD),
        ("a.jsonl", LONG_HEADER, THREAD),
        ("a.json", json.dumps(DOCUMENT).encode(), THREAD),
    ],
)
def test_a_session_is_named_by_its_file_else_by_its_first_header(path, head, native):
    assert ADAPTER.identify(SourceInfo("codex", "transcript", path), head) == native


def test_a_session_without_any_id_is_named_by_its_first_line():
    one, two = (ADAPTER.identify(SourceInfo("codex", "transcript", "a.jsonl"), h) for h in (b"{}\n1", b"{}\n2"))
    assert one == two
    assert one.startswith("file-")
    assert len(one) == len("file-") + 16


def test_the_prompt_history_tells_human_turns_of_other_sessions():
    reading = read({"session_id": PARENT, "ts": AT_US // 1_000_000, "text": "fix it"}, role="history")
    (draft,) = reading.drafts
    assert draft.payload == UserMessage(text="fix it")
    assert (draft.session, draft.ts, draft.ts_quality) == (PARENT, AT_US, "exact")


def test_the_old_index_tells_titles_of_other_sessions():
    reading = read({"id": PARENT, "thread_name": "Fix it", "updated_at": AT}, role="session_index")
    (draft,) = reading.drafts
    assert draft.payload == Lifecycle(name="title", title="Fix it")
    assert (draft.session, draft.ts) == (PARENT, AT_US)


@pytest.mark.parametrize("role", ["history", "session_index"])
def test_a_line_of_a_side_file_without_session_is_kept_as_unknown(role):
    assert "xylophone" in read({"text": "xylophone"}, role=role).of(Unknown)[0].text


@pytest.mark.parametrize(
    "path",
    ["auth.json", "config.toml", ".env", "state_5.sqlite", "log/codex-tui.log", "memories/a.md", "sessions/a.txt"],
)
def test_no_place_matches_what_must_not_be_read(path):
    assert not [p for place in ADAPTER.facts.places for p in place.patterns if fnmatch(path, p)]


@pytest.mark.parametrize("name", ["codex", "codex-cli", "openai-codex", "Codex"])
def test_the_adapter_is_found_under_its_names(name):
    assert adapter(name).facts.slug == "codex"
