"""How well decisions are found: precision, recall and F1 against labels, per language, class, speaker and half.

Labels: tests/quality/labels (README there). The half `dev` was read while the rules were written; `test` never was.
A labelled message counts as found where the pipeline gives at least one decision whose words stand in it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.places import REPOSITORY, Places, parser, places
from benchmarks.support.results import Section, publish
from recollect.insights.decisions import ClauseDecider
from recollect.insights.decisions.gate import RuleGate
from recollect.insights.decisions.segment import TurnSegmenter
from recollect.insights.session_events import SessionEvents
from recollect.insights.stages import Gated
from recollect.memory import parse_file
from recollect.model.events import Event, SourceLocation
from recollect.model.insights.nodes import Decision, Speaker
from recollect.model.payloads import AssistantMessage, UserMessage

LABELS = REPOSITORY / "tests" / "quality" / "labels"
OVERLAP = 0.5
PRECISION, RECALL = 0.90, 0.60
WRITTEN = {
    "written.ndjson": "written",
    "fresh.ndjson": "written by one who did not know the rules",
    "later.ndjson": "written later, each half by another who did not know the rules",
    "german.ndjson": "written in German, each part by another who did not know the rules",
}
"""The files of labels that carry their text, with what is said of them."""
GIVEN_UP = ("written.ndjson", "fresh.ndjson", "later.ndjson")
"""Files whose German turns were all read while German was tuned: none of them counts as unseen any more."""


class Labelled(NamedTuple):
    """A labelled message and the decisions found in it."""

    label: dict[str, Any]
    text: str
    found: tuple[Decision, ...]


class Score(NamedTuple):
    """Counts of detection, and of what is right about the decisions that were found."""

    hits: int = 0
    false: int = 0
    missed: int = 0
    polarity: int = 0
    chosen: int = 0
    rejected: int = 0
    with_chosen: int = 0
    with_rejected: int = 0

    @property
    def precision(self) -> float | None:
        """Of what was found, the share that is one."""
        return self.hits / (self.hits + self.false) if self.hits + self.false else None

    @property
    def recall(self) -> float | None:
        """Of the labelled decisions, the share that was found."""
        return self.hits / (self.hits + self.missed) if self.hits + self.missed else None

    @property
    def f1(self) -> float | None:
        """Their harmonic mean."""
        p, r = self.precision, self.recall
        return 2 * p * r / (p + r) if p and r else None


def read(path: Path) -> list[dict[str, Any]]:
    """Return the labels of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def decide(stream: SessionEvents) -> list[Decision]:
    """Return the decisions of a session, as the pipeline finds them."""
    gate, found = RuleGate(), []
    for event in stream.talk():
        speaker: Speaker = "human" if isinstance(event.payload, UserMessage) else "assistant"
        text = str(getattr(event.payload, "text", ""))
        if markers := gate.markers(text, speaker):
            found.append(Gated(event, text, speaker, markers))
    return ClauseDecider().decisions(stream, TurnSegmenter().conversations(stream, found))


def written(labels: Iterable[dict[str, Any]]) -> Iterator[Labelled]:
    """Yield the labels that carry their text, each as a session of one or two messages."""
    for label in labels:
        events = events_of(label)
        stream = SessionEvents(events)
        found = [d for d in decide(stream) if d.evidence[-1].event_id == events[-1].event_id]
        yield Labelled(label, label["text"], tuple(found))


def events_of(label: dict[str, Any]) -> list[Event]:
    """Return a label that carries its text as a session: what the other side said before, if anything, and its text."""
    other = "assistant" if label["speaker"] == "human" else "human"
    said = [(other, label["before"])] if label.get("before") else []
    return [_event(label["id"], i, *s) for i, s in enumerate([*said, (label["speaker"], label["text"])])]


def of_corpus(labels: Iterable[dict[str, Any]], corpus: Path) -> Iterator[Labelled]:
    """Yield the labels that name a record of the shared transcripts, each in its whole session."""
    for label, event, stream in events_of_corpus(labels, corpus):
        if event is None:
            yield Labelled(label, "", ())
            continue
        key = (event.event_id, event.part)
        found = [d for d in stream.once(decide) if (d.evidence[-1].event_id, d.evidence[-1].part) == key]
        yield Labelled(label, _text_of(event), tuple(found))


def events_of_corpus(
    labels: Iterable[dict[str, Any]], corpus: Path
) -> Iterator[tuple[dict[str, Any], Event | None, SessionEvents]]:
    """Yield labels with the event of their record and part that holds their words, and the session that it is of."""
    by_file: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for label in labels:
        by_file[label["file"]].append(label)
    for file, of_file in sorted(by_file.items()):
        sessions: defaultdict[str, list[Event]] = defaultdict(list)
        for event in parse_file(corpus / file):
            sessions[event.session_uid].append(event)
        for session in dict.fromkeys(label["session_uid"] for label in of_file):
            stream = SessionEvents(sessions[session])
            for label in of_file:
                if label["session_uid"] == session:
                    yield label, _event_of(label, stream), stream


def _event_of(label: dict[str, Any], stream: SessionEvents) -> Event | None:
    for event in stream.talk():
        is_it = event.location.record_sha256 == label["sha256"] and event.part == label["part"]
        if is_it and label["quote"][:40] in _text_of(event):
            return event
    return None


def _text_of(event: Event) -> str:
    return str(getattr(event.payload, "text", ""))


def judged_twice(labels: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the turns of `judged.ndjson` that both judges judged alike, in the form of `decisions.ndjson`."""
    for label in labels:
        first, second = label["judges"]
        if bool(first["decisions"]) == bool(second["decisions"]):
            yield _as_label({**label, "language": "en"}, [*first["decisions"], *second["decisions"]], first["none"])


def natural(labels: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the turns of `natural.ndjson` in the form of `written.ndjson`."""
    for label in labels:
        yield _as_label(label, label["decisions"], label["none"])


def _as_label(label: dict[str, Any], decisions: list[dict[str, Any]], none: str) -> dict[str, Any]:
    return {**label, "is_decision": bool(decisions), "decisions": decisions, "class": none or "decision"}


def _event(label: str, number: int, speaker: str, text: str) -> Event:
    payload = UserMessage(text) if speaker == "human" else AssistantMessage(text)
    kind = "user_message" if speaker == "human" else "assistant_message"
    return Event(
        f"label:{label}", number, f"{label}-{number}", 0, kind, payload, SourceLocation("label", 0, 0, 0, number, "")
    )


def score(judged: Iterable[Labelled]) -> Score:
    """Return the counts over labelled messages."""
    total: Counter[str] = Counter()
    for one in judged:
        is_found = bool(one.found)
        if not one.label["is_decision"]:
            total["false"] += is_found
            continue
        total["hits" if is_found else "missed"] += 1
        if is_found:
            total.update(rightness(one))
    return Score(**total)


def rightness(one: Labelled) -> dict[str, int]:
    """Return what is right about a decision that was found: polarity, and options as far as the label names them."""
    wanted = one.label["decisions"]
    chosen, rejected = [o for d in wanted for o in d["chosen"]], [o for d in wanted for o in d["rejected"]]
    return {
        "polarity": int(bool({d["polarity"] for d in wanted} & {d.polarity for d in one.found})),
        "with_chosen": int(bool(chosen)),
        "with_rejected": int(bool(rejected)),
        "chosen": int(bool(chosen) and _names_any(chosen, [o for d in one.found for o in d.chosen])),
        "rejected": int(bool(rejected) and _names_any(rejected, [o for d in one.found for o in d.rejected])),
    }


def _names_any(wanted: list[str], given: list[str]) -> bool:
    return any(overlap(w, g) >= OVERLAP for w in wanted for g in given)


def overlap(wanted: str, given: str) -> float:
    """Return how far two options have the same words: shared ones over their mean number; characters without blanks."""
    a, b = _terms(wanted), _terms(given)
    shared = sum((a & b).values())
    return 2 * shared / (a.total() + b.total()) if a and b else 0.0


def _terms(option: str) -> Counter[str]:
    low = option.lower()
    if any(ord(c) > 0x2E80 for c in low):
        return Counter(c for c in low if c.isalnum())
    return Counter(word for part in low.split() if (word := part.strip("`'\"*_.,:;()[]„“”«»<>")))


def groups(judged: list[Labelled]) -> dict[str, dict[str, Score]]:
    """Return the scores of each half by what is distinguished."""
    found: dict[str, dict[str, Score]] = {}
    for split in ("test", "dev"):
        of_split = [j for j in judged if j.label["split"] == split]
        if not of_split:
            continue
        rows = {"all": score(of_split)}
        for field in ("language", "speaker"):
            for value in sorted({j.label[field] for j in of_split}):
                rows[f"{field} {value}"] = score(j for j in of_split if j.label[field] == value)
        for value in sorted({j.label["class"] for j in of_split}):
            rows[f"class {value}"] = score(j for j in of_split if j.label["class"] == value)
        for value in sorted({m.category for j in of_split for d in j.found for m in d.markers}):
            rows[f"marker {value}"] = score(j for j in of_split if _by_category(j, value))
        found[split] = rows
    return found


def _by_category(one: Labelled, category: str) -> bool:
    return any(m.category == category for d in one.found for m in d.markers)


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Return a section for each set of labels that can be read here."""
    sections = []
    everything: list[Labelled] = []
    for name, title in WRITTEN.items():
        path = LABELS / name
        if path.is_file():
            judged = list(written(_seen(read(path)) if name in GIVEN_UP else read(path)))
            everything += judged
            sections.append(_section(title, judged))
    path = LABELS / "decisions.ndjson"
    if path.is_file() and (at.real_corpus / "index.json").is_file():
        judged = list(of_corpus(read(path), at.real_corpus))
        everything += judged
        sections.append(_section("real transcripts", judged))
    elif path.is_file():
        print(f"distill_quality: no {at.real_corpus}: labels of real transcripts left out", file=sys.stderr)
    sections += _as_people_talk(at)
    if sections:
        sections.append(_section("every unseen half together", [j for j in everything if j.label["split"] == "test"]))
    if not sections:
        raise FileNotFoundError(f"no labels in {LABELS}")
    if getattr(options, "errors", False):
        for section in sections:
            print(section.figures.pop("errors"))
    for section in sections:
        section.figures.pop("errors", None)
    return sections


def _as_people_talk(at: Places) -> list[Section]:
    """Return the sections of what was labelled by people who knew no rule, as it is said in sessions."""
    found = [_section("written as people talk", list(written(natural(read(LABELS / "natural.ndjson")))))]
    if (at.real_corpus / "index.json").is_file():
        labels = judged_twice(read(LABELS / "judged.ndjson"))
        found.append(_section("real turns as they come, judged twice", list(of_corpus(labels, at.real_corpus))))
    return found


def _seen(labels: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield labels, the German ones as those of `dev`."""
    for label in labels:
        yield {**label, "split": "dev"} if label["language"] == "de" else label


def _section(name: str, judged: list[Labelled]) -> Section:
    scores = groups(judged)
    figures: dict[str, Any] = {
        split: {
            row: {**s._asdict(), "precision": s.precision, "recall": s.recall, "f1": s.f1} for row, s in rows.items()
        }
        for split, rows in scores.items()
    }
    text = [f"{len(judged)} labelled messages; bars: precision {PRECISION:.2f} at recall {RECALL:.2f} on `test`."]
    for split, rows in scores.items():
        text += ["", f"`{split}`:", "", *_table(rows)]
    figures["errors"] = errors(judged)
    return Section(f"distill_quality/{name}", f"Decisions: {name}", figures, "\n".join(text))


def _table(rows: dict[str, Score]) -> list[str]:
    lines = [
        "| | decisions | found | false | precision | recall | F1 | polarity | chosen | rejected |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, s in rows.items():
        shares = (_share(s.polarity, s.hits), _share(s.chosen, s.with_chosen), _share(s.rejected, s.with_rejected))
        cells = (s.hits + s.missed, s.hits, s.false, _figure(s.precision), _figure(s.recall), _figure(s.f1), *shares)
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return lines


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else ""


def errors(judged: Iterable[Labelled]) -> str:
    """Return what is wrong in the half that may be looked at, and only there."""
    lines = []
    for one in judged:
        if one.label["split"] != "dev" or bool(one.found) == one.label["is_decision"]:
            continue
        kind = "missed" if one.label["is_decision"] else "false"
        said = " ".join(one.text.split())
        lines.append(f"{kind} {one.label['id']} {one.label['speaker']} {one.label['class']}: {said[:600]}")
        lines += [
            f"    {d.polarity} +{d.chosen} -{d.rejected} {[m.rule for m in d.markers]} {d.statement[:160]!r}"
            for d in one.found
        ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and keep where asked."""
    made = parser(__doc__)
    made.add_argument("--errors", action="store_true", help="list what is wrong in the half `dev`")
    made.add_argument("--keep", action="store_true", help="write results.json and results.md")
    options = made.parse_args()
    publish(measure(places(options), options), dry=options.dry or not options.keep)


if __name__ == "__main__":
    main()
