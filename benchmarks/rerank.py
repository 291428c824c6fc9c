"""Fits the weights of a question's order (`recollect.recall.rerank`), and tells what they are worth.

Every question for work is asked, and every passage that a search looks at is labelled: does it hold the beginning of a
quote of the evidence? A linear model is fitted so that a passage that does comes first. Questions whose evidence is of
one session stay together, in five parts: a figure is of weights that did not see the part. Prints the weights to write
into `rerank.py`; publishes nothing, for `python -m benchmarks answers` measures the product with them.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import numpy as np

from benchmarks import answers
from benchmarks.recall import Question, take_in
from benchmarks.support import corpora
from benchmarks.support.places import load_script, parser, places
from recollect import Memory
from recollect.recall import rerank as order
from recollect.recall.rerank import Features, Valued, value

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOR_WORK = ("dev", "study", "work", "work-2", "held", "held-2")
PARTS = 5
PENALTY = 20.0
"""Of the squared weights of standardised features; 5 to 50 give the same."""
_STEPS = 400
_RATE = 0.05
_SHOWN = 8
"""Passages that a page of 4,096 bytes shows, about."""


class Labelled(NamedTuple):
    """The passages that one question made a search look at. features: shape (passages, features)."""

    session: str
    valued: list[Valued]
    features: NDArray[np.float64]
    is_answer: NDArray[np.bool_]


def label(memory: Memory, judge: ModuleType, questions: Sequence[Question]) -> Iterator[Labelled]:
    """Ask questions, and yield those for which the search looked at a passage that answers."""
    looked_at: list[tuple[list[Valued], Any]] = []

    def recorded(ranked: Any, texts: Any, *others: Any) -> list[Valued]:
        found = list(value(ranked, texts, *others))
        looked_at.append((found, texts))
        return found

    with mock.patch.object(order, "value", recorded):
        for question in questions:
            looked_at.clear()
            memory.search(question["question"], sync=False)
            quotes = [judge.fold(one["quote"])[:60] for one in question["evidence"] if one.get("quote")]
            for valued, texts in looked_at:
                said = (judge.fold(_text_of(texts[one.key], one)) for one in valued)
                is_answer = np.array([any(quote in text for quote in quotes) for text in said], bool)
                if is_answer.any():
                    features = np.array([one.features for one in valued], float)
                    yield Labelled(question["evidence"][0]["session_id"], valued, features, is_answer)


def _text_of(event: Any, one: Valued) -> str:
    return str(event.text or event.summary)[one.passage.start : one.passage.end]


def fit(labelled: Sequence[Labelled], *, penalty: float = PENALTY) -> Features:
    """Return the weights with which the passages that answer are most likely first (softmax over a question's)."""
    every = np.concatenate([one.features for one in labelled])
    mean, spread = every.mean(0), every.std(0) + 1e-9
    rows = [((one.features - mean) / spread, one.is_answer) for one in labelled]
    weights = np.zeros(every.shape[1])
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):  # Adam
        slope = penalty * weights
        for features, is_answer in rows:
            scores = features @ weights
            likely = np.exp(scores - scores.max())
            right = likely * is_answer
            slope += features.T @ (likely / likely.sum() - right / right.sum())
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        weights -= _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return Features(*(round(float(one), 3) for one in weights / spread))


def is_shown(one: Labelled, weights: Features) -> bool:
    """Return whether one of the first passages answers, of about as many as a page shows."""
    first = np.argsort(-(one.features @ np.array(weights)), kind="stable")[:_SHOWN]
    return bool(one.is_answer[first].any())


def parts_of(labelled: Sequence[Labelled]) -> dict[str, int]:
    """Return the part of each session."""
    sessions = sorted({one.session for one in labelled})
    random.Random(0).shuffle(sessions)
    return {session: at % PARTS for at, session in enumerate(sessions)}


def main() -> None:
    """Fit and print."""
    made = parser(__doc__)
    made.add_argument("--keep", action="store_true", help="use the memory of the last run")
    options = made.parse_args()
    at = places(options)
    sys.path.insert(0, str(at.shared / "bench"))
    judge = load_script(at.shared / "bench" / "answer_floor.py")
    sets = answers.sets_of(at)
    with take_in(at, corpora.real_of_every_agent(at), is_kept=options.keep) as memory:
        memory.embedding.run()
        labelled = {name: list(label(memory, judge, sets[name])) for name in FOR_WORK if name in sets}
    every = [one for of_set in labelled.values() for one in of_set]
    parts = parts_of(every)
    fitted = [fit([one for one in every if parts[one.session] != part]) for part in range(PARTS)]
    for name, of_set in labelled.items():
        asked = sum(question["type"] != "negative" for question in sets[name])
        shown = sum(is_shown(one, fitted[parts[one.session]]) for one in of_set)
        print(f"{name}: {asked} questions, {len(of_set)} saw a passage that answers, {shown} among the first {_SHOWN}")
    print("\n".join(f"    {name}={weight}," for name, weight in fit(every)._asdict().items()))


if __name__ == "__main__":
    main()
