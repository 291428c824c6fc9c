"""Ways in which developers put a decision, and what only looks like one: a list of sentences per language.

They were written by class of phrasing while the packs were made, so they show what must not be lost, not how well the
packs do on words that nobody has seen (`benchmarks/distilling/quality.py` does).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.insights.language.pack import CODES
from recollect.model.insights.nodes import Speaker
from tests.insights.decisions.stories import answered, decided

PHRASINGS = Path(__file__).with_name("phrasings")
FEWEST = 40


def phrasings(code: str, mark: str) -> list[tuple[Speaker, str]]:
    """Return the sentences of a language that begin with a mark, each with who says it."""
    lines = (PHRASINGS / f"{code}.txt").read_text("utf-8").splitlines()
    said = [line[2:] for line in lines if line.startswith(f"{mark} ")]
    return [("assistant", s[3:]) if s.startswith("A: ") else ("human", s) for s in said]


def test_every_language_has_a_list() -> None:
    assert {path.stem for path in PHRASINGS.glob("*.txt")} == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_what_is_put_as_a_decision_is_one(code: str) -> None:
    said = phrasings(code, "+")
    assert len(said) >= FEWEST
    assert [text for speaker, text in said if not decided(text, speaker)] == []


@pytest.mark.parametrize("code", CODES)
def test_what_only_looks_like_a_decision_is_none(code: str) -> None:
    said = phrasings(code, "-")
    assert len(said) >= FEWEST
    assert {
        text: found for speaker, text in said if (found := [d.markers[0].rule for d in decided(text, speaker)])
    } == {}


@pytest.mark.parametrize(
    ("text", "rationale"),
    [
        ("I kept the old endpoint as an alias: two clients still call it.", "two clients still call it."),
        ("I've limited the pool to four — the database allows no more.", "the database allows no more."),
        ("旧接口保留为别名：还有两个客户端在调用它。", "还有两个客户端在调用它。"),
        ("キャッシュは追加していません。クエリは4msで終わるためです。", "クエリは4msで終わるためです"),
    ],
)
def test_what_stands_behind_a_mark_is_the_reason(text: str, rationale: str) -> None:
    (one,) = decided(text, "assistant")
    assert one.rationale.rstrip("。") == rationale.rstrip("。")


@pytest.mark.parametrize("text", ["I kept the old endpoint.", "I kept these: a, b", "I've limited the pool to four."])
def test_without_a_reason_it_is_a_report(text: str) -> None:
    assert decided(text, "assistant") == []


def test_what_is_supposed_behind_the_choice_does_not_void_it() -> None:
    (one,) = decided("I opted for a separate table: the JSON column would have made the reports slow.", "assistant")
    assert one.chosen == ("separate table",)
    assert decided("My idea would be this: I opted for a separate table.", "assistant") == []


@pytest.mark.parametrize("text", ["If possible, use the stdlib.", "If it's all the same to you, use single quotes."])
def test_politeness_is_no_condition(text: str) -> None:
    assert len(decided(text)) == 1


def test_the_likeliest_language_reads_first() -> None:
    (portuguese,) = decided("decidimos não usar GraphQL")
    (spanish,) = decided("Nada de dependencias nuevas")
    assert (portuguese.language, portuguese.polarity) == ("pt", "reject")
    assert (spanish.language, spanish.polarity) == ("es", "ban")


@pytest.mark.parametrize(
    ("text", "chosen", "rejected"),
    [
        ("Let's keep the format strings as they are", ("format strings",), ()),
        ("Go with Stripe", ("Stripe",), ()),
        ("switch to a bounded queue", ("bounded queue",), ()),
        ("I'd rather not have a build step.", (), ("build step",)),
        ("leave pagination out for now", (), ("pagination",)),
        ("there must be no network calls in unit tests", (), ("network calls",)),
        ("Return 409 in that case, not 500.", ("Return 409",), ("500",)),
    ],
)
def test_an_option_is_named_without_the_words_around_it(
    text: str, chosen: tuple[str, ...], rejected: tuple[str, ...]
) -> None:
    (one,) = decided(text)
    assert (one.chosen, one.rejected) == (chosen, rejected)


def test_what_corrects_a_slip_is_a_step() -> None:
    step = "I'll use `core/io` instead of `core/ui`, since the parser is there."
    assert len(decided(step, "assistant")) == 1
    assert decided(f"Oops, wrong folder. {step}", "assistant") == []
    assert len(decided(f"Oops, wrong folder.\n\n{step}", "assistant")) == 1


@pytest.mark.parametrize(
    ("proposal", "answer"),
    [
        ("Would you like me to introduce the outbox pattern?", "hm, rather not"),
        ("Soll ich das Outbox-Pattern einführen?", "puh, lieber nicht"),
        ("Quer que eu introduza uma fila?", "hum, melhor não"),
    ],
)
def test_a_no_may_follow_a_sound(proposal: str, answer: str) -> None:
    (one,) = answered(proposal, answer)
    assert one.polarity == "reject"


def test_a_past_tense_is_no_supposition() -> None:
    (one,) = decided("Der Worker wurde zu langsam, nimm stattdessen Celery.")
    assert one.chosen == ("Celery",)


@pytest.mark.parametrize(
    ("proposal", "answer", "chosen"),
    [
        ("I see two ways: (a) a queue in Redis or (b) a table in Postgres. Which one?", "b", "table"),
        (
            "Ich sehe zwei Wege: eine Queue, oder eine Tabelle. Was ist dir lieber?",
            "zweiteres. und kurz halten",
            "Tabelle",
        ),
    ],
)
def test_options_within_a_sentence_can_be_taken(proposal: str, answer: str, chosen: str) -> None:
    (one,) = answered(proposal, answer)
    assert [chosen in option for option in one.chosen] == [True]


def test_who_wants_to_sleep_on_it_confirms_nothing() -> None:
    proposal = "Ich würde die Bilder auslagern. Soll ich das so angehen?"
    assert len(answered(proposal, "klingt vernünftig, mach das")) == 1
    assert answered(proposal, "klingt vernünftig, aber lass mich erst drüber schlafen") == []


def test_what_was_not_taken_is_a_reason_where_the_next_sentence_weighs_it() -> None:
    choice = "Bei den Terminen setze ich auf UTC."
    assert len(decided(f"{choice} Lokale Zeiten wären bequemer.", "assistant")) == 1
    assert decided(choice, "assistant") == []


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Do not use Redis. Use Memcached instead.", {("Redis", False), ("Memcached", True)}),
        ("Don't use moment.js, use date-fns.", {("moment.js", False), ("date-fns", True)}),
        ("No Redis please, Memcached.", {("Redis", False), ("Memcached", True)}),
        ("Stop using npm. Use pnpm from now on.", {("npm", False), ("pnpm", True)}),
        ("We should not use Redis but Memcached.", {("Redis", False), ("Memcached", True)}),
        ("I'd prefer no Redis here.", {("Redis", False)}),
        ("Redis is out. Memcached it is.", {("Redis", False), ("Memcached", True)}),
        ("Please do not use axios. Use fetch.", {("axios", False), ("fetch", True)}),
        ("lieber kein Redis", {("Redis", False)}),
        ("Mir wäre lieber, wir nehmen kein Redis.", {("Redis", False)}),
        ("Benutze nicht Redis. Nimm Memcached.", {("Redis", False), ("Memcached", True)}),
        ("Bob said Redis is slow, so use Memcached.", {("Memcached", True)}),
    ],
)
def test_what_is_turned_down_is_never_taken(text: str, options: set[tuple[str, bool]]) -> None:
    found = {(option.text.removeprefix("use "), option.is_chosen) for d in decided(text) for option in d.options}
    assert found == options


def test_what_takes_nothing_adopts_nothing() -> None:
    assert [d.polarity for d in decided("use no Redis")] == ["reject"]
