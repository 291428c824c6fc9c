"""Stats, usage, agents, sync, verify and doctor as text."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout

import msgspec
import pytest

from recollect.cli.render.maintenance import print_doctor, print_exported, print_verify
from recollect.cli.render.stats import print_stats, print_usage
from recollect.cli.render.sync import print_sync, sync_line
from recollect.cli.terminal import Plain
from recollect.memory import (
    AgentStats,
    AgentSync,
    Check,
    DoctorReport,
    Exported,
    LedgerDefect,
    Skipped,
    SourceLedger,
    Stats,
    StorageStats,
    SyncReport,
    VerifyReport,
)
from recollect.model.usage import UsageReport, UsageRow, UsageTotals
from tests.cli.screens import HOSTILE, screen

STATS = Stats(
    home="/h",
    agents=(AgentStats("codex", 3, 1, 40, 3, 1_000_000),),
    sessions=3,
    events=40,
    kind_counts={"tool_call": 30, "user_message": 10},
    source_bytes=1_000_000,
    storage=StorageStats(100_000, 200_000, 100_000),
    defects={},
    redactions={"aws_key": 2},
    first_event=None,
    last_event=None,
)
LEDGER = SourceLedger("s-1", "codex", "/a.jsonl", "codex:1", 1, 10, 9, 2, 1, 2, 0, 0, 0, 0, is_ok=False)
VERIFIED = VerifyReport(True, 1, 1, 2, 2, 0, 10, 1, (), (), 0.1)


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def test_stats_show_agents_storage_and_its_share() -> None:
    text = screen(lambda out: print_stats(out, STATS))
    assert ["codex", "3", "1", "40", "3", "1.0 MB"] in [cells(line) for line in text.splitlines()]
    assert "on disk 400 kB (40% of the sources): database 100 kB, archive 200 kB, index 100 kB\n" in text
    assert "events: 30 tool_call, 10 user_message\nredacted: 2 aws_key\n" in text
    assert "defects" not in text


def test_an_empty_memory_has_stats() -> None:
    empty = msgspec.structs.replace(
        STATS, agents=(), sessions=0, events=0, source_bytes=0, kind_counts={}, redactions={}
    )
    assert "0 sessions, 0 events, 0 B of sources" in screen(lambda out: print_stats(out, empty))


def test_usage_shows_groups_total_prices_and_what_has_none() -> None:
    row = UsageRow("shop-api", UsageTotals(10, 20, 30, 1, 2, 5, 4, 1.5))
    other = UsageRow("", UsageTotals(1), ("model-y",))
    report = UsageReport("repo", (row, other), UsageTotals(11, 20, 30, 1, 2, 5, 4, None), "2026-07-01")
    lines = screen(lambda out: print_usage(out, report)).splitlines()
    assert cells(lines[1]) == ["shop-api", "4", "10", "30", "3", "20", "5", "$1.50"]
    assert cells(lines[2])[0] == "(unknown)"
    assert cells(lines[3])[0] == "total"
    assert lines[4:] == ["no price known for: model-y", "prices as of 2026-07-01"]


def test_a_sync_shows_a_line_per_agent_and_why_sources_were_skipped() -> None:
    skipped = [*(Skipped(f"/x{n}", "is empty") for n in range(11)), Skipped("/y", "cannot be read")]
    agent = AgentSync("codex", found=14, new=2, skipped=skipped, events=5, defects={"not_json": 1}, bytes=2_000_000)
    agent.warnings.append("nothing new for ten days")
    text = screen(lambda out: print_sync(out, SyncReport({"codex": agent}, 0.5, 2_000_000, 700_000)))
    assert ["codex", "14", "2", "0", "0", "0", "12", "0", "5", "1", "2.0 MB"] in [cells(x) for x in text.splitlines()]
    few = "skipped 11 of codex, each is empty:\n  /x0\n  /x1\n  /x2\n  8 more; --json lists them\n"
    assert f"{few}skipped /y: cannot be read\n" in text
    assert "warning: codex: nothing new for ten days\n" in text
    assert text.endswith("5 new events, 2.0 MB in, 700 kB stored, 500 ms (4.0 MB/s)\n")


def test_a_home_that_became_smaller_stored_nothing() -> None:
    line = sync_line(SyncReport({}, 0.5, 0, -1, distilled_sessions=2))
    assert line.endswith("0 B stored, 500 ms; 2 sessions analysed")


def test_a_busy_home_is_said_and_not_taken_for_an_empty_one() -> None:
    text = screen(lambda out: print_sync(out, SyncReport({}, 0.0, 0, 0, state="busy")))
    assert text.startswith("another process is ingesting into this memory")
    assert "no agent history" not in text


def test_a_machine_without_history_is_said() -> None:
    report = SyncReport({"codex": AgentSync("codex")}, 0.0, 0, 0)
    assert "no agent history found" in screen(lambda out: print_sync(out, report))


def test_a_clean_verification_says_so() -> None:
    text = screen(lambda out: print_verify(out, VERIFIED))
    assert text.endswith("ok: every stored byte and record is there\n")


def test_a_loss_is_shown_with_its_place_and_the_ledger_that_does_not_close() -> None:
    loss = LedgerDefect("chunk_missing", "chunk ab", path="/a.jsonl", record_index=4, is_loss=True)
    odd = LedgerDefect("not_json", "line 3", path="/a.jsonl")
    report = msgspec.structs.replace(VERIFIED, ok=False, defects=(loss, odd), ledgers=(LEDGER,))
    text = screen(lambda out: print_verify(out, report))
    assert "LOST: chunk_missing /a.jsonl:4 chunk ab\n" in text
    assert "kept as written: 1 not_json in /a.jsonl: line 3\n" in text
    assert "not complete: /a.jsonl: bytes 10 in, 9 out; records 2 in, 1 out\n" in text
    assert text.endswith("NOT ok: stored content is missing or damaged\n")


def test_what_was_bent_is_one_line_for_each_kind_in_each_source() -> None:
    odd = [LedgerDefect("not_json", f"line {n}", path=f"/{n % 2}.jsonl", record_index=n) for n in range(90)]
    text = screen(lambda out: print_verify(out, msgspec.structs.replace(VERIFIED, defects=tuple(odd))))
    assert text.count("kept as written") == 2
    assert "kept as written: 45 not_json in /1.jsonl, first in record 1: line 1\n" in text


def test_a_model_without_a_price_is_named_once() -> None:
    row = UsageRow("shop-api", UsageTotals(1), ("model-y",))
    note = "no price is known for model-y: the cost leaves out 1 of its responses"
    report = UsageReport("repo", (row,), UsageTotals(1), "2026-07-01", (note,))
    assert screen(lambda out: print_usage(out, report)).count("model-y") == 1


def test_doctor_shows_a_hint_only_where_something_is_to_do() -> None:
    checks = (Check("key", "ok", "readable", "never shown"), Check("index", "fail", "missing", "rebuild it"))
    text = screen(lambda out: print_doctor(out, DoctorReport(False, checks)))
    expected = "ok    key: readable\nFAIL  index: missing\n      hint: rebuild it\n1 check failed\n"
    assert text == expected


def test_no_report_can_control_the_terminal() -> None:
    agent = AgentSync("codex", found=1, skipped=[Skipped(HOSTILE, HOSTILE)], warnings=[HOSTILE])
    loss = LedgerDefect(HOSTILE, HOSTILE, path=HOSTILE, is_loss=True)
    text = screen(lambda out: print_sync(out, SyncReport({"c": agent}, 0.0, 0, 0, notes=[HOSTILE])))
    text += screen(lambda out: print_verify(out, msgspec.structs.replace(VERIFIED, defects=(loss,))))
    text += screen(lambda out: print_doctor(out, DoctorReport(False, (Check(HOSTILE, "warn", HOSTILE, HOSTILE),))))
    text += screen(lambda out: print_exported(out, (Exported(HOSTILE, "codex:1", "raw", 1),)))
    text += screen(lambda out: print_stats(out, msgspec.structs.replace(STATS, home=HOSTILE, defects={HOSTILE: 1})))
    assert not set(text) & set("\x1b\x07\r\u202e")


def test_usage_reads_the_same_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table is then printed without rich, unless a key is wide or the lines are long."""
    monkeypatch.setenv("COLUMNS", "120")  # of `screen`
    for key in ("2026-08-01", "", "x" * 200, "\u4ed3\u5e93", HOSTILE):
        rows = (UsageRow(key, UsageTotals(responses=1234, output_tokens=5)), UsageRow("2026-08-02", UsageTotals()))
        report = UsageReport("day", rows, UsageTotals(responses=1234, output_tokens=5), prices_on="2026-08-01")
        plain = io.StringIO()
        with redirect_stdout(plain):
            print_usage(Plain(plain), report)
        assert plain.getvalue() == screen(lambda out, report=report: print_usage(out, report))
