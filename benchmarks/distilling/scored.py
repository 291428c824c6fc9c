"""How well decisions, learnings and actions are found on turns that nobody saw, by rules alone and with the scorer.

Turns: those of `judged-2.ndjson`, `natural-2.ndjson` and `kept.ndjson` whose split is `test`. Neither rules nor weights
were made with them. A turn counts as found where at least one decision (learning, action) stands in it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.distilling import quality
from benchmarks.learning.quality import of_written, score
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from recollect.ingest.learnings.rule_extractor import extract_session
from recollect.insights.decisions.ranked import DecisionRanker
from recollect.insights.scorer import SentenceScorer
from recollect.insights.scorer.weights import weights
from recollect.insights.session_events import SessionEvents
from recollect.model.insights.nodes import Decision
from recollect.model.learnings.learnings import GIVEN_STATES
from tests.quality.learned import session_saying

PRECISION, RECALL, RECALL_OF_ASSISTANTS = 0.85, 0.60, 0.55


class Judged(NamedTuple):
    """An unseen turn. by_rules: what rules find in it; beside: what the scorer finds besides."""

    label: dict[str, Any]
    by_rules: tuple[Decision, ...]
    beside: tuple[Decision, ...]

    @property
    def decides(self) -> bool:
        """Whether its judges say so."""
        return bool(self.label["is_decision"])

    def is_found(self, least: float) -> bool:
        """Whether rules find it, or the scorer with such a confidence; above 1: rules alone."""
        return bool(self.by_rules) or any(one.confidence >= least for one in self.beside)


class Share(NamedTuple):
    """precision, recall, and the precision there would be if half of the turns decided something."""

    precision: float | None
    recall: float | None
    even: float | None


def shares(judged: Sequence[Judged], least: float) -> Share:
    """Return how well is found what rules find, and the scorer with at least such a confidence."""
    right = sum(one.decides and one.is_found(least) for one in judged)
    wrong = sum(not one.decides and one.is_found(least) for one in judged)
    decide = sum(one.decides for one in judged)
    others = len(judged) - decide
    recall = right / decide if decide else None
    false = wrong / others if others else 0.0
    even = recall / (recall + false) if recall is not None and recall + false else None
    return Share(right / (right + wrong) if right + wrong else None, recall, even)


def unseen(at: Places) -> dict[str, list[Judged]]:
    """Return the turns by where they come from; without the shared corpus, the written ones."""
    if SentenceScorer().missing:
        raise FileNotFoundError(SentenceScorer().missing)
    scorer = DecisionRanker()
    found: dict[str, list[Judged]] = {}
    if (at.real_corpus / "index.json").is_file():
        twice = (one for one in quality.read(quality.LABELS / "judged-2.ndjson") if one["split"] == "test")
        labels = quality.judged_twice(twice)
        found["real turns as they come"] = list(_of_corpus(labels, at, scorer))
    else:
        print(f"distill_scored: no {at.real_corpus}: real turns left out", file=sys.stderr)
    talk = (one for one in quality.read(quality.LABELS / "natural-2.ndjson") if one["split"] == "test")
    found["written as people talk"] = list(_written(quality.natural(talk), scorer))
    return found


def _written(labels: Iterable[dict[str, Any]], scorer: DecisionRanker) -> Iterator[Judged]:
    for label in labels:
        events = quality.events_of(label)
        yield _judged(label, (events[-1].event_id, events[-1].part), SessionEvents(events), scorer)


def _of_corpus(labels: Iterable[dict[str, Any]], at: Places, scorer: DecisionRanker) -> Iterator[Judged]:
    for label, event, stream in quality.events_of_corpus(labels, at.real_corpus):
        if event is not None:
            yield _judged(label, (event.event_id, event.part), stream, scorer)


def _judged(label: dict[str, Any], key: tuple[str, int], stream: SessionEvents, scorer: DecisionRanker) -> Judged:
    by_rules = stream.once(quality.decide)
    beside = scorer.decisions(stream, by_rules)
    mine = [
        tuple(d for d in found if (d.evidence[-1].event_id, d.evidence[-1].part) == key) for found in (by_rules, beside)
    ]
    return Judged(label, *mine)


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Return one section: by speaker and language, and as a curve over the confidence from which one is found."""
    del options
    rows: list[str] = []
    figures: dict[str, Any] = {}
    about = weights().about
    levels = [hundredths / 100 for _, hundredths in about.tables["decision"].levels] if about is not None else []
    for name, judged in unseen(at).items():
        lowest = min(levels)
        rows += [
            "", f"{name}:", "",
            "| | turns | decide | rules: precision | recall | even | both: precision | recall | even |",
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        ]  # fmt: skip
        for group, of_group in _groups(judged).items():
            by_rules, both = shares(of_group, 2.0), shares(of_group, lowest)
            decide = sum(one.decides for one in of_group)
            cells = [str(len(of_group)), str(decide), *map(_figure, (*by_rules, *both))]
            rows.append(f"| {group} | {' | '.join(cells)} |")
            figures[f"{name}/{group}"] = {
                "turns": len(of_group), "decide": decide, "rules": by_rules._asdict(), "both": both._asdict(),
            }  # fmt: skip
        rows += ["", "| found from confidence | precision | recall | even |", "|---|--:|--:|--:|"]
        rows += [f"| {level:.2f} | {' | '.join(map(_figure, shares(judged, level)))} |" for level in levels]
        ranked = [one for one in judged if one.decides and one.beside and not one.by_rules]
        wanted = [{d["polarity"] for d in one.label["decisions"]} for one in ranked]
        alike = sum(
            bool(_sides(w) & _sides({d.polarity for d in one.beside})) for one, w in zip(ranked, wanted, strict=True)
        )
        rows += ["", f"Of {len(ranked)} right ones that only the scorer finds, {alike} are rightly for or against."]
        figures[f"{name}/sides"] = [alike, len(ranked)]
    text = (
        "Opened once. both: rules, and the scorer beside them. even: precision if half of the turns decided something. "
        f"Bars: precision {PRECISION:.2f} at recall {RECALL:.2f}, {RECALL_OF_ASSISTANTS:.2f} for assistants.\n"
        + "\n".join(rows)
    )
    return [
        Section("distill_scored", "Decisions: unseen turns, by rules and with the scorer", figures, text),
        learnings(),
    ]


def learnings() -> Section:
    """Return how well what is worth keeping, and what is left to do, is found in turns that nobody saw."""
    labels = [label for label in quality.read(quality.LABELS / "kept.ndjson") if label["split"] == "test"]
    rows = [
        "| | turns | hold one | rules: precision | recall | both: precision | recall |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    figures: dict[str, Any] = {}
    kinds_right = kinds = 0
    for subject in ("learning", "action"):
        for group in ("all", "en", "others"):
            cells: list[str] = []
            chosen = [one for one in labels if group == "all" or (one["language"] == "en") == (group == "en")]
            wanted = [bool(one["learnings"] if subject == "learning" else one["actions"]) for one in chosen]
            for is_ranked in (False, True):
                found = [_learned(one, is_ranked=is_ranked) for one in chosen]
                hits = [any((kind == "action") == (subject == "action") for kind in kinds_of) for kinds_of in found]
                right = sum(w and h for w, h in zip(wanted, hits, strict=True))
                share = (right / sum(hits) if sum(hits) else None, right / sum(wanted) if sum(wanted) else None)
                cells += map(_figure, share)
                figures[f"{subject}/{group}/{'both' if is_ranked else 'rules'}"] = share
                if is_ranked and subject == "learning" and group == "all":
                    said = [{one["kind"] for one in label["learnings"]} for label in chosen]
                    kinds = right
                    kinds_right = sum(bool(a & set(b)) for a, b in zip(said, found, strict=True))
            rows.append(f"| {subject}s, {group} | {len(chosen)} | {sum(wanted)} | {' | '.join(cells)} |")
    text = "\n".join(
        (
            "Written by one who knew no rule, and seen while the threshold was chosen between two. "
            "Half of the turns hold something. "
            "Bars: precision 0.90 at recall 0.55.",
            "",
            *rows,
            "",
            f"Of {kinds} learnings rightly found, {kinds_right} are of the right kind.",
            "",
            *_orders(figures),
        )
    )
    return Section("learning_scored", "Learnings: unseen turns, by rules and with the scorer", figures, text)


def _orders(figures: dict[str, Any]) -> list[str]:
    """Return how well both do on messages that mostly give orders: there, little is worth keeping."""
    rows = ["| messages that mostly give orders | right | wrong | missed |", "|---|--:|--:|--:|"]
    for is_ranked in (False, True):
        counts = score(one for one in of_written(is_ranked=is_ranked) if one.split == "test")
        name = "both" if is_ranked else "rules"
        rows.append(f"| {name} | {counts.right} | {counts.wrong} | {counts.missed} |")
        figures[f"orders/{name}"] = counts._asdict()
    return rows


def _learned(label: dict[str, Any], *, is_ranked: bool) -> list[str]:
    """Return the kinds of what is learned of a label's turn and given to agents."""
    session = session_saying(label["text"], label["before"])
    last = session.events[-1].event_id
    found = extract_session(session, is_ranked=is_ranked).learnings
    return [one.kind for one in found if one.state in GIVEN_STATES and one.evidence[0].event_id == last]


def _sides(polarities: Iterable[str]) -> set[bool]:
    return {polarity in ("reject", "ban") for polarity in polarities}


def _groups(judged: Sequence[Judged]) -> Mapping[str, list[Judged]]:
    found = {"all": list(judged)}
    for field in ("speaker", "language"):
        values = sorted({one.label[field] for one in judged})
        if len(values) > 1:
            found |= {value: [one for one in judged if one.label[field] == value] for value in values}
    return found


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def main() -> None:
    """Measure, print, and keep where asked."""
    made = parser(__doc__)
    made.add_argument("--keep", action="store_true", help="write results.json and results.md")
    options = made.parse_args()
    publish(measure(places(options), options), dry=options.dry or not options.keep)


if __name__ == "__main__":
    main()
