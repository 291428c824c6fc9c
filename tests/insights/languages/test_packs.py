"""The language packs: each rule is reachable, what each language decides and leaves alone, and the files themselves."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.insights.language.detection import scripts
from recollect.insights.language.left_open import places_of_duty
from recollect.insights.language.pack import CODES, SCRIPTS, Lists, Pack, PackRule, Spoken, pack
from recollect.insights.language.patterns import Pattern
from recollect.insights.language.reader import Reading, readings, words_of
from recollect.model.insights.nodes import MarkerCategory, Speaker
from tests.examples import tried
from tests.insights.decisions.stories import answered, decided

EXAMPLES = Path(__file__).with_name("examples")
LANGUAGES = sorted(path.stem for path in EXAMPLES.glob("*.toml"))
TYPED_PLAINLY = {"de": str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}), "ru": str.maketrans({"ё": "е"})}


@cache
def examples(code: str) -> dict[str, Any]:
    """Return what a language's file holds."""
    return tomllib.loads((EXAMPLES / f"{code}.toml").read_text("utf-8"))


@cache
def shipped(code: str) -> Pack:
    """Return the pack of a language."""
    found = pack(code)
    assert found is not None
    return found


def spoken(line: str) -> tuple[str, Speaker]:
    """Return the words of an example and who says them."""
    return (line[3:], "assistant") if line.startswith("A: ") else (line, "human")


def rules_in(line: str, code: str) -> set[str]:
    """Return the rules of a language that decide something in an example."""
    return {reading.rule.id for reading in readings(*spoken(line)) if reading.language == code}


def plain(text: str, code: str) -> str:
    """Return a text as it is typed without accents."""
    text = text.translate(TYPED_PLAINLY.get(code, {}))
    return (
        text if code == "ru" else "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    )


def test_every_language_but_english_has_its_examples() -> None:
    assert set(LANGUAGES) == set(CODES) - {"en"}


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_rule_has_an_example_in_which_it_fires(code: str) -> None:
    listed = examples(code)["rules"]
    assert list(listed) == [rule.id for rule in shipped(code).rules]
    assert {rule: rules_in(line, code) for rule, line in listed.items() if rule not in rules_in(line, code)} == {}


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("polarity", ["adopt", "reject", "ban", "reverse", "prefer"])
def test_what_is_decided_in_a_language(code: str, polarity: str) -> None:
    stories = examples(code)["decides"][polarity]
    assert stories
    for story in stories:
        [decision] = decided(*spoken(story["says"]))
        seen = (decision.polarity, list(decision.chosen), list(decision.rejected))
        assert seen == (polarity, story["chosen"], story["rejected"]), story["says"]


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("kind", ["question", "assistant", "said", "tricky"])
def test_what_decides_nothing_in_a_language(code: str, kind: str) -> None:
    found = {line: [d.statement for d in decided(*spoken(line))] for line in examples(code)["nothing"][kind]}
    assert len(found) >= 3
    assert {line: decisions for line, decisions in found.items() if decisions} == {}


@pytest.mark.parametrize("code", LANGUAGES)
def test_an_order_takes_what_was_proposed(code: str) -> None:
    said = examples(code)["answers"]
    [decision] = answered(said["proposal"], said["order"])
    assert (decision.polarity, decision.speaker, decision.language) == ("adopt", "human", code)
    assert [e.role for e in decision.evidence] == ["proposal", "confirmation"]
    assert any("Redis" in option for option in decision.chosen)


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_number_of_an_option_takes_it(code: str) -> None:
    said = examples(code)["answers"]
    [decision] = answered(said["choice"], said["option"])
    assert (decision.chosen, decision.rejected) == (("Postgres",), ("SQLite",))


@pytest.mark.parametrize("code", LANGUAGES)
def test_thanks_for_progress_decide_nothing(code: str) -> None:
    said = examples(code)["answers"]
    assert answered(said["progress"], said["thanks"]) == []


@pytest.mark.parametrize("code", ["de", "es", "fr", "pt", "ru"])
def test_words_typed_without_accents_decide_the_same(code: str) -> None:
    stories = [s["says"] for of_one in examples(code)["decides"].values() for s in of_one]
    accented = [s for s in stories if plain(s, code) != s and rules_in(s, code)]
    assert len(accented) >= 1
    for story in accented:
        assert rules_in(plain(story, code), code) == rules_in(story, code), plain(story, code)


@pytest.mark.parametrize(
    ("text", "polarity", "chosen", "rejected"),
    [
        ("ok der approach ist mir zu fancy, nimm bitte Vitest statt Jest", "adopt", "Vitest", "Jest"),
        ("sorry, lass uns für den cache layer Redis statt Memcached nehmen", "adopt", "Redis", "Memcached"),
        ("dale, usa useReducer en vez de useState para el form", "adopt", "useReducer", "useState"),
        ("ok pour le refacto mais utilise Zod au lieu de Joi", "adopt", "Zod", "Joi"),
        ("beleza, usa o hook useQuery em vez de fetch no componente", "adopt", "useQuery", "fetch"),
        ("ок, для state management используй Zustand вместо Redux", "adopt", "Zustand", "Redux"),
        ("state management 用 Zustand，不要用 Redux", "adopt", "Zustand", "Redux"),
        ("state managementはReduxではなくZustandを使ってください", "adopt", "Zustand", "Redux"),
        ("please use Zod instead of Joi, danke dir!", "adopt", "Zod", "Joi"),
    ],
)
def test_english_words_in_another_language_are_no_hindrance(
    text: str, polarity: str, chosen: str, rejected: str
) -> None:
    [decision] = decided(text)
    assert decision.polarity == polarity
    assert chosen in " ".join(decision.chosen)
    assert rejected in " ".join(decision.rejected)


def test_each_language_of_a_mixed_message_is_read() -> None:
    text = "We use Postgres instead of MySQL for this.\n\n用 pnpm，不要用 npm。\n\nНикогда не коммить в main."
    assert {d.language for d in decided(text)} >= {"zh", "ru"}


@pytest.mark.parametrize("code", CODES)
def test_the_names_in_a_pack_are_of_its_lists(code: str) -> None:
    found = shipped(code)
    lists = {*found.words, *Lists.__struct_fields__}
    for rule in found.rules:
        assert {*rule.unless, *rule.without} <= lists, rule.id
        assert rule.category in get_args(MarkerCategory), rule.id
    ids = [rule.id for rule in found.rules]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("written", "text", "is_matched"),
    [
        ("wir <*en-kein_wir> {chosen}", "wir speichern utc", False),
        ("wir <*en|*ern-kein_wir> {chosen}", "wir speichern utc", True),
        ("wir <*en-kein_wir> {chosen}", "wir brauchen utc", False),  # in the list of those that decide nothing
        ("habe ich {chosen} <ge*t|*iert>", "habe ich utc gesetzt", True),
        ("habe ich {chosen} <ge*t|*iert>", "habe ich utc modelliert", True),
        ("habe ich {chosen} <ge*t|*iert>", "habe ich utc genommen", False),
        ("<*-verb> <*-verb>? immer {chosen}", "neue zeiten immer utc", True),
        ("<*-verb> <*-verb>? immer {chosen}", "zeiten sind immer utc", False),
        ("ich <*e> {chosen}", f"ich {'a' * 30}e utc", False),  # longer than any word that a `*` stands for
    ],
)
def test_a_form_stands_for_one_word_of_no_list(written: str, text: str, *, is_matched: bool) -> None:
    pattern = Pattern(PackRule("choice.tried", (written,)), written, shipped("de"))
    assert (pattern.expression.match(text) is not None) == is_matched


@pytest.mark.parametrize("code", CODES)
def test_expressions_compile_and_no_repetition_stands_in_another_that_takes_the_same(code: str) -> None:
    found = shipped(code)
    for rule in found.rules:
        for written in rule.patterns:
            expression = Pattern(rule, written, found).expression.pattern
            assert expression
            # What repeats without end in something that does begins with a colon, which the outer one never takes.
            for outer, inner in _nested(re.compile(expression)):
                assert inner.startswith(":"), (rule.id, written, outer)


@pytest.mark.parametrize("code", CODES)
def test_rules_on_what_should_be_learned_are_whole_and_bounded(code: str) -> None:
    words = words_of(code)
    found = words.pack.spoken
    around = [words.spoken(name) for name in Spoken.__struct_fields__ if name not in ("rules", "parts")]
    assert len(around) == 10
    ids = [rule.id for rule in found.rules]
    assert len(ids) == len(set(ids))
    for rule in found.rules:
        expression = words.said_by(rule)
        assert "\n" not in expression.pattern
        assert not list(_nested(expression)), rule.id
        assert rule.cues
        assert "said" in expression.groupindex or rule.meaning != "explicit" or rule.with_before, rule.id


@pytest.mark.parametrize("code", CODES)
@settings(max_examples=tried(60), deadline=None)
@given(data=st.data())
def test_a_sentence_is_looked_at_whatever_words_say_that_somebody_has_to_do_something(
    code: str, data: st.DataObject
) -> None:
    said = data.draw(st.from_regex(words_of(code).spoken("duty")))
    assert places_of_duty(said)


@pytest.mark.parametrize("code", [code for code, script in SCRIPTS.items() if script != "latin"])
def test_cues_of_another_script_are_written_in_it(code: str) -> None:
    assert {cue for cue in words_of(code).cues if scripts(cue) == ("latin",)} == set()


def _nested(expression: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield (outer, inner) for each repetition without end inside a group that repeats without end."""
    for group in re.finditer(
        r"\((?:\?:)((?:[^()\\]|\\.)*[^()\\?][+*](?:[^()\\]|\\.)*)\)[*+](?!\?)", expression.pattern
    ):
        yield group[0], group[1]


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_long_message_of_deciding_words_is_bounded(code: str) -> None:
    lines = [spoken(s["says"])[0] for of_one in examples(code)["decides"].values() for s in of_one]
    text = " ".join(lines * 40)
    found: list[Reading] = readings(text, "human")
    assert len(found) <= 24
    assert all(0 <= r.start <= r.end <= len(text) for r in found)
