"""Text that nobody should write: it costs a bounded amount and raises nothing."""

from __future__ import annotations

import pytest

from recollect.insights.decisions.gate import RuleGate
from recollect.insights.language.prose_mask import CAP
from recollect.insights.language.reader import READINGS, readings
from tests.insights.decisions.stories import decided, read

MEGABYTE = 1 << 20


def filled(piece: str) -> str:
    return (piece * (MEGABYTE // len(piece) + 1))[:MEGABYTE]


PIECES = (
    "use A instead of B. ", "never ", "I'll use X because ", "instead of rather than ", "a", "-", "1) ", "`", "```\n",
    '"', "(", "\n", "> use A, not B\n", "<a>", "x/", "don't use it, ", "用A而不是B。", "Aではなく", "вместо ", "statt ",
    "? ", "yes ", "\ud800", "so that ",
)  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("speaker", ["human", "assistant"])
def test_a_megabyte_of_anything_gives_a_bounded_number_of_readings(piece: str, speaker: str) -> None:
    found = readings(filled(piece), speaker)  # type: ignore[arg-type]
    assert len(found) <= READINGS
    assert all(reading.end <= CAP for reading in found)


def test_a_million_markers_are_a_bounded_number_of_decisions() -> None:
    conversations, decisions = read(("human", filled("Never use floats for money. ")))
    assert len(conversations) <= 1
    assert len(decisions) <= READINGS


def test_an_endless_sentence_is_cut() -> None:
    text = "use " + "very " * 20_000 + "long words instead of short ones"
    assert len(RuleGate().markers(text, "human")) <= READINGS


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\x00\x00", "\ud800\udc00 \udfff", "🙂🙂🙂", "?????", "::::", "￼￼"])
def test_text_in_no_language_decides_nothing(text: str) -> None:
    assert decided(text) == []
    assert decided(text, "assistant") == []


def test_halves_of_surrogate_pairs_move_nothing() -> None:
    text = "\ud800 \udfff\nuse Postgres instead of MySQL\n\ud83d"
    (one,) = decided(text)
    assert (one.chosen, one.rejected, one.statement) == (("Postgres",), ("MySQL",), "use Postgres instead of MySQL")


def test_scripts_can_be_mixed() -> None:
    found = decided("用 Postgres。 Use Redis instead of Memcached. Никогда.")
    assert any(d.chosen == ("Redis",) and d.rejected == ("Memcached",) for d in found)


def test_an_endless_turn_is_read_message_by_message() -> None:
    messages = [("assistant", f"I'll use a set instead of a list in part {n}.") for n in range(400)]
    decisions = read(("human", "do it all"), *messages)[1]  # type: ignore[arg-type]
    assert len(decisions) == 400
    assert [d.evidence[-1].event_id for d in decisions] == [f"e{n + 1}" for n in range(400)]
