"""What holds for a session as a whole: lineage, titles, an undo, totals, the end, the to-do list."""

from __future__ import annotations

from recollect.agents.facts import facts_of
from recollect.model.payloads import Lifecycle, Rewind, SessionEnd, SessionStart, TokenUsage
from tests.agents.opencode.rows import T0, Row, assistant, drafts, of_session, part, payloads, session, user


def told(name: str, speaker: str, text: str) -> tuple[Row, Row]:
    """Return a message and its text."""
    message = user(name) if speaker == "user" else assistant(name)
    return message, part("text", f"prt_{name}", name, text=text)


def undone(**revert: str) -> Row:
    """Return what stands behind the messages of a session that was undone."""
    return "session", {"revert": revert}


def test_a_session_names_its_folder_version_and_parent() -> None:
    (start,) = of_session(SessionStart, parent_id="ses_p", title="Find it (@general subagent)")
    assert (start.cwd, start.tool_version, start.parent_session) == ("/w", "1.3.17", "ses_p")
    assert start.agent_name == "general"


def test_a_fork_names_its_origin() -> None:
    assert of_session(SessionStart, fork_session_id="ses_o")[0].forked_from == "ses_o"


def test_what_an_undo_says_beside_the_message_it_names_is_kept() -> None:
    given = drafts(session(revert={"messageID": "msg_3", "snapshot": "abc", "diff": "@@"}), role="session")
    assert [d.payload.detail for d in given if d.native_id == "revert:msg_3/checkpoint"] == [
        {"snapshot": "abc", "diff": "@@"}
    ]


def test_an_undo_is_a_rewind_to_what_stands_before_the_first_message_it_hides() -> None:
    talk = [*told("msg_1", "user", "First."), *told("msg_2", "assistant", "One."), *told("msg_3", "user", "Wrong.")]
    given = drafts(*talk, undone(messageID="msg_3"))
    assert [d.payload for d in given if isinstance(d.payload, Rewind)] == [Rewind("prt_msg_2")]


def test_an_undo_within_a_message_keeps_the_parts_before() -> None:
    talk = [*told("msg_1", "user", "First."), *told("msg_2", "assistant", "One.")]
    given = drafts(*talk, undone(messageID="msg_2", partID="prt_msg_2"))
    assert [d.payload for d in given if isinstance(d.payload, Rewind)] == [Rewind("msg_1")]


def test_an_undo_of_what_is_not_known_says_no_more() -> None:
    given = drafts(*told("msg_1", "user", "First."), undone(messageID="msg_9"))
    assert [d.payload for d in given if isinstance(d.payload, Rewind)] == [Rewind()]


def test_an_archived_session_has_ended() -> None:
    given = drafts(session(time_archived=T0 + 90_000), role="session")
    assert [(d.payload, d.ts) for d in given if isinstance(d.payload, SessionEnd)] == [
        (SessionEnd("archived"), (T0 + 90_000) * 1000)
    ]


def test_totals_are_never_added_up() -> None:
    (usage,) = of_session(TokenUsage, tokens_input=10, tokens_output=5, tokens_reasoning=2, cost=0.5)
    assert (usage.output_tokens, usage.reasoning_tokens, usage.is_additive) == (7, 2, False)


def test_a_placeholder_is_no_title() -> None:
    assert [p.title for p in of_session(Lifecycle, title="New session - 2026-08-01T09:00:00.000Z") if p.title] == []


def test_the_file_of_an_old_session_says_the_same() -> None:
    file = {"id": "ses_a", "version": "0.1", "projectID": "p", "directory": "/w", "parentID": "ses_p"}
    file |= {"title": "A story", "time": {"created": T0, "updated": T0 + 1}, "share": {"url": "https://example/s/a"}}
    (start,) = payloads(SessionStart, ("session", file), role="tree")
    assert (start.cwd, start.parent_session, start.tool_version) == ("/w", "ses_p", "0.1")


def test_a_to_do_is_named_by_its_place() -> None:
    row = {"session_id": "ses_a", "content": "Test", "status": "pending", "priority": "low", "position": 2}
    (draft,) = drafts(("todo", {**row, "time_created": T0, "time_updated": T0}), role="session")
    assert (draft.native_id, draft.payload) == (
        "todo:2",
        Lifecycle("todo", "Test", {"status": "pending", "priority": "low", "position": 2}),
    )


def test_no_table_or_column_of_credentials_or_permissions_is_declared() -> None:
    tables = [table for place in facts_of("opencode").places for table in place.tables]
    assert {table.name for table in tables} == {"message", "part", "session_message", "session", "session_v2", "todo"}
    sessions = [table for table in tables if table.name in ("session", "session_v2")]
    assert all("permission" in table.exclude or table.only == ("revert",) for table in sessions)
    patterns = [
        p for place in facts_of("opencode").places for p in (*place.patterns, *(m.pattern for m in place.members))
    ]
    assert not any("auth" in pattern for pattern in patterns)
