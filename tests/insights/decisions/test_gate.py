"""The gate: markers say which rule fired and where; rules of the configuration add, replace and take out."""

from __future__ import annotations

import pytest

from recollect.config import GateRuleConfig as GateRule
from recollect.errors import ConfigError
from recollect.insights.decisions.gate import RuleGate
from tests.insights.decisions.stories import decided, read


def test_a_marker_quotes_the_words_that_fired() -> None:
    text = "Hello. We should use Postgres instead of MySQL."
    (marker,) = RuleGate().markers(text, "human")
    assert marker.rule.startswith("en.choice.")
    assert marker.text == text[marker.start : marker.end]
    assert (marker.language, marker.category, marker.strength) == ("en", "choice", "strong")


def test_ranges_count_characters_also_behind_what_is_covered_up() -> None:
    text = "İstanbul 😀\n```\nuse A instead of B\n```\nuse Postgres instead of MySQL"
    (marker,) = RuleGate().markers(text, "human")
    assert text[marker.start : marker.end] == "use Postgres instead of MySQL"


def test_a_rule_of_the_configuration_decides_by_its_words() -> None:
    rule = GateRule("team.blessed", "choice", r"\bblessed: \w+")
    conversations, (one,) = read(("human", "blessed: Kotlin"), rules=[rule])
    assert (one.polarity, one.chosen, one.language) == ("adopt", ("blessed: Kotlin",), "")
    assert conversations[0].markers[0].rule == "team.blessed"
    assert "own_rule" in one.features


def test_a_rule_of_the_configuration_can_forbid() -> None:
    (one,) = decided("taboo: floats for money", rules=[GateRule("team.taboo", "ban", r"floats for money")])
    assert (one.polarity, one.rejected) == ("ban", ("floats for money",))


def test_a_rule_with_a_shipped_id_replaces_it() -> None:
    text = "I prefer tabs"
    (shipped,) = RuleGate().markers(text, "human")
    replaced = RuleGate([GateRule(shipped.rule, "rule", r"tabs")]).markers(text, "human")
    assert [(m.rule, m.text, m.category) for m in replaced] == [(shipped.rule, "tabs", "rule")]


def test_an_empty_pattern_takes_a_shipped_rule_out() -> None:
    text = "I prefer tabs"
    (shipped,) = RuleGate().markers(text, "human")
    assert RuleGate([GateRule(shipped.rule, pattern="")]).markers(text, "human") == ()
    assert decided(text, rules=[GateRule(shipped.rule, pattern="")]) == []


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (GateRule("mine.broken", "choice", "(unclosed"), "is not a regular expression"),
        (GateRule("mine.slow", "choice", "(a+)+b"), "repeats a group"),
        (GateRule("mine.empty", "choice", ""), "no shipped rule is called so"),
        (GateRule(" ", "choice", "x"), "has no id"),
    ],
)
def test_a_rule_that_cannot_be_used_is_an_error_with_its_id(rule: GateRule, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        RuleGate([rule])
    assert said in str(raised.value)
    assert raised.value.key.startswith("gate.rules")
    assert rule.id.strip() in str(raised.value)


def test_an_own_rule_reads_no_covered_text() -> None:
    gate = RuleGate([GateRule("mine.word", "choice", "postgres")])
    assert gate.markers("```\npostgres\n```", "human") == ()
    assert [m.text for m in gate.markers("ok\npostgres", "human")] == ["postgres"]
