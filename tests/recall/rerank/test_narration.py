"""What an agent says of its next step comes after what answers, and is still found by its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.index.candidates import Candidate
from recollect.index.ranking import Ranked
from recollect.recall.rerank.narration import LOOKED_AT, after_answers, is_narration
from recollect.store.ports import HitText
from tests.recall.memories import MemoryOfTests

STEP = "Now let me look at how the zebra cache is cleared:"
ANSWER = "The zebra cache is cleared by the nightly job, which also looks at how old its entries are."


@pytest.fixture
def memory(tmp_path: Path) -> MemoryOfTests:
    made = MemoryOfTests(tmp_path)
    for number in range(1, 30):
        made.session(number)
        made.say(number, f"something else entirely {number}", kind="assistant_message")
    made.session(40)
    made.say(40, STEP, kind="assistant_message")
    made.session(41)
    made.say(41, ANSWER, kind="assistant_message")
    return made


def texts(memory: MemoryOfTests, query: str) -> list[str]:
    return [hit.snippet for hit in memory.ask(query).hits][:2]


def test_a_question_is_answered_before_a_step_is_announced(memory: MemoryOfTests) -> None:
    assert texts(memory, "How is the zebra cache cleared?") == [ANSWER, STEP]


def test_a_search_for_words_finds_the_step_where_its_words_put_it(memory: MemoryOfTests) -> None:
    assert texts(memory, "zebra cache cleared") == [STEP, ANSWER]


@pytest.mark.parametrize(
    "text",
    [STEP, "Great! I'll add the test.", "Perfect. Now I’ll run it", "First, let's read it", "The following fails:"],
)
def test_announced_steps(text: str) -> None:
    assert is_narration("assistant_message", text)
    assert not is_narration("user_message", text)
    assert not is_narration("compaction", text)
    assert not is_narration("assistant_message", f"{text} {'It fails since the lock is held. ' * 9}")


@pytest.mark.parametrize("text", [ANSWER, "", "Done: the lock is let go.", "You could let me know", "Illness"])
def test_what_says_something(text: str) -> None:
    assert not is_narration("assistant_message", text)


def test_beyond_those_looked_at_nothing_moves_and_scores_stay_in_order() -> None:
    ranked = [Ranked(Candidate(n, 1, 0.0), 1 - n / 100, 0.0) for n in range(2 * LOOKED_AT)]
    told = {n: HitText("e", 0, n, "assistant_message", None, "s", "", "", STEP, False) for n in (0, 5, LOOKED_AT + 1)}
    placed = after_answers(ranked, told)
    keys = [item.candidate.key for item in placed]
    assert keys[LOOKED_AT - 2 :] == [0, 5, *range(LOOKED_AT, 2 * LOOKED_AT)]
    scores = [item.score for item in placed]
    assert scores == sorted(scores, reverse=True)
