"""The closing screen of `up --once`, the question that the memory asks itself, and what an empty memory answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.first_run import example_queries
from recollect.cli.render.ingest import UpReport, print_closing
from recollect.memory import AgentStats, AgentSync, SearchAnswer, Stats, StorageStats, SyncReport
from tests.cli.conftest import Outcome
from tests.cli.screens import NOW_US, answer, hit, screen, session

STATS = Stats(
    "/h",
    (AgentStats("codex", 3, 0, 40, 3, 1_000_000),),
    3,
    40,
    {},
    1_000_000,
    StorageStats(1, 2, 3),
    {},
    {},
    None,
    None,
)
REPORT = UpReport(SyncReport({"codex": AgentSync("codex", events=40)}, 0.5, 1_000_000, 400_000), STATS, None)


def closing(example: SearchAnswer | None = None, demo_home: str = "") -> str:
    report = msgspec.structs.replace(REPORT, example=example, demo_home=demo_home)
    return screen(lambda out: print_closing(out, report, now_us=NOW_US))


def test_it_shows_what_is_in_the_memory_and_how_fast_it_came() -> None:
    text = closing()
    assert "in the memory: 1.0 MB of transcripts, stored in 6 B at /h\n" in text
    assert "this time: 40 new events from 1.0 MB in 500 ms, 2.0 MB/s\n" in text


def test_a_rate_that_says_nothing_is_left_out() -> None:
    sync = SyncReport({"codex": AgentSync("codex", events=4)}, 0.5, 1_000, 400)
    report = msgspec.structs.replace(REPORT, sync=sync)
    text = screen(lambda out: print_closing(out, report, now_us=NOW_US))
    assert "this time: 4 new events from 1.0 kB in 500 ms\n" in text


def test_it_shows_one_search_with_its_cited_hits() -> None:
    text = closing(answer(hit()))
    assert "$ recollect search 'webhook test'\n" in text
    assert "codex:0197-a#12\n" in text


def test_it_says_three_things_to_type_next() -> None:
    typed = [line.split("   #")[0].strip() for line in closing(answer(hit())).splitlines()[-3:]]
    assert typed == [
        "recollect search 'words you remember'",
        "recollect show codex:0197-a",
        "recollect usage --by day",
    ]


def test_the_demo_is_named_and_every_command_uses_its_home() -> None:
    text = closing(answer(hit()), demo_home="/x y/demo")
    assert "demo home: /x y/demo" in text
    assert text.count("RECOLLECT_HOME='/x y/demo' recollect ") == 4


def test_the_example_is_made_of_words_that_several_titles_share() -> None:
    titles = ("Fix the flaky checkout webhook", "Idempotent webhook for checkout payments", "Dark mode flash")
    best = next(iter(example_queries([session(title=t) for t in titles])))
    assert set(best.split()) >= {"checkout", "webhook"}


def test_one_title_given_many_times_counts_once() -> None:
    titles = ("trimmed fixture", "trimmed fixture", "trimmed fixture", "payment webhook", "webhook payment retries")
    assert "webhook" in next(iter(example_queries([session(title=t) for t in titles])))


def test_empty_words_and_subagents_give_no_example() -> None:
    sessions = [session(title="Please fix this test"), session(title="Explore webhooks", parent_session="claude:1")]
    assert list(example_queries(sessions)) == []


@given(st.lists(st.text(max_size=40), max_size=5))
def test_any_titles_give_queries_of_at_most_three_words(titles: list[str]) -> None:
    assert all(1 <= len(q.split()) <= 3 for q in example_queries([session(title=t) for t in titles]))


QUESTIONS = (
    ("search", "webhook"), ("sessions",), ("timeline",), ("usage",), ("decisions",), ("retro",), ("show", "claude:5f0c")
)  # fmt: skip
asking = pytest.mark.parametrize("question", QUESTIONS, ids=lambda words: words[0])


@asking
def test_while_no_session_is_stored_each_question_says_what_to_do(
    recollect: Callable[..., Outcome], question: tuple[str, ...]
) -> None:
    told = recollect(*question)
    assert told.code in (1, 2)
    hint = (told.err or told.out).splitlines()[-1]
    assert hint.startswith("hint: no session is stored yet; `recollect up --once` ingests what your agents wrote")
    assert bool(told.err) == (told.code == 2)
    as_json = recollect(*question, "--json")
    assert (as_json.err, "stored yet" in as_json.out) == ("", False)


def test_a_sample_that_is_loaded_is_shown_and_not_loaded_again(
    recollect: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, demo = tmp_path / "my memory", tmp_path / "my memory-demo"
    monkeypatch.setenv("RECOLLECT_HOME", str(home))
    demo.mkdir()
    (demo / "memory.db").touch()
    hint = recollect("search", "webhook").out
    assert "`recollect ui` shows the bundled sample" in hint
    assert f"RECOLLECT_HOME='{demo}'" in hint
    assert "up --once" not in hint


def test_what_is_not_found_among_stored_sessions_gives_no_hint(recollect: Callable[..., Outcome], filled: Path) -> None:
    assert "hint:" not in recollect("search", "qqxzzyqq", "--no-sync").out
    unknown = recollect("show", "claude:qqxzzy", "--no-sync")
    assert "hint: `recollect sessions` lists them" in unknown.err
