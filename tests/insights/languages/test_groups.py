"""What stands in brackets or a group is words: a list or a slot among them would be read as it is written."""

from __future__ import annotations

import re

import pytest

from recollect.insights.language.pack import CODES
from recollect.model.insights.nodes import Speaker
from tests.insights.decisions.stories import decided
from tests.insights.languages.test_packs import shipped

_GROUP = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")


@pytest.mark.parametrize("code", CODES)
def test_every_groups_phrases_are_words(code: str) -> None:
    found = [
        (rule.id, group[0])
        for rule in shipped(code).rules
        for written in rule.patterns
        for group in _GROUP.finditer(written)
        if re.search(r"[<>{}]", group[0])
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "speaker", "chosen", "rejected"),
    [
        ("Cambié de idea sobre esto, al final usemos Postgres para la caché", "human", "Postgres", ""),
        ("esquece o Redis, usa SQLite basta", "human", "SQLite", "Redis"),
        ("я передумал, давай возьмём Postgres", "human", "Postgres", ""),
        ("Redis здесь избыточно, поэтому использую просто словарь", "assistant", "словарь", "Redis"),
    ],
)
def test_a_list_that_may_be_missing_is_no_part_of_the_option(
    text: str, speaker: Speaker, chosen: str, rejected: str
) -> None:
    [decision] = decided(text, speaker)
    assert (decision.chosen, decision.rejected) == ((chosen,), (rejected,) if rejected else ())
