"""Lists of sessions, one session, and timelines as text."""

from __future__ import annotations

import sys

import pytest

from recollect.cli.render.session_list import print_sessions
from recollect.cli.render.sessions import print_session, print_timeline
from recollect.cli.terminal import PIPE_WIDTH, Plain
from recollect.memory import SessionPage, SessionView, Timeline, TimelineEntry
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Lifecycle,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.cli.screens import HOSTILE, NOW_US, START_US, event, screen, session

UID = session().session_uid


def listed(*sessions: object, total: int = 0, offset: int = 0, width: int = 120) -> str:
    page = SessionPage(tuple(sessions), total or len(sessions), ("catching up",))  # type: ignore[arg-type]
    return screen(lambda out: print_sessions(out, page, offset=offset), width=width)


def talk() -> tuple[object, ...]:
    call = ToolCall(call_id="1", name="Bash", canonical="shell", arguments={"command": "pytest -q", "timeout": 5})
    return (
        event(0, Lifecycle(name="mode", text="plan"), turn_index=0),
        event(1, UserMessage("find out why\nbefore you change anything"), role="user"),
        event(2, call, role="assistant"),
        event(3, ToolResult(call_id="1", ok=False, exit_code=1, text="1 failed\n" + "x" * 500), role="tool"),
        event(4, UserMessage("<system-reminder>", origin="injected"), role="user"),
        event(5, AssistantMessage("the test sleeps"), role="assistant"),
        event(6, Compaction(trigger="auto", summary="what was decided"), turn_index=2),
    )


def read(*, focus: int | None = None, next_seq: int | None = None, width: int = 100) -> str:
    view = SessionView(session(), talk(), next_seq)  # type: ignore[arg-type]
    return screen(lambda out: print_session(out, view, now_us=NOW_US, focus=focus), width=width)


@pytest.mark.parametrize("width", [20, 40, 80, 129, 130, 200])
def test_at_any_width_a_session_is_listed_with_its_whole_uid(width: int) -> None:
    text = listed(session(title="a title that is longer than most terminals are wide " * 4), width=width)
    assert UID in text
    assert "2026-08-01 09:00" in text


def test_a_wide_terminal_gets_one_line_per_session() -> None:
    assert len(listed(session(), session(), width=160).splitlines()) == 1 + 2 + 2


@pytest.mark.parametrize(
    "title", ["short", "just as long as it may be ".ljust(118, "x"), "x" * 119, "ends in blanks" + " " * 130]
)
@pytest.mark.parametrize("more", ["", "é", "界"])
def test_where_nobody_looks_the_same_lines_are_printed_without_rich(
    title: str, more: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    page = SessionPage((session(title=title + more),), 40, ("catching up",))
    print_sessions(Plain(sys.stdout), page, offset=20)
    assert capsys.readouterr().out == screen(lambda out: print_sessions(out, page, offset=20), width=PIPE_WIDTH)


def test_more_sessions_say_how_to_go_on() -> None:
    assert listed(session(), total=40, offset=20).endswith("21-21 of 40 sessions · continue with --offset 21\n")


def test_the_last_page_says_no_more() -> None:
    assert listed(session(), total=21, offset=20).endswith("21-21 of 21 sessions\n")


def test_no_sessions_are_said() -> None:
    assert listed() == "no sessions\nnote: catching up\n"


def test_a_subagents_session_is_marked() -> None:
    assert "[Explore]" in listed(session(parent_session="claude:1", agent_name="Explore"))


def test_no_field_of_a_session_can_control_the_terminal() -> None:
    text = listed(session(title=HOSTILE, repo=HOSTILE, session_uid=HOSTILE, agent=HOSTILE), width=80)
    text += listed(session(title=HOSTILE, repo=HOSTILE, session_uid=HOSTILE), width=200)
    assert not set(text) & set("\x1b\x07\r\u202e")


def test_a_session_is_shown_by_turns() -> None:
    text = read()
    assert [line.strip() for line in text.splitlines() if line.startswith("──")] == [
        "── before the first turn",
        "── turn 1",
        "── turn 2",
    ]


def test_talk_is_shown_whole_and_tools_by_their_summary() -> None:
    text = read()
    assert "    find out why\n    before you change anything\n" in text
    assert "    the test sleeps\n" in text
    assert "    what was decided\n" in text
    assert "tool_call  Bash pytest -q\n" in text
    assert "x" * 200 not in text


def test_injected_text_is_a_summary_and_marked() -> None:
    assert "user (injected)  <system-reminder>\n" in read()


def test_the_event_that_was_asked_for_is_shown_whole() -> None:
    assert "x" * 500 in read(focus=3)
    assert "timeout: 5" in read(focus=2)


def test_token_counts_are_left_out_and_counted_but_for_the_one_asked_for() -> None:
    counted = (event(1, TokenUsage(input_tokens=7)), event(2, TokenUsage(input_tokens=8)))
    view = SessionView(session(), counted, None)
    text = screen(lambda out: print_session(out, view, now_us=NOW_US))
    assert "token_usage" not in text
    assert text.endswith("#1 to #2 of 340 events · 2 token counts left out, see `recollect usage`\n")
    assert "input_tokens: 8" in screen(lambda out: print_session(out, view, now_us=NOW_US, focus=2))


def test_an_answer_without_text_is_one_line() -> None:
    view = SessionView(session(), (event(1, AssistantMessage("\n\n", model="m"), role="assistant"),), None)
    text = screen(lambda out: print_session(out, view, now_us=NOW_US))
    assert "assistant  (no text)\n" in text
    assert "model: m" not in text


def test_a_page_says_how_to_go_on() -> None:
    assert read(next_seq=7).endswith("#0 to #6 of 340 events · continue with --from 7\n")


def test_the_facts_of_a_session_stand_on_top() -> None:
    lines = read(width=200).splitlines()
    assert lines[:2] == ["Fix the flaky webhook test", UID]
    assert lines[2] == ("claude · shop-api (main) · 1 wk ago (2026-08-01 09:00) · model-x · 12 turns · 340 events")


def test_lineage_is_shown() -> None:
    view = SessionView(session(forked_from="claude:0", parent_session="claude:1"), (), None)
    text = screen(lambda out: print_session(out, view, now_us=NOW_US))
    assert "part of claude:1\nforked from claude:0\n" in text


def test_no_event_can_control_the_terminal() -> None:
    view = SessionView(session(), (event(1, UserMessage(HOSTILE)), event(2, ToolResult(text=HOSTILE))), None)
    text = screen(lambda out: print_session(out, view, now_us=NOW_US, focus=2))
    assert not set(text) & set("\x1b\x07\r\u202e")


def test_a_timeline_names_the_day_once_and_cites_every_line() -> None:
    entries = tuple(
        TimelineEntry(START_US + n * 1_000_000, "codex:1", n, "codex", "user_message", "user", 1, HOSTILE)
        for n in range(2)
    )
    text = screen(lambda out: print_timeline(out, Timeline(entries, 9)))
    assert text.count("2026-08-01") == 1
    assert "codex:1#0\n" in text
    assert "codex:1#1\n" in text
    assert text.endswith("2 of 9 events · see more with --limit, or others with --after and --before\n")
    assert not set(text) & set("\x1b\x07\r\u202e")


def test_an_empty_timeline_is_said() -> None:
    assert screen(lambda out: print_timeline(out, Timeline((), 0))).startswith("nothing in this range\n")


def test_on_a_terminal_talk_is_wrapped_to_its_width() -> None:
    view = SessionView(session(), (event(1, AssistantMessage("word " * 100)),), None)
    text = screen(lambda out: print_session(out, view, now_us=NOW_US), width=60, colours=True)
    assert all(len(line) <= 60 for line in text.splitlines() if "word" in line)


def test_without_a_terminal_a_line_of_talk_stays_one_line() -> None:
    view = SessionView(session(), (event(1, AssistantMessage("word " * 100)),), None)
    text = screen(lambda out: print_session(out, view, now_us=NOW_US), width=60)
    assert max(line.count("word") for line in text.splitlines()) == 100
