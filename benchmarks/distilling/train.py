"""Makes the weights of the scorer (`recollect.insights.scorer`) from labelled turns, and measures them.

A logistic model over the places of `features_of` for each subject, one row a sentence: does it decide something, is it
worth keeping, is it left to do? Of what is worth keeping: is it a preference, a correction, a fact? Labels of a
session, and of a written turn, stay together, in five parts: a figure is of weights that did not see the part. What
the figures of `distill_scored` call unseen is left out: the sessions of `judged-2.ndjson` and the turns of
`natural-2.ndjson` and `kept.ndjson` whose split is `test`. Who ships other weights raises `SCHEME` in
`ingest/analysis.py` and `EXTRACTOR` of the learnings, so that sessions are read again.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from benchmarks.distilling import quality
from benchmarks.support.places import REPOSITORY, Places, parser, places
from recollect.insights.scorer.features import PLACES, Turn, TurnFeatures, features_of, turns_of
from recollect.insights.scorer.weights import ABOUT_FILE, KINDS, TABLES_FILE, Subject
from recollect.insights.session_events import SessionEvents
from tests.quality.judged import read_written
from tests.quality.learned import Wanted, read_messages, read_turns

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = REPOSITORY / "src" / "recollect" / "insights" / "scorer"
DONE = "Done."
"""What the agent said before a turn that was judged as one after it has worked."""
PARTS = 5
PENALTY = 10.0
"""Of the squared weights, against the sum of the losses; 5 to 20 give the same."""
COUNTS = {
    "judged.ndjson": 1.5, "judged-2.ndjson": 1.5, "judged-3.ndjson": 1.5, "natural.ndjson": 2.0,
    "natural-2.ndjson": 2.0, "kept.ndjson": 3.0, "learnings.ndjson": 2.0, "learned_turns.ndjson": 2.0,
}  # fmt: skip
"""How much a turn of a file counts: labels of later files say what a decision is as `labels/README.md` now does."""
LEAST_PRECISION: Mapping[Subject, float] = {"decision": 0.77, "learning": 0.90, "action": 0.90}
"""A sentence counts from the lowest score on from which so many written turns are right, out of fold."""
CONSENT = -2.0
"""Score as a learning below which a sentence is none, even if a rule says so: 4 of 25 such turns were right."""
_STEPS = 250
_RATE = 0.05
_MANY = 3
"""A turn of more sentences that decides nothing counts as much as one of so many."""
_GRID = 0.25
_LEVELS = 4


class Example(NamedTuple):
    """A labelled turn. is_it: whether it holds the subject; of_sentences: which of them do, None where nobody says."""

    group: str
    file: str
    features: TurnFeatures
    is_it: bool
    of_sentences: NDArray[np.bool_] | None


class Fitted(NamedTuple):
    """The weight of each place, and what is added to every sum."""

    weights: NDArray[np.float64]
    bias: float

    def scores(self, features: TurnFeatures) -> NDArray[np.float64]:
        """Return the score of each sentence."""
        rows, columns = once(features)
        return np.bincount(rows, self.weights[columns], len(features.sentences)) + self.bias


class LabelledTurn(NamedTuple):
    """A label of a file, and its message as the scorer reads it."""

    label: dict[str, Any]
    file: str
    turn: Turn
    features: TurnFeatures


def once(features: TurnFeatures) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sentence and place of every feature, each once."""
    found = np.unique(features.owners.astype(np.int64) << 32 | features.places)
    return found >> 32, found & 0xFFFFFFFF


def labelled(at: Places) -> Iterator[LabelledTurn]:
    """Yield every labelled turn that may be learned from. Without the shared corpus, the written ones."""
    for name in (*quality.WRITTEN, "natural.ndjson", "natural-2.ndjson", "kept.ndjson"):
        for label in quality.read(quality.LABELS / name):
            if name in ("natural-2.ndjson", "kept.ndjson") and label["split"] == "test":
                continue
            turn = list(turns_of(SessionEvents(quality.events_of(label))))[-1].turn
            yield LabelledTurn(label, name, turn, features_of(turn))
    for name, label in _judged_learnings():
        turn = list(turns_of(SessionEvents(quality.events_of(label))))[-1].turn
        yield LabelledTurn(label, name, turn, features_of(turn))
    if (at.real_corpus / "index.json").is_file():
        yield from _of_corpus(at)


def _judged_learnings() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the written turns that were judged for learnings alone, with their file, as labels."""
    texts = {turn.id: turn for turn in read_written()}
    for message in read_messages():
        if message.source == "written" and message.split == "dev":
            turn = texts[message.id]
            yield (
                "learnings.ndjson",
                _as_label(f"learn-{turn.id}", turn.language, turn.text, turn.before, message.learns),
            )
    for own in read_turns():
        if own.split == "dev":
            yield "learned_turns.ndjson", _as_label(f"own-{own.id}", own.language, own.text, DONE, own.learns)


def _as_label(name: str, language: str, text: str, before: str, learns: Sequence[Wanted]) -> dict[str, Any]:
    said = [{"kind": one.kind, "quote": one.quote} for one in learns]
    return {
        "id": name, "language": language, "speaker": "human", "text": text, "before": before,
        "learnings": [one for one in said if one["kind"] != "action"],
        "actions": [one["quote"] for one in said if one["kind"] == "action"],
    }  # fmt: skip


def _of_corpus(at: Places) -> Iterator[LabelledTurn]:
    judged = [
        {
            **label, "in": name, "learnings": label["judges"][0]["learnings"], "actions": label["judges"][0]["actions"],
            "decisions": [one for judge in label["judges"] for one in judge["decisions"]],
        }
        for name in ("judged.ndjson", "judged-2.ndjson", "judged-3.ndjson")
        for label in quality.read(quality.LABELS / name)
        if len({bool(judge["decisions"]) for judge in label["judges"]}) == 1
    ]  # fmt: skip
    unseen = {label["session_uid"] for label in judged if label["in"] == "judged-2.ndjson" and label["split"] == "test"}
    labels = [
        *({**label, "in": "decisions.ndjson"} for label in quality.read(quality.LABELS / "decisions.ndjson")),
        *judged,
    ]
    kept = [label for label in labels if label["session_uid"] not in unseen]
    for label, event, stream in quality.events_of_corpus(kept, at.real_corpus):
        turn = next(one.turn for one in turns_of(stream) if one.event is event)
        yield LabelledTurn(label, label["in"], turn, features_of(turn))


def examples(turns: Sequence[LabelledTurn], subject: Subject) -> list[Example]:
    """Return what can be learned of a subject. Of learnings and actions, only what people say teaches."""
    if subject == "decision":
        found = [turn for turn in turns if "decisions" in turn.label and turn.file != "kept.ndjson"]
        return [_example(turn, turn.label["decisions"], turn.features) for turn in found]
    said = [turn for turn in turns if turn.turn.speaker == "human" and "learnings" in turn.label]
    if subject == "action":
        return [_example(one, [{"quote": quote} for quote in one.label["actions"]], _plain(one)) for one in said]
    if subject == "learning":
        return [_example(turn, turn.label["learnings"], _plain(turn)) for turn in said]
    worth = [turn for turn in said if turn.label["learnings"]]
    return [_example(one, [x for x in one.label["learnings"] if x["kind"] == subject], _plain(one)) for one in worth]


def _plain(turn: LabelledTurn) -> TurnFeatures:
    """Return the features of a turn as who extracts learnings reads it: what comes after doesn't count."""
    return features_of(turn.turn._replace(after="", is_edited=False))


def _example(turn: LabelledTurn, said: Sequence[dict[str, Any]], features: TurnFeatures) -> Example:
    quotes = [one["quote"] for one in said if one.get("quote")]
    text = turn.turn.text
    of_sentences = np.array([any(_is_in(text, quote, one) for quote in quotes) for one in features.sentences], bool)
    group = turn.label.get("session_uid") or turn.label["id"]
    is_known = not said or bool(of_sentences.any())
    return Example(group, turn.file, features, bool(said), of_sentences if is_known else None)


def _is_in(text: str, quote: str, sentence: Any) -> bool:
    start = text.find(quote)
    shared = min(sentence.end, start + len(quote)) - max(sentence.start, start)
    return start >= 0 and shared >= 0.5 * min(sentence.end - sentence.start, len(quote))


def fit(found: Sequence[Example]) -> Fitted:
    """Return the weights. Where nobody says which sentence decides, the likeliest counts in a second round."""
    first = _fit(found, None)
    return _fit(found, first) if any(one.of_sentences is None for one in found) else first


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
    if not one.is_it:
        return np.zeros(count), np.full(count, share)
    if one.of_sentences is not None:
        return one.of_sentences.astype(float), np.where(one.of_sentences, 1.0, share / 2)
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


class Table(NamedTuple):
    """A table as it ships: whole weights, and what goes with it."""

    weights: NDArray[np.int8]
    bias: int
    levels: list[tuple[int, int]]
    scale: float


def table_of(found: Sequence[Example], subject: Subject) -> Table:
    """Return the weights of a subject as whole numbers, and from which scores on they count; prints their figures."""
    fitted = fit(found)
    scale = float(127 / np.abs(fitted.weights).max())
    whole = np.round(fitted.weights * scale).astype(np.int8)
    bias = round(fitted.bias * scale)
    if subject in KINDS:
        return Table(whole, bias, [], scale)
    best = np.array(out_of_fold(found))
    is_it = np.array([one.is_it for one in found])
    written = ("natural",) if subject == "decision" else ("kept", "learn")
    spoken = np.array([one.file.startswith(written) for one in found])
    edges = _edges(best[spoken], is_it[spoken], LEAST_PRECISION[subject])
    for name in sorted({one.file for one in found}):
        mine = np.array([one.file == name for one in found])
        _tell(f"{subject} {name}", best[mine], is_it[mine], edges)
    levels: list[tuple[int, int]] = []
    for low, high in zip(edges, (*edges[1:], np.inf), strict=True):
        mine = spoken & (best >= low) & (best < high)
        share = round(100 * float(is_it[mine].mean())) if mine.any() else 0
        if not levels or share > levels[-1][1]:
            levels.append((round(low * scale), share))
    return Table(whole, bias, levels, scale)


def _edges(best: NDArray[np.float64], is_it: NDArray[np.bool_], precision: float) -> list[float]:
    """Return scores at which a level begins: the lowest from which on so many are right, and higher ones."""
    least = next(edge for edge in np.arange(-3, 3, _GRID) if is_it[best >= edge].mean() >= precision)
    return [float(least) + 2 * _GRID * step for step in range(_LEVELS)]


def main() -> None:
    """Fit and print; `--write` writes the weights too."""
    made = parser(__doc__)
    made.add_argument("--write", action="store_true", help=f"write {TABLES_FILE} and {ABOUT_FILE}")
    options = made.parse_args()
    turns = list(labelled(places(options)))
    subjects: tuple[Subject, ...] = get_args(Subject)
    tables = {subject: table_of(examples(turns, subject), subject) for subject in subjects}
    data = b"".join(table.weights.tobytes() for table in tables.values())
    about = [
        "# Made by `python -m benchmarks.distilling.train --write`, and described in weights.py.",
        f'sha256 = "{hashlib.sha256(data).hexdigest()}"',
        f"consent = {round(CONSENT * tables['learning'].scale)}",
    ]
    for subject, table in tables.items():
        levels = [list(level) for level in table.levels]
        about += ["", f"[tables.{subject}]", f"bias = {table.bias}", *([f"levels = {levels}"] if levels else [])]
    text = "\n".join(about) + "\n"
    print(text)
    if options.write:
        (FOLDER / TABLES_FILE).write_bytes(data)
        (FOLDER / ABOUT_FILE).write_text(text, "utf-8")


def _tell(name: str, best: NDArray[np.float64], is_it: NDArray[np.bool_], edges: Sequence[float]) -> None:
    row = [f"{name}: {len(best)} turns, {int(is_it.sum())} positive"]
    for edge in edges:
        is_found = best >= edge
        right = int((is_found & is_it).sum())
        row.append(
            f"from {edge}: precision {right / max(1, is_found.sum()):.2f}, recall {right / max(1, is_it.sum()):.2f}"
        )
    print("; ".join(row))


if __name__ == "__main__":
    main()
