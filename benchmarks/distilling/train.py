"""Makes the weights of the scorer (`recollect.insights.decisions.scorer`) from labelled turns, and measures them.

A logistic model over the places of `features_of`, one row a sentence: does it decide something? Labels of a session,
and of a written turn, stay together, in five parts: a figure is of weights that did not see the part. What the figures
of `distill_quality` call unseen is left out: the sessions of `judged-2.ndjson` and the turns of `natural-2.ndjson`
whose split is `test`. `--write` writes the table; BIAS, LEVELS and SHA256 of `weights.py` are printed, to be copied.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.distilling import quality
from benchmarks.support.places import REPOSITORY, Places, parser, places
from recollect.insights.decisions.scorer.features import PLACES, TurnFeatures, features_of
from recollect.insights.decisions.scorer.turns import turns_of
from recollect.insights.decisions.scorer.weights import FILE_NAME
from recollect.insights.stream import SessionEvents

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = REPOSITORY / "src" / "recollect" / "insights" / "decisions" / "scorer" / FILE_NAME
PARTS = 5
PENALTY = 10.0
"""Of the squared weights, against the sum of the losses; 5 to 20 give the same."""
COUNTS = {"judged.ndjson": 1.5, "judged-2.ndjson": 1.5, "natural.ndjson": 2.0, "natural-2.ndjson": 2.0}
"""How much a turn of a file counts: labels of later files say what a decision is as `labels/README.md` now does."""
_STEPS = 250
_RATE = 0.05
_MANY = 3
"""A turn of more sentences that decides nothing counts as much as one of so many."""
_EDGES = (0.0, 0.5, 1.0, 1.5)
"""Scores at which a level begins."""


class Example(NamedTuple):
    """A labelled turn. is_deciding: of each sentence; None where only the turn is labelled."""

    group: str
    file: str
    features: TurnFeatures
    decides: bool
    is_deciding: NDArray[np.bool_] | None


class Fitted(NamedTuple):
    """The weight of each place, and what is added to every sum."""

    weights: NDArray[np.float64]
    bias: float

    def scores(self, features: TurnFeatures) -> NDArray[np.float64]:
        """Return the score of each sentence."""
        rows, columns = once(features)
        return np.bincount(rows, self.weights[columns], len(features.sentences)) + self.bias


def once(features: TurnFeatures) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sentence and place of every feature, each once."""
    found = np.unique(features.owners << 32 | features.places)
    return found >> 32, found & 0xFFFFFFFF


def examples(at: Places) -> Iterator[Example]:
    """Yield every labelled turn that may be learned from. Without the shared corpus, the written ones."""
    for name in (*quality.WRITTEN, "natural.ndjson", "natural-2.ndjson"):
        labels = quality.read(quality.LABELS / name)
        if name == "natural-2.ndjson":
            labels = [label for label in labels if label["split"] == "dev"]
        for label in labels:
            events = quality.events_of(label)
            turn = list(turns_of(SessionEvents(events)))[-1].turn
            yield _example(label, name, features_of(turn), label["id"], turn.text)
    if (at.real_corpus / "index.json").is_file():
        yield from _of_corpus(at)


def _of_corpus(at: Places) -> Iterator[Example]:
    judged = [
        {**label, "decisions": [one for judge in label["judges"] for one in judge["decisions"]], "in": name}
        for name in ("judged.ndjson", "judged-2.ndjson")
        for label in quality.read(quality.LABELS / name)
        if len({bool(judge["decisions"]) for judge in label["judges"]}) == 1
    ]
    unseen = {label["session_uid"] for label in judged if label["in"] == "judged-2.ndjson" and label["split"] == "test"}
    labels = [
        *({**label, "in": "decisions.ndjson"} for label in quality.read(quality.LABELS / "decisions.ndjson")),
        *judged,
    ]
    kept = [label for label in labels if label["session_uid"] not in unseen]
    for label, event, stream in quality.events_of_corpus(kept, at.real_corpus):
        turn = next(one.turn for one in turns_of(stream) if one.event is event)
        yield _example(label, label["in"], features_of(turn), label["session_uid"], turn.text)


def _example(label: dict[str, Any], file: str, features: TurnFeatures, group: str, text: str) -> Example:
    decisions = label["decisions"]
    quotes = [one["quote"] for one in decisions if one.get("quote")]
    deciding = np.array([any(_is_in(text, quote, one) for quote in quotes) for one in features.sentences], bool)
    is_known = not decisions or bool(deciding.any())
    return Example(group, file, features, bool(decisions), deciding if is_known else None)


def _is_in(text: str, quote: str, sentence: Any) -> bool:
    start = text.find(quote)
    shared = min(sentence.end, start + len(quote)) - max(sentence.start, start)
    return start >= 0 and shared >= 0.5 * min(sentence.end - sentence.start, len(quote))


def fit(found: Sequence[Example]) -> Fitted:
    """Return the weights. Where nobody says which sentence decides, the likeliest counts in a second round."""
    first = _fit(found, None)
    return _fit(found, first) if any(one.is_deciding is None for one in found) else first


def _fit(found: Sequence[Example], before: Fitted | None) -> Fitted:
    rows: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int64]] = []
    wanted: list[NDArray[np.float64]] = []
    counts: list[NDArray[np.float64]] = []
    total = 0
    for one in found:
        said = _wanted(one, before)
        if said is None:
            continue
        row, column = once(one.features)
        rows.append(row + total)
        columns.append(column)
        wanted.append(said[0])
        counts.append(said[1] * COUNTS.get(one.file, 1.0))
        total += len(one.features.sentences)
    return _descend(np.concatenate(rows), np.concatenate(columns), np.concatenate(wanted), np.concatenate(counts))


def _wanted(one: Example, before: Fitted | None) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return what each sentence should be, and how much it counts; None for a turn that teaches nothing."""
    count = len(one.features.sentences)
    if not count:
        return None
    share = min(1.0, _MANY / count)
    if not one.decides:
        return np.zeros(count), np.full(count, share)
    if one.is_deciding is not None:
        return one.is_deciding.astype(float), np.where(one.is_deciding, 1.0, share / 2)
    if count == 1:
        return np.ones(1), np.ones(1)
    if before is None:
        return None
    scores = before.scores(one.features)
    best = scores == scores.max()
    return best.astype(float), np.where(best, 1.0, np.where(scores < -1, 0.3, 0.0))


def _descend(
    rows: NDArray[np.int64], columns: NDArray[np.int64], wanted: NDArray[np.float64], counts: NDArray[np.float64]
) -> Fitted:
    weights, bias = np.zeros(PLACES), 0.0
    first, second = np.zeros(PLACES + 1), np.zeros(PLACES + 1)
    for step in range(1, _STEPS + 1):  # Adam
        scores = np.bincount(rows, weights[columns], len(wanted)) + bias
        error = counts * (1 / (1 + np.exp(-scores)) - wanted)
        slope = np.append(np.bincount(columns, error[rows], PLACES) + PENALTY * weights, error.sum())
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        move = _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        weights, bias = weights - move[:-1], bias - float(move[-1])
    return Fitted(weights, bias)


def out_of_fold(found: Sequence[Example]) -> list[float]:
    """Return the highest score of each turn's sentences, by weights that did not see its part."""
    groups = sorted({one.group for one in found})
    random.Random(0).shuffle(groups)
    part = {group: at % PARTS for at, group in enumerate(groups)}
    fitted = [fit([one for one in found if part[one.group] != at]) for at in range(PARTS)]
    return [max(fitted[part[one.group]].scores(one.features), default=-99.0) for one in found]


def main() -> None:
    """Fit and print; `--write` writes the table of weights too."""
    made = parser(__doc__)
    made.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    options = made.parse_args()
    found = list(examples(places(options)))
    best = np.array(out_of_fold(found))
    decides = np.array([one.decides for one in found])
    for name in sorted({one.file for one in found}):
        mine = np.array([one.file == name for one in found])
        _tell(name, best[mine], decides[mine])
    fitted = fit(found)
    scale = 127 / np.abs(fitted.weights).max()
    table = np.round(fitted.weights * scale).astype(np.int8)
    spoken = np.array([one.file.startswith("natural") for one in found])
    levels = [
        (round(low * scale), round(100 * float(decides[mine].mean())))
        for low, high in zip(_EDGES, (*_EDGES[1:], np.inf), strict=True)
        if (mine := spoken & (best >= low) & (best < high)).any()
    ]
    print(f"BIAS: Final = {round(fitted.bias * scale)}\nLEVELS: Final = {tuple(levels)}")
    print(f'SHA256: Final = "{hashlib.sha256(table.tobytes()).hexdigest()}"')
    if options.write:
        FILE.write_bytes(table.tobytes())


def _tell(name: str, best: NDArray[np.float64], decides: NDArray[np.bool_]) -> None:
    row = [f"{name}: {len(best)} turns, {int(decides.sum())} decide"]
    for edge in _EDGES:
        is_found = best >= edge
        right = int((is_found & decides).sum())
        row.append(f"from {edge}: precision {right / max(1, is_found.sum()):.2f}, recall {right / decides.sum():.2f}")
    print("; ".join(row))


if __name__ == "__main__":
    main()
