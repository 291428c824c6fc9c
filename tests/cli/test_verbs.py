"""Every verb against a real memory: answers, JSON shapes, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.cli.commands.config import result_types
from recollect.memory import ForgetSelection, Memory
from recollect.model.events import Event
from recollect.testing.builders import ClaudeTranscript
from tests.ingest.test_hook_spool import START_S, UID, a_desk, prompted

Recollect = Callable[..., Any]
ASKED: dict[str, tuple[str, ...]] = {
    "agents": ("agents",),
    "config": ("config",),
    "doctor": ("doctor",),
    "retro": ("retro", "--since", "2026-01-01"),
    "search": ("search", "webhook"),
    "sessions": ("sessions",),
    "stats": ("stats",),
    "stats-sessions": ("stats", "sessions", "--since", "2026-01-01"),
    "sync": ("sync",),
    "timeline": ("timeline",),
    "usage": ("usage",),
    "verify": ("verify",),
}


@pytest.fixture
def uid(filled: Path, recollect: Recollect) -> str:
    """Return the uid of the sample's session about a flaky test."""
    hits = recollect("search", "flaky", "agent:claude", "--json").data["hits"]
    return str(hits[0]["session_uid"])


def transcript(filled: Path, uid: str) -> Path:
    return next((filled / "sample").rglob(f"{uid.partition(':')[2]}.jsonl"))


@pytest.mark.parametrize("name", sorted(ASKED))
def test_json_has_the_shape_of_its_schema(name: str, filled: Path, recollect: Recollect) -> None:
    done = recollect(*ASKED[name], "--json")
    assert done.code == 0, done
    assert done.out.count("\n") == 1
    msgspec.json.decode(done.out, type=result_types()[name], strict=True)


def test_show_and_export_have_the_shape_of_their_schema(uid: str, tmp_path: Path, recollect: Recollect) -> None:
    msgspec.json.decode(recollect("show", uid, "--json").out, type=result_types()["show"])
    done = recollect("export", uid, "--out", str(tmp_path), "--json")
    msgspec.json.decode(done.out, type=result_types()["export"])


@pytest.mark.parametrize("name", sorted(ASKED))
def test_text_is_plain_where_there_is_no_terminal(name: str, filled: Path, recollect: Recollect) -> None:
    done = recollect(*ASKED[name])
    assert done.code == 0
    assert done.out.strip()
    assert "\x1b" not in done.out + done.err


@pytest.mark.parametrize("name", sorted(result_types()))
def test_every_schema_is_printed(name: str, recollect: Recollect) -> None:
    done = recollect("schema", name, "--json")
    assert done.code == 0
    assert "$defs" in done.data or "type" in done.data


def test_schemas_are_listed(recollect: Recollect) -> None:
    assert recollect("schema").out.split() == sorted(result_types())
    assert recollect("schema", "--json").data["schemas"] == sorted(result_types())


def test_an_unknown_schema_names_the_nearest(recollect: Recollect) -> None:
    done = recollect("schema", "serch")
    assert done.code == 2
    assert "did you mean search?" in done.err


def test_a_search_answers_with_the_shape_that_others_build_on(filled: Path, recollect: Recollect) -> None:
    data = recollect("search", "webhook", "--limit", "3", "--json").data
    answer = {"hits", "total", "match_level", "left_out", "notes", "abstained", "took_ms"}
    hit = {"session_uid", "event_id", "seq", "agent", "ts", "kind", "score", "snippet", "match_level"}
    hit |= {"root_session_uid", "part", "more_in_session"}
    assert answer <= set(data)
    assert len(data["hits"]) == 3
    assert all(hit <= set(h) for h in data["hits"])


def test_text_and_json_are_the_same_answer(filled: Path, recollect: Recollect) -> None:
    hits = recollect("search", "webhook", "--json").data["hits"]
    text = recollect("search", "webhook").out
    assert [f"{h['session_uid']}#{h['seq']}" for h in hits if f"    {h['session_uid']}#{h['seq']}" in text] == [
        f"{h['session_uid']}#{h['seq']}" for h in hits
    ]


def test_nothing_found_is_exit_code_1(filled: Path, recollect: Recollect) -> None:
    done = recollect("search", "qqzzxxyy")
    assert (done.code, done.err) == (1, "")
    assert "nothing found" in done.out
    assert recollect("search", "qqzzxxyy", "--json").code == 1


def test_filters_alone_that_find_nothing_claim_no_words(filled: Path, recollect: Recollect) -> None:
    done = recollect("search", "repo:atlas-web kind:compaction", "--no-sync")
    assert (done.code, "elsewhere, " in done.out, "word" in done.out) == (1, True, False), done.out


def test_the_options_of_search_are_filters(filled: Path, recollect: Recollect) -> None:
    hits = recollect("search", "test", "--agent", "codex", "--repo", "shop-api", "--kind", "tool_call", "--json").data[
        "hits"
    ]
    assert hits
    assert {(h["agent"], h["repo"], h["kind"]) for h in hits} == {("codex", "shop-api", "tool_call")}


def test_a_time_confines_a_search(filled: Path, recollect: Recollect) -> None:
    inside = recollect(
        "search", "webhook", "--after", "2026-09-01T00:00Z", "--before", "2026-09-05T00:00Z", "--json"
    ).data
    assert inside["hits"]
    assert {h["ts"] // 86_400_000_000 for h in inside["hits"]} == {20698}
    assert recollect("search", "webhook", "--before", "2026-01-01").code == 1


def test_a_minus_word_is_part_of_the_query(filled: Path, recollect: Recollect) -> None:
    everything = recollect("search", "webhook", "--limit", "100", "--json").data["total"]
    without = recollect("search", "webhook", "-idempotent", "--limit", "100", "--json").data["total"]
    assert 0 < without < everything


def test_after_two_dashes_everything_is_query(filled: Path, recollect: Recollect) -> None:
    assert recollect("search", "--limit", "3", "--", "--dry-run").code == 0


def test_an_open_quote_does_not_swallow_the_options(filled: Path, recollect: Recollect) -> None:
    hits = recollect("search", 'the "payment', "--agent", "codex", "--json").data["hits"]
    assert {h["agent"] for h in hits} <= {"codex"}


def test_several_agents_are_alternatives(filled: Path, recollect: Recollect) -> None:
    argv = ("search", "test", "--agent", "codex", "--agent", "claude-code", "--limit", "50", "--json")
    assert {h["agent"] for h in recollect(*argv).data["hits"]} == {"codex", "claude"}


@pytest.mark.parametrize("name", ["cc", "claude-code", "claude_code", "Claude Code", "CLAUDE"])
def test_an_agent_is_named_alike_in_queries_options_and_commands(filled: Path, recollect: Recollect, name: str) -> None:
    hits = recollect("search", f'test agent:"{name}"', "--limit", "50", "--json").data["hits"]
    assert {h["agent"] for h in hits} == {"claude"}
    assert recollect("search", "test", "--agent", name, "--limit", "50", "--json").data["hits"] == hits
    others = recollect("search", f'test -agent:"{name}"', "--limit", "50", "--json").data["hits"]
    assert {h["agent"] for h in others} == {"codex"}
    assert {s["agent"] for s in recollect("sessions", "--agent", name, "--json").data["sessions"]} == {"claude"}
    assert recollect("usage", "--agent", name, "--by", "agent", "--json").data["rows"][0]["key"] == "claude"
    entries = recollect("timeline", "--agent", name, "--json").data["entries"]
    assert {entry["agent"] for entry in entries} == {"claude"}
    assert recollect("sync", "--agent", name).code == 0
    assert recollect("parse", str(next(filled.rglob("claude/**/*.jsonl"))), "--as", name).code == 0
    assert recollect("setup", name, "--dry-run", "--json").data["agents"][0]["slug"] == "claude"


@pytest.mark.parametrize(
    "argv",
    [
        ("search", "test agent:claud-code"), ("search", "test", "--agent", "claud-code"),
        ("search", "test -agent:claud-code"), ("timeline", "--agent", "claud-code"),
        ("diary", "read", "--agent", "claud-code"), ("import", ".", "--as", "claud-code"),
        ("sessions", "--agent", "claud-code"), ("usage", "--agent", "claud-code"), ("sync", "--agent", "claud-code"),
        ("setup", "claud-code", "--dry-run"), ("parse", "nowhere.jsonl", "--as", "claud-code"),
    ],
)  # fmt: skip
def test_an_unknown_agent_is_an_error_that_names_the_nearest(
    filled: Path, recollect: Recollect, argv: tuple[str, ...]
) -> None:
    if argv[0] == "parse":
        argv = ("parse", str(next(filled.rglob("*.jsonl"))), *argv[2:])
    result = recollect(*argv)
    assert result.code == 2
    assert "claud-code" in result.err
    assert "did you mean claude" in result.err


def test_sessions_are_filtered_and_paged(filled: Path, recollect: Recollect) -> None:
    page = recollect("sessions", "--agent", "codex", "--limit", "3", "--json").data
    rest = recollect("sessions", "--agent", "codex", "--offset", "3", "--json").data
    uids = [s["session_uid"] for s in page["sessions"] + rest["sessions"]]
    assert page["total"] == rest["total"] == 4
    assert len(set(uids)) == 4
    assert [s["repo"] for s in recollect("sessions", "--repo", "infra", "--json").data["sessions"]] == ["infra-live"]


def test_no_session_in_range_is_exit_code_1(filled: Path, recollect: Recollect) -> None:
    assert recollect("sessions", "--after", "2030-01-01").code == 1


@pytest.mark.parametrize("verb", [("sessions",), ("timeline",), ("usage",), ("search", "webhook")])
def test_a_span_has_the_same_names_everywhere(verb: tuple[str, ...], filled: Path, recollect: Recollect) -> None:
    def found(*span: str) -> object:
        data = recollect(*verb, *span, "--json").data
        data.pop("took_ms", None)
        return data

    assert found("--since", "2026-09-02") == found("--after", "2026-09-02")
    assert found("--until", "2026-09-04") == found("--before", "2026-09-05")  # until: the day is included
    both = recollect(*verb, "--until", "2026-09-04", "--before", "2026-09-05")
    assert both.code == 2
    assert "use --before or --until, not both" in both.err


def test_a_session_is_shown_by_a_prefix_of_its_uid(uid: str, recollect: Recollect) -> None:
    done = recollect("show", uid[:12])
    assert done.code == 0
    assert uid in done.out
    assert "Find out why before you change anything." in done.out


def test_a_session_is_paged_without_gap_or_overlap(uid: str, recollect: Recollect) -> None:
    whole = recollect("show", uid, "--limit", "1000", "--json").data
    first = recollect("show", uid, "--limit", "4", "--json").data
    rest = recollect("show", uid, "--from", str(first["next_seq"]), "--limit", "1000", "--json").data
    assert whole["next_seq"] is None
    assert first["events"] + rest["events"] == whole["events"]


def test_a_citation_shows_the_event_with_its_neighbours(filled: Path, recollect: Recollect) -> None:
    hit = recollect("search", "selectinload", "--json").data["hits"][0]
    cite = f"{hit['session_uid']}#{hit['seq']}"
    seqs = [e["seq"] for e in recollect("show", cite, "--json").data["events"]]
    assert hit["seq"] in seqs
    assert 1 < len(seqs) <= 11
    assert f"#{hit['seq']}" in recollect("show", cite).out


def test_an_unknown_session_is_a_usage_error(filled: Path, recollect: Recollect) -> None:
    done = recollect("show", "claude:nope")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("recollect: no session called")


def test_an_unknown_event_is_a_usage_error(uid: str, recollect: Recollect) -> None:
    assert recollect("show", f"{uid}#99999").code == 2


def test_a_timeline_of_a_session_is_in_its_order(uid: str, recollect: Recollect) -> None:
    entries = recollect("timeline", "--session", uid, "--json").data["entries"]
    assert [e["seq"] for e in entries] == sorted(e["seq"] for e in entries)
    assert {e["session_uid"] for e in entries} == {uid}


@pytest.mark.parametrize("by", ["day", "session", "repo", "domain", "model", "agent", "total"])
def test_usage_sums_to_the_same_total_however_it_is_grouped(by: str, filled: Path, recollect: Recollect) -> None:
    report = recollect("usage", "--by", by, "--json").data
    assert report["by"] == by
    assert sum(r["totals"]["output_tokens"] for r in report["rows"]) == report["total"]["output_tokens"] > 0
    assert report["total"] == recollect("usage", "--by", "total", "--json").data["total"]


def test_a_raw_export_is_the_exact_bytes(uid: str, filled: Path, tmp_path: Path, recollect: Recollect) -> None:
    original = transcript(filled, uid).read_bytes()
    assert recollect("export", uid, "--raw", "--out", "-").out.encode() == original
    done = recollect("export", uid, "--raw", "--out", str(tmp_path), "--json")
    path = Path(done.data["files"][0]["path"])
    assert path.read_bytes() == original
    assert path.name == f"{uid.replace(':', '_')}.jsonl"


def test_an_exported_file_carries_the_end_of_the_session(uid: str, tmp_path: Path, recollect: Recollect) -> None:
    ended_at = recollect("show", uid, "--json").data["session"]["ended_at"]
    done = recollect("export", uid, "--format", "markdown", "--out", str(tmp_path), "--json")
    path = Path(done.data["files"][0]["path"])
    assert path.stat().st_mtime_ns // 1_000_000 == ended_at // 1_000
    assert "flaky" in path.read_text("utf-8")


def test_exported_events_are_the_events_that_show_gives(uid: str, recollect: Recollect) -> None:
    lines = recollect("export", uid, "--format", "events", "--out", "-").out.splitlines()
    shown = recollect("show", uid, "--limit", "1000", "--json").data["events"]
    assert [json.loads(line) for line in lines] == shown


def test_sessions_are_exported_by_name_or_by_choice(filled: Path, tmp_path: Path, recollect: Recollect) -> None:
    listed = recollect("sessions", "--limit", "1000", "--json").data["sessions"]
    repo = next(session["repo"] for session in listed if session["repo"])
    wanted = {session["session_uid"] for session in listed if repo.lower() in session["repo"].lower()}
    by_repo = recollect("export", "--repo", repo, "--out", str(tmp_path / "a"), "--json").data["files"]
    assert {file["session_uid"] for file in by_repo} == wanted
    two = [session["session_uid"] for session in listed[:2]]
    by_name = recollect("export", *two, two[0], "--format", "markdown", "--out", str(tmp_path / "b"), "--json").data
    assert [file["session_uid"] for file in by_name["files"]] == two
    assert len(list((tmp_path / "b").iterdir())) == 2
    streamed = recollect("export", *two, "--out", "-").out.splitlines()
    assert list(dict.fromkeys(json.loads(line)["session_uid"] for line in streamed)) == two
    none = recollect("export", "--before", "2001-01-01", "--out", str(tmp_path / "c"))
    assert (none.code, none.err) == (1, "no session matches\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no session named"),
        (("--after", "2001-01-01"), "add --out DIR, or name one session: `recollect export SESSION`"),
        (("{uid}", "--repo", "x"), "select them, not both"),
        (("--after", "2001-01-01", "--revision", "1", "--raw", "--out", "x"), "--revision needs exactly one session"),
        (
            ("--after", "2001-01-01", "--format", "prov", "--out", "-"),
            "prov of several sessions cannot be written to one stream",
        ),
    ],
)
def test_a_choice_that_cannot_be_exported_is_refused(
    words: tuple[str, ...], said: str, uid: str, recollect: Recollect
) -> None:
    done = recollect("export", *(word.format(uid=uid) for word in words))
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize(
    "more", [("--raw", "--format", "markdown"), ("--revision", "9"), ("--out", "-", "--json"), ("--revision", "0")]
)
def test_an_export_that_cannot_be_is_refused(more: tuple[str, ...], uid: str, recollect: Recollect) -> None:
    assert recollect("export", uid, *more).code == 2


def test_parse_gives_events_without_a_memory(recollect: Recollect, isolated_home: Path, demo: Path) -> None:
    path = next((demo / "sample" / "codex").rglob("*.jsonl"))
    done = recollect("parse", str(path))
    events = [msgspec.json.decode(line, type=Event) for line in done.out.splitlines()]
    assert done.code == 0
    assert events[0].kind == "session_start"
    assert not (isolated_home / "recollect").exists()


def test_parse_reads_stdin(recollect: Recollect, demo: Path) -> None:
    path = next((demo / "sample" / "codex").rglob("*.jsonl"))
    piped = recollect("parse", "-", stdin=path.read_bytes())
    kinds = [json.loads(line)["kind"] for line in piped.out.splitlines()]
    assert kinds == [json.loads(line)["kind"] for line in recollect("parse", str(path)).out.splitlines()]


@pytest.mark.parametrize("name", [".", "missing.jsonl"])
def test_parse_of_what_cannot_be_read_fails_in_one_line(name: str, tmp_path: Path, recollect: Recollect) -> None:
    done = recollect("parse", str(tmp_path / name))
    assert done.code == 3
    assert done.err.startswith("recollect: ")


def test_parse_of_an_empty_file_finds_nothing(tmp_path: Path, recollect: Recollect) -> None:
    (tmp_path / "empty.jsonl").touch()
    assert recollect("parse", str(tmp_path / "empty.jsonl"), "--as", "codex").code in (1, 3)


def test_verify_and_doctor_find_the_sample_whole(filled: Path, recollect: Recollect) -> None:
    report = recollect("verify", "--json").data
    assert report["ok"]
    assert report["sources"] >= 11
    assert recollect("doctor").code == 0


def test_agents_show_where_their_history_is(filled: Path, recollect: Recollect) -> None:
    agents = {a["slug"]: a for a in recollect("agents", "--json").data["agents"]}
    assert agents["codex"]["roots"] == [str(filled / "sample" / "codex")]
    assert agents["codex"]["sessions"] == 4
    assert str(filled / "sample" / "codex") in recollect("agents").out


def test_an_agent_that_writes_anywhere_in_a_home_is_not_here_because_the_home_is(
    isolated_home: Path, recollect: Recollect
) -> None:
    isolated_home.mkdir(parents=True, exist_ok=True)
    told = recollect("agents").out
    assert "Crush (" not in told
    assert "crush" in told.rpartition("not on this machine: ")[2]


def test_before_anything_was_learned_the_status_says_so_in_words(isolated_home: Path, recollect: Recollect) -> None:
    assert recollect("learnings", "status").out == "0 sessions waiting; no session has been learned from yet\n"


def test_an_event_that_was_forgotten_is_not_unknown(recollect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with a_desk() as desk:
        desk.write(
            *prompted(0, "the zebra is striped", START_S, has_id=False).lines,
            *prompted(1, "and then", START_S + 9, has_id=False).lines,
        )
        desk.memory.sync()
        (seq,) = [event.seq for event in desk.events("user_message") if "zebra" in str(event.payload)]
        desk.memory.maintenance.forgetting.run(ForgetSelection(pattern="the zebra is striped"))
        desk.memory.close()
        monkeypatch.setenv("RECOLLECT_HOME", str(desk.home))
        done = recollect("show", f"{UID}#{seq}", "--no-sync")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"recollect: event {UID}#{seq} is not shown: it was forgotten")
        assert recollect("show", f"{UID}#99999", "--no-sync").err.startswith("recollect: no event called ")


def test_filters_alone_list_what_they_allow_newest_first(filled: Path, recollect: Recollect) -> None:
    found = recollect("search", "repo:etl", "kind:tool_call", "--limit", "200", "--json")
    hits = found.data["hits"]
    assert found.code == 0
    assert {(hit["repo"], hit["kind"]) for hit in hits} == {("etl-nightly", "tool_call")}
    assert [hit["ts"] for hit in hits] == sorted((hit["ts"] for hit in hits), reverse=True)
    assert found.data["total"] >= len(hits) > 5  # what was said twice in the same words is one hit
    assert recollect("search", "kind:tool_call", "--limit", "200", "--json").data["total"] > len(hits)
    assert all(hit["kind"] != "instructions" for hit in recollect("search", "agent:codex", "--json").data["hits"])
    assert recollect("search", "before:2001").code == 1


def test_an_edit_that_is_found_shows_its_file(filled: Path, recollect: Recollect) -> None:
    query = ("search", "kind:file_edit", "repo:shop-api", "--limit", "50")
    hits = recollect(*query, "--json").data["hits"]
    files = {hit["passage"].split()[1].rpartition("/")[2] for hit in hits}
    assert files >= {"webhooks.py", "models.py", "conftest.py", "test_checkout.py", "orders.py"}
    assert all(hit["snippet"].startswith(hit["summary"]) for hit in hits)
    assert "    modify /home/dev/shop-api/shop/webhooks.py\n" in recollect(*query).out
    found = recollect("search", "shop/webhooks.py", "kind:file_edit", "--json").data["hits"][0]
    assert found["passage"] == "modify /home/dev/shop-api/shop/webhooks.py"
    shown = recollect("show", f"{found['session_uid']}#{found['seq']}").out
    assert "path: /home/dev/shop-api/shop/webhooks.py" in shown


def test_a_digest_says_what_failed_and_what_fixed_it(filled: Path, recollect: Recollect) -> None:
    uid = "claude:2aaeb4f4-04af-429c-b814-51289bf70d40"
    said = recollect("digest", uid).out
    assert "error, 1 time: shell: E IntegrityError: duplicate key value" in said
    assert f"\n    fixed by an edit of shop/models.py ({uid}#29)\n" in said
    assert "rules:" not in said
    assert recollect("digest", uid, "--json").data["markers"]


def test_a_retrospective_says_what_infrastructure_is_without_escapes(filled: Path, recollect: Recollect) -> None:
    said = recollect("retro", "--since", "2026-09-01", "--until", "2026-10-01").out.partition("## Infrastructure")[2]
    assert "calls to MCP servers" in said.partition("\n## ")[0]
    assert "\\" not in said.partition("\n## ")[0]


def test_a_day_in_words_bounds_a_timeline(filled: Path, recollect: Recollect) -> None:
    assert recollect("timeline", "yesterday", "--json").data == recollect("timeline", "on:yesterday", "--json").data


def test_a_filter_where_a_verb_has_the_option_is_told_as_that(filled: Path, recollect: Recollect) -> None:
    refused = recollect("sessions", "repo:etl")
    assert (refused.code, "write it as an option: recollect sessions --repo etl" in refused.err) == (2, True)


def test_a_timeline_takes_the_filters_of_a_query(filled: Path, recollect: Recollect) -> None:
    by_filter = recollect("timeline", "repo:etl", "kind:call", "--json").data
    assert by_filter["entries"]
    assert {(e["repo"], e["kind"]) for e in by_filter["entries"]} == {("etl-nightly", "tool_call")}
    assert recollect("timeline", "repo:etl", "--json").data == recollect("timeline", "--repo", "etl", "--json").data
    for words, said in (("webhook", "more than the filters of a list"), ("repo:nowhere", "no repository called")):
        done = recollect("timeline", words)
        assert (done.code, done.out) == (2, "")
        assert said in done.err


def test_a_session_that_is_not_analysed_yet_is_told(isolated_home: Path, recollect: Recollect) -> None:
    session = ClaudeTranscript(isolated_home / ".claude", "now", start=datetime.now(UTC) - timedelta(seconds=30))
    session.user("We always use Postgres for the ledger, never SQLite.")
    session.assistant("Understood.")
    assert recollect("sessions", "--json").data["total"] == 1
    note = "1 session not analysed yet"
    assert note in recollect("decisions").out
    assert note in recollect("decisions", "--json").data["notes"][0]
    assert note in recollect("learnings").out
    assert note in recollect("actions").out
    with Memory.open() as memory:
        memory.distilling.run(sessions=[session.uid])
    assert note not in recollect("decisions").out + recollect("learnings").out
