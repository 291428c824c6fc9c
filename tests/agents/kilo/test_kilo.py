"""Kilo Code before it became an agent of another family."""

from __future__ import annotations

from recollect.agents.facts import facts_of
from recollect.agents.kit.cline.adapter import ClineFamily
from recollect.model.payloads import TokenUsage
from tests.agents.cline.reading import give, info_of, payloads


def test_the_extensions_folder_is_written_in_lower_case() -> None:
    assert all("kilocode.kilo-code" in f"{root.default}/{root.below}" for root in facts_of("kilo").roots)


def test_its_input_holds_the_cached_tokens() -> None:
    adapter = ClineFamily("kilo")
    row = {
        "ts": 1785574800000,
        "type": "say",
        "say": "api_req_started",
        "text": '{"tokensIn": 1020, "tokensOut": 30, "cacheReads": 900, "inferenceProvider": "x"}',
    }
    drafts = give(adapter, info_of(adapter, "ui", "tasks/1/ui_messages.json"), row)
    assert [u.input_tokens for u in payloads(drafts, TokenUsage)] == [120]
