"""Aider: one Markdown file of many chats, one trap of it after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.aider.parse import AiderAdapter
from recollect.model.events import Draft
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Lifecycle,
    Rewind,
    SessionEnd,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter, read, records_of

ADAPTER = AiderAdapter()
INFO = SourceInfo("aider", "chat_history", ".aider.chat.history.md", session="file-1")
TYPED = SourceInfo("aider", "input_history", ".aider.input.history", session="file-2")
HEADER = "\n# aider chat started at 2026-08-01 09:00:00\n\n"
PREAMBLE = "> Aider v0.86.0  \n> Main model: sonnet with diff edit format  \n"


def drafts(history: str, info: SourceInfo = INFO) -> list[Draft]:
    return [draft for events in read(ADAPTER, info, records_of([history])).events for draft in events]


def payloads(kind: type, history: str) -> list[Any]:
    return [draft.payload for draft in drafts(history) if isinstance(draft.payload, kind)]


def test_every_header_begins_a_session_and_ends_the_one_before() -> None:
    history = f"{HEADER}#### First.  \n\nOne.\n\n{HEADER.replace('09:', '10:')}#### Second.  \n\nTwo.\n"
    found = drafts(history)
    assert len({d.session for d in found}) == 2
    assert [d.session for d in found if isinstance(d.payload, SessionEnd)] == [found[0].session]


def test_chats_of_one_second_with_one_prompt_are_two_sessions() -> None:
    found = drafts(f"{HEADER}#### Go.  \n{HEADER}#### Go.  \n")
    names = {d.session for d in found}
    assert len(names) == 2
    assert all(name is not None and name.startswith("20260801090000-") for name in names)


def test_a_file_that_grows_or_is_trimmed_renames_nothing() -> None:
    one, two = f"{HEADER}#### First.  \n\nOne.\n", f"{HEADER.replace('09:', '10:')}#### Second.  \n\nTwo.\n"
    whole = {(d.session, d.native_id) for d in drafts(one + two)}
    assert {(d.session, d.native_id) for d in drafts(one)} <= whole
    assert {(d.session, d.native_id) for d in drafts(two)} <= whole


def test_a_chat_waits_for_its_first_prompt() -> None:
    assert drafts(HEADER + PREAMBLE) == []


def test_text_before_the_first_header_goes_by_the_files_name() -> None:
    found = drafts(f"cut off\n{HEADER}#### Go.  \n")
    assert (found[0].session, found[0].payload) == (None, AssistantMessage("cut off"))


def test_lines_of_a_prompt_belong_together_and_an_empty_line_parts_prompts() -> None:
    history = f"{HEADER}#### one  \n####   \n#### two  \n\n#### /clear  \n"
    assert [(p.text, p.origin) for p in payloads(UserMessage, history)] == [
        ("one\n\ntwo", "human"),
        ("/clear", "command"),
    ]


def test_quotations_and_headings_in_an_answer_are_the_answers() -> None:
    history = f"{HEADER}#### Go.  \n\nAs they say:\n> a quotation\n\n#### A heading\n\n>>>>>>> REPLACE\nmore\n"
    assert len(payloads(UserMessage, history)) == 1
    (said,) = payloads(AssistantMessage, history)
    assert "> a quotation" in said.text
    assert "#### A heading" in said.text


def test_a_notice_after_an_answer_is_known_without_its_spaces_too() -> None:
    history = f"{HEADER}#### Go.  \n\nDone.\n\n> Tokens: 3.7k sent, 89 received.\n"
    assert payloads(AssistantMessage, history) == [AssistantMessage("Done.")]
    assert [(p.input_tokens, p.output_tokens) for p in payloads(TokenUsage, history)] == [(3700, 89)]


def test_prompts_without_spaces_of_other_writers_are_prompts() -> None:
    assert [p.text for p in payloads(UserMessage, f"{HEADER}#### one\n\nanswer\n\n#### two\n")] == ["one", "two"]


def test_cached_tokens_are_taken_off_what_was_sent() -> None:
    line = (
        "> Tokens: 4.2k sent, 1,000 cache write, 2.0k cache hit, 310 received. Cost: $0.01 message, $0.03 session.  \n"
    )
    (found,) = payloads(TokenUsage, f"{HEADER}{PREAMBLE}#### Go.  \n\nDone.\n\n{line}")
    assert (found.model, found.input_tokens, found.output_tokens) == ("sonnet", 1200, 310)
    assert (found.cache_read_tokens, found.cache_write_5m_tokens, found.cost_usd) == (2000, 1000, 0.01)


def test_proposed_edits_are_text_and_applied_ones_are_edits() -> None:
    block = "a.py\n```python\n<<<<<<< SEARCH\nOLD\n=======\nNEW\n>>>>>>> REPLACE\n```\n"
    assert payloads(FileEdit, f"{HEADER}#### Go.  \n\n{block}") == []
    history = f"{HEADER}#### Go.  \n\n{block}\n> Applied edit to a.py  \n> Creating empty file b.py  \n"
    assert payloads(FileEdit, history) == [FileEdit("a.py"), FileEdit("b.py", "create")]


def test_output_of_a_command_is_a_result() -> None:
    answer = "#### Why?  \n\nSo.\n\n> Tokens: 1 sent, 1 received.  \n"
    history = f"{HEADER}#### /test pytest -q  \n> 1 failed  \n> 2 passed  \n\n{answer}"
    assert [(p.name, p.text, p.ok) for p in payloads(ToolResult, history)] == [("test", "1 failed\n2 passed", None)]


def test_an_undone_commit_is_a_rewind() -> None:
    history = f"{HEADER}#### /undo  \n> Removed: 1a2b3c4 feat: A wrong turn  \n"
    assert payloads(Rewind, history) == [Rewind()]
    assert payloads(Rewind, f"{HEADER}#### /undo  \n> No commits to undo.  \n") == []


def test_undo_goes_back_before_the_turns_whose_commits_are_all_removed() -> None:
    def turn(prompt: str, *commits: str) -> str:
        return f"#### {prompt}  \n\nDone.\n\n" + "".join(f"> Commit {one} feat: x  \n" for one in commits)

    def undo(commit: str) -> str:
        return f"\n#### /undo  \n> Removed: {commit} feat: x  \n> HEAD is: 0000000 y  \n\n"

    def rewinds(*parts: str) -> list[Rewind]:
        return payloads(Rewind, HEADER + "".join(parts))

    one, two = turn("Use redis.", "1a2b3c4"), turn("Use memcached.", "2b3c4d5", "3c4d5e6")
    assert rewinds(one, two, undo("3c4d5e6")) == [Rewind()]
    assert rewinds(one, two, undo("3c4d5e6"), undo("2b3c4d5")) == [Rewind(), Rewind("commit/1")]
    all_gone = rewinds(one, two, undo("3c4d5e6"), undo("2b3c4d5"), undo("1a2b3c4"))
    assert all_gone[-1] == Rewind("start")
    assert rewinds(one, turn("Why?"), undo("1a2b3c4")) == [Rewind()]


def test_version_model_and_folder_stand_before_the_first_prompt() -> None:
    (start,) = payloads(SessionStart, f"{HEADER}{PREAMBLE}> Cur working dir: /w/demo  \n#### Go.  \n")
    assert (start.tool_version, start.model, start.cwd) == ("0.86.0", "sonnet", "/w/demo")


def test_a_change_of_model_is_told_and_counts_from_there() -> None:
    history = (
        f"{HEADER}{PREAMBLE}#### /model opus  \n> Main model: opus with diff edit format  \n\n#### Go.  \n\nDone.\n"
    )
    assert "opus" in [p.model for p in payloads(Lifecycle, history)]
    assert payloads(AssistantMessage, history) == [AssistantMessage("Done.", "opus")]


@pytest.mark.parametrize(
    "thought",
    [
        "--------------\n► **THINKING**\n\nHm.\n\n------------\n► **ANSWER**\n",
        "<thinking-content-0123456789abcdef>\nHm.\n</thinking-content-0123456789abcdef>\n",
    ],
)
def test_marked_thoughts_are_no_answer(thought: str) -> None:
    history = f"{HEADER}#### Why?  \n\n{thought}\nBecause.\n"
    assert payloads(Thinking, history) == [Thinking("Hm.")]
    assert payloads(AssistantMessage, history) == [AssistantMessage("Because.")]


def test_prompts_of_the_harness_are_injected() -> None:
    (found,) = payloads(UserMessage, f"{HEADER}#### # Fix any errors below, if possible.  \n#### a.py:1  \n")
    assert found.origin == "injected"


def test_times_are_inferred_because_they_have_no_zone() -> None:
    assert {(d.ts, d.ts_quality) for d in drafts(f"{HEADER}#### Go.  \n")} == {(1785574800000000, "inferred")}


def test_what_was_typed_has_its_time_and_is_no_message() -> None:
    history = "\n# 2026-08-01 09:00:10.5\n+one\n+two\n\n# 2026-08-01 09:01:00\n+/clear\nbroken\n"
    found = drafts(history, TYPED)
    assert [d.payload for d in found] == [
        Lifecycle("prompt_history", text="one\ntwo"), Lifecycle("prompt_history", text="/clear"),
        Unknown("input_history", "broken"),
    ]  # fmt: skip
    assert found[0].ts == 1785574810500000


def test_a_file_is_told_by_its_headers() -> None:
    assert ADAPTER.recognise("notes/x.md", HEADER.encode()) == "chat_history"
    assert ADAPTER.recognise("notes/x.md", b"We said: # aider chat started at noon") is None


LINES = st.lists(
    st.sampled_from(
        (
            "# aider chat started at 2026-08-01 09:00:00", "# aider chat started at 2026-99-99 09:00:00", "#### go  ",
            "####", "> ", "> Tokens: 1.1.1k sent, ,k received. Cost: $.. message", "> Applied edit to a", "```", "",
            "► **THINKING**", "# 2026-08-01 09:00:10", "+typed", "> Removed: 1234567 x  ", "#### /undo  ", "#### !ls  ",
        )
    )
    | st.text(max_size=12)
)  # fmt: skip


@given(lines=LINES, role=st.sampled_from(("chat_history", "input_history")))
def test_any_text_keeps_the_contract(lines: list[str], role: str) -> None:
    assert check_adapter(ADAPTER, SourceInfo("aider", role, INFO.path, session="file-1"), ["\n".join(lines)]) == []


@pytest.mark.parametrize("value", [None, 1, [], {}])
def test_a_record_that_is_no_text_is_kept(value: Any) -> None:
    assert check_adapter(ADAPTER, INFO, [value]) == []


@pytest.mark.corpus
def test_recorded_chats_have_a_name_of_their_own_for_everything(shared: Path) -> None:
    for path in sorted((shared / "corpus" / "aider").rglob("*.md")):
        found = drafts(path.read_text("utf-8", errors="replace"))
        names = [(d.session, d.native_id) for d in found]
        assert len(set(names)) == len(names) > 1000
