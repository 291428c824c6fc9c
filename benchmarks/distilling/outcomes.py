"""How often the outcome of a session is told right, beside what a person read in it.

Every labelled session of the real transcripts (tests/quality/labels/outcomes.ndjson) is parsed, its signals are found
and its digest is made, as `recollect digest` does it. Rules were written while looking at the half "dev"; the half
"test" is only counted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.places import REPOSITORY, Places, parser, places
from benchmarks.support.results import Section, publish
from recollect.insights.digests import digest_of, session_of
from recollect.insights.session_events import SessionEvents, by_session
from recollect.insights.signals.observer import RuleObserver
from recollect.memory import parse_file
from recollect.model.events import Event

LABELS = REPOSITORY / "tests" / "quality" / "labels" / "outcomes.ndjson"
OUTCOMES = ("success", "fail", "abandoned", "unknown")
BAR = 0.85
Label = dict[str, Any]


class Judged(NamedTuple):
    """A labelled session, what was derived and why."""

    label: Label
    outcome: str
    reasons: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether a person read the same."""
        return bool(self.label["outcome"] == self.outcome)


def labels_of(path: Path = LABELS) -> list[Label]:
    """Return the labels. Raises FileNotFoundError."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def events_of(sessions: dict[str, list[Event]], label: Label) -> list[Event]:
    """Return the events of a labelled session of a file; empty where the file has it no more.

    A session that is named by where its file lies has another name when the file is read alone: the only one it is.
    """
    found = sessions.get(label["session_uid"], [])
    return next(iter(sessions.values())) if not found and len(sessions) == 1 else found


def judge(at: Places, labels: Sequence[Label]) -> Iterator[Judged]:
    """Yield what is derived of each labelled session whose file is there."""
    by_file: dict[str, list[Label]] = {}
    for label in labels:
        by_file.setdefault(label["file"], []).append(label)
    for file, of_file in by_file.items():
        path = at.real_corpus / file
        if not path.is_file():
            continue
        sessions = by_session(parse_file(path))
        for label in of_file:
            events = events_of(sessions, label)
            if not events:
                continue
            stream = SessionEvents(events)
            digest = digest_of(stream, session_of(stream.events), RuleObserver().signals(stream), ())
            yield Judged(label, digest.outcome, digest.outcome_reasons)


def figures_of(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return how many there are, how many are right, and of each outcome precision, recall and the confusions."""
    right = sum(j.is_right for j in judged)
    table: dict[str, Any] = {}
    for outcome in OUTCOMES:
        labelled = [j for j in judged if j.label["outcome"] == outcome]
        derived = [j for j in judged if j.outcome == outcome]
        hits = sum(j.is_right for j in labelled)
        table[outcome] = {
            "labelled": len(labelled),
            "right": hits,
            "precision": round(hits / len(derived), 4) if derived else None,
            "recall": round(hits / len(labelled), 4) if labelled else None,
            "taken_for": dict(sorted(Counter(j.outcome for j in labelled if not j.is_right).items())),
        }
    return {"sessions": len(judged), "right": right, "share": round(right / max(1, len(judged)), 4), "outcomes": table}


def text_of(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = ["| split | sessions | right | share | bar |", "|---|---:|---:|---:|---:|"]
    for split, row in figures["splits"].items():
        lines.append(f"| {split} | {row['sessions']} | {row['right']} | {row['share']:.2f} | {BAR:.2f} |")
    lines += [
        "",
        "| split | outcome | labelled | right | precision | recall | taken for |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for split, row in figures["splits"].items():
        for outcome, of_outcome in row["outcomes"].items():
            shown = [f"{v:.2f}" if v is not None else "-" for v in (of_outcome["precision"], of_outcome["recall"])]
            wrong = ", ".join(f"{name} {count}" for name, count in of_outcome["taken_for"].items()) or "-"
            lines.append(
                f"| {split} | {outcome} | {of_outcome['labelled']} | {of_outcome['right']} | {shown[0]} | {shown[1]} "
                f"| {wrong} |"
            )
    if figures["missing"]:
        lines += ["", f"{figures['missing']} labelled sessions are not in the corpus and left out."]
    return "\n".join(lines)


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Derive the outcome of every labelled session; returns one section. `misses` prints those of "dev" that differ."""
    labels = labels_of()
    if not at.real_corpus.is_dir():
        raise FileNotFoundError(f"no {at.real_corpus}; name the folder with --shared")
    judged = list(judge(at, labels))
    splits = {
        split: figures_of([j for j in judged if split in ("all", j.label["split"])]) for split in ("dev", "test", "all")
    }
    figures = {"splits": splits, "missing": len(labels) - len(judged), "bar": BAR}
    if getattr(options, "misses", False):
        for j in judged:
            if not j.is_right and j.label["split"] == "dev":
                print(
                    f"{j.label['session_uid']}: {j.label['outcome']}, derived {j.outcome}: {j.reasons[0]}",
                    file=sys.stderr,
                )
    title = "Outcomes of sessions, against labels"
    return [Section("distill_outcomes/real", title, figures, text_of(figures))]


def main() -> None:
    """Measure and publish."""
    made = parser(__doc__)
    made.add_argument("--misses", action="store_true", help="print the sessions of the half dev that differ")
    options = made.parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
