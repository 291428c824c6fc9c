"""Roo Code: what its fixtures of the family's logs give that Cline's don't."""

from __future__ import annotations

from recollect.agents.facts import facts_of
from recollect.agents.kit.cline.adapter import ClineFamily
from recollect.model.payloads import Compaction, Lifecycle
from tests.agents.cline.reading import give, info_of, payloads

ADAPTER = ClineFamily("roo")
INFO = info_of(ADAPTER, "ui", "tasks/0d5c1b2a/ui_messages.json")


def test_the_extensions_folder_is_written_in_lower_case() -> None:
    assert all(
        root.below.endswith("rooveterinaryinc.roo-cline") or "roo-cline" in root.default
        for root in facts_of("roo").roots
    )


def test_a_window_that_slides_is_a_compaction() -> None:
    row = {
        "ts": 1785574800000,
        "type": "say",
        "say": "sliding_window_truncation",
        "contextTruncation": {
            "truncationId": "t1",
            "messagesRemoved": 4,
            "prevContextTokens": 90,
            "newContextTokens": 40,
        },
    }
    drafts = give(ADAPTER, INFO, row)
    assert payloads(drafts, Compaction) == [Compaction("truncation", "", 90, 40)]


def test_a_subtasks_result_in_the_parent_is_no_message() -> None:
    first = {"ts": 1785574800000, "type": "say", "say": "text", "text": "x"}
    drafts = give(
        ADAPTER, INFO, first, {"ts": 1785574801000, "type": "say", "say": "subtask_result", "text": "Forty-two."}
    )
    assert [(p.name, p.text) for p in payloads(drafts, Lifecycle)] == [("subagent", "Forty-two.")]
