"""Others' words below a line that introduces them decide nothing; what is typed around them does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.language.introduced import first_heading, is_introduced
from recollect.insights.language.reader import words_of
from tests.insights.decisions.stories import decided

RULES = "- use NATS instead of Kafka\n- never log the token"


@pytest.mark.parametrize(
    "text",
    [
        f"the review bot says:\n{RULES}",
        f"here is the plan Codex wrote yesterday:\n\n{RULES}\n\nwhat do you make of it?",
        "from the readme:\n\nUse tabs instead of spaces. Never commit a lockfile.",
        "from the wiki, as background:\n\n## Messages\nContext: they called each other.\n\n## Decision\n\n"
        "We use NATS instead of Kafka, because it is easier to run.\n\nNever go back.",
        "the ticket says:\n- one\n\n- use NATS instead of Kafka\n\n- three",
    ],
)
def test_what_is_introduced_decides_nothing(text: str) -> None:
    assert decided(text, "human") == []


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        (f"our rules:\n{RULES}", ["use NATS instead of Kafka", "never log the token"]),
        (f"the review bot says:\n{RULES}\n\nuse RabbitMQ instead of both.", ["use RabbitMQ instead of both."]),
        (f"use RabbitMQ instead of both. the review bot says:\n{RULES}", ["use RabbitMQ instead of both."]),
        ("from the readme:\n\nUse tabs.\n\nuse spaces instead of tabs.", ["use spaces instead of tabs."]),
        ("she said: no idea.\nuse spaces instead of tabs.", ["use spaces instead of tabs."]),
    ],
)
def test_what_is_typed_around_it_decides(text: str, statement: list[str]) -> None:
    assert [d.statement.lstrip("- ") for d in decided(text, "human")] == statement


@pytest.mark.parametrize(
    ("own", "others"),
    [
        ("Regeln:\n- Nimm immer pytest statt unittest", "Im Wiki steht:\n- Nimm immer pytest statt unittest"),
        ("reglas:\n- usa pytest en vez de unittest", "copiado de la wiki:\n- usa pytest en vez de unittest"),
        ("règles :\n- utilise pytest au lieu de unittest", "extrait du wiki :\n- utilise pytest au lieu de unittest"),
        ("regras:\n- use pytest em vez de unittest", "trecho da wiki:\n- use pytest em vez de unittest"),
        ("правила:\n- используй pytest вместо unittest", "цитата из вики:\n- используй pytest вместо unittest"),
        ("规则：\n- 用 pytest 而不是 unittest", "摘自文档：\n- 用 pytest 而不是 unittest"),
        (
            "ルール：\n- unittestではなくpytestを使ってください",
            "ドキュメントより：\n- unittestではなくpytestを使ってください",
        ),
    ],
)
def test_every_language_knows_how_others_are_introduced(own: str, others: str) -> None:
    assert decided(own, "human")
    assert decided(others, "human") == []


@given(st.text(alphabet="a:#- \n", max_size=400), st.integers(0, 400))
def test_any_text_has_an_answer_and_without_a_colon_nothing_is_introduced(text: str, position: int) -> None:
    words = words_of("en")
    found = is_introduced(text, first_heading(text), min(position, len(text)), words)
    assert not found  # nothing of these letters says whose words follow
    said = text.replace(":", "") + "\nthe bot says\nuse it"
    assert not is_introduced(said, first_heading(said), len(said) - 1, words)
    assert is_introduced(f"{text}\nthe bot says:\nuse it", -1, len(text) + 20, words)
