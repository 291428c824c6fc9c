"""How well learnings are found without a model: precision and recall against labels, per kind, language and half.

Labels: tests/quality/labels/learnings.md. The half `dev` was read while the rules were written; `test` was only
measured. What people say is judged message by message; what commands teach in written sessions, and where it was
found in real ones.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.distilling.quality import overlap
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from recollect.errors import SourceError
from recollect.ingest.learnings.rule_extractor import extract_session
from recollect.insights.digests import session_of
from recollect.insights.preparation import analyse, default_stages
from recollect.insights.session_events import by_session
from recollect.memory import parse_file
from recollect.model.events import Event
from recollect.model.learnings.learnings import GIVEN_STATES, Learning
from recollect.model.payloads import UserMessage
from tests.quality.judged import WrittenTurn, read_written
from tests.quality.labelled import LabelledTurn
from tests.quality.labelled import read_turns as read_decisions
from tests.quality.learned import (
    FoundLearning,
    Wanted,
    WrittenSession,
    read_found,
    read_messages,
    read_runs,
    read_turns,
    session_doing,
    session_saying,
)

PRECISION = 0.90
_ENOUGH = 0.3
"""Share of the words that a learning and its label have in common, at least."""


class Judged(NamedTuple):
    """A message or a session, what should be learned of it, and what was."""

    id: str
    split: str
    language: str
    text: str
    wanted: tuple[Wanted, ...]
    found: tuple[Learning, ...]
    is_exact: bool = False
    """Whether a learning must hold the label's words as they stand."""


class Score(NamedTuple):
    """right, wrong: of what was found; missed: of what should have been; kind: of the right ones, those of its kind."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    kind: int = 0

    @property
    def precision(self) -> float | None:
        """Of what was found, the share that is right."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def recall(self) -> float | None:
        """Of what should be learned, the share that was."""
        return self.right / (self.right + self.missed) if self.right + self.missed else None


def of_written(*, is_ranked: bool = False) -> Iterator[Judged]:
    """Yield the messages that carry their text: those written for decisions, and those written for learnings.

    is_ranked: with what learned weights find, and without what they refuse.
    """
    texts: dict[str, WrittenTurn] = {turn.id: turn for turn in read_written()}
    for message in read_messages():
        if message.source == "written":
            turn = texts[message.id]
            found = said_in(session_saying(turn.text, turn.before), is_ranked=is_ranked)
            yield Judged(message.id, message.split, turn.language, turn.text, message.learns, found)
    for own in read_turns():
        found = said_in(session_saying(own.text), is_ranked=is_ranked)
        wanted = () if own.is_held_back else own.learns
        yield Judged(f"own-{own.id}", own.split, own.language, own.text, wanted, found)


def said_in(session: WrittenSession, *, is_ranked: bool = False) -> tuple[Learning, ...]:
    """Return what is given to agents of the last message of a session. is_ranked: with learned weights."""
    last = session.events[-1].event_id
    found = extract_session(session, is_ranked=is_ranked).learnings
    return tuple(one for one in found if one.state in GIVEN_STATES and one.evidence[0].event_id == last)


def of_transcripts(corpus: Path) -> Iterator[Judged]:
    """Yield the judged messages of real transcripts, each in its whole session."""
    wanted = {message.id: message for message in read_messages() if message.source == "transcripts"}
    by_file: defaultdict[str, list[LabelledTurn]] = defaultdict(list)
    for turn in read_decisions():
        if turn.id in wanted:
            by_file[turn.file].append(turn)
    for file, turns in sorted(by_file.items()):
        sessions = by_session(parse_file(corpus / file))
        for uid in dict.fromkeys(turn.session_uid for turn in turns):
            events = [event for event in sessions[uid] if event.replaced_by is None]
            learnings = extract_session(WrittenSession(session_of(events), events), is_ranked=False).learnings
            for turn in turns:
                if turn.session_uid != uid:
                    continue
                event = _event_of(turn, events)
                key = (event.event_id, event.part) if event is not None else ("", 0)
                found = [x for x in learnings if (x.evidence[0].event_id, x.evidence[0].part) == key and _is_said(x)]
                text = getattr(event.payload, "text", "") if event is not None else ""
                label = wanted[turn.id]
                yield Judged(turn.id, label.split, turn.language, text, label.learns, tuple(found))


def _is_said(learning: Learning) -> bool:
    return learning.state in GIVEN_STATES and learning.evidence[0].author == "user"


def _event_of(turn: LabelledTurn, events: Iterable[Event]) -> Event | None:
    for event in events:
        payload = event.payload
        is_there = event.location.record_sha256 == turn.sha256 and event.part == turn.part
        if is_there and isinstance(payload, UserMessage) and turn.quote[:40] in payload.text:
            return event
    return None


def of_runs() -> Iterator[Judged]:
    """Yield the written sessions; what is wanted is a part of a learning's text."""
    for run in read_runs():
        found = [
            x for x in extract_session(session_doing(run.steps), is_ranked=False).learnings if x.state in GIVEN_STATES
        ]
        wanted = tuple(Wanted(one.kind, one.text) for one in run.learns) if not run.is_held_back else ()
        yield Judged(run.id, run.split, "en", "", wanted, tuple(found), is_exact=True)


def of_findings(corpus: Path) -> tuple[dict[str, Score], int]:
    """Return of what commands taught in real sessions how much is right, by half, and how much nobody judged."""
    judged: dict[tuple[str, str], FoundLearning] = {(one.session_uid, one.id): one for one in read_found()}
    files = sorted({one.file for one in judged.values()})
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    unjudged = 0
    for file in files:
        for uid, events in by_session(parse_file(corpus / file)).items():
            visible = [event for event in events if event.replaced_by is None]
            for one in extract_session(WrittenSession(session_of(visible), visible), is_ranked=False).learnings:
                if one.evidence[0].author == "user":
                    continue
                label = judged.get((uid, one.id))
                if label is None:
                    unjudged += 1
                    continue
                for row in ("all", f"kind {label.kind}"):
                    counts[f"{label.split}/{row}"]["right" if label.is_right else "wrong"] += 1
    return {name: Score(right=c["right"], wrong=c["wrong"], kind=c["right"]) for name, c in counts.items()}, unjudged


def fits(learning: Learning, wanted: Wanted, *, is_exact: bool = False) -> bool:
    """Tell whether a learning says what a label wants: one holds the other or they share words enough, of any quote."""
    said = learning.text.lower()
    if is_exact:
        return wanted.quote.lower() in said
    quotes = [quote for quote in wanted.quote.lower().split(" … ") if quote]
    return any(quote in said or said in quote or overlap(quote, said) >= _ENOUGH for quote in quotes)


def score(judged: Iterable[Judged], kind: str = "") -> Score:
    """Return the counts, of one kind or of all. A label counts once; what says it again counts neither way."""
    right = wrong = missed = of_kind = 0
    for one in judged:
        left = list(one.wanted)
        for learning in one.found:
            match = next((w for w in left if fits(learning, w, is_exact=one.is_exact)), None)
            if match is not None:
                left.remove(match)
            if kind not in ("", match.kind if match is not None else learning.kind):
                continue
            if match is None and any(fits(learning, w, is_exact=one.is_exact) for w in one.wanted):
                continue  # says again what another finding of the message says
            if match is None:
                wrong += 1
            else:
                right += 1
                of_kind += match.kind == learning.kind
        missed += sum(kind in ("", w.kind) for w in left)
    return Score(right, wrong, missed, of_kind)


def groups(judged: list[Judged]) -> dict[str, dict[str, Score]]:
    """Return the scores of each half, by kind and language."""
    found: dict[str, dict[str, Score]] = {}
    for split in ("test", "dev"):
        half = [one for one in judged if one.split == split]
        rows = {"all": score(half)}
        for kind in ("preference", "correction", "fact", "action", "pattern"):
            rows[f"kind {kind}"] = score(half, kind)
        for language in sorted({one.language for one in half}):
            rows[f"language {language}"] = score(one for one in half if one.language == language)
        found[split] = {name: row for name, row in rows.items() if row.right + row.wrong + row.missed}
    return found


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Return a section for each set of labels that can be read here."""
    sets = {"written turns": list(of_written()), "written sessions": list(of_runs())}
    has_corpus = (at.real_corpus / "index.json").is_file()
    if has_corpus:
        sets["real turns"] = list(of_transcripts(at.real_corpus))
    else:
        print(f"learning_quality: no {at.real_corpus}: labels of real transcripts left out", file=sys.stderr)
    if getattr(options, "errors", False):
        for judged in sets.values():
            print(errors(judged))
    sections = [_section(name, groups(judged), len(judged)) for name, judged in sets.items()]
    if has_corpus:
        scores, unjudged = of_findings(at.real_corpus)
        rows: dict[str, dict[str, Score]] = {"test": {}, "dev": {}}
        for name, row in sorted(scores.items()):
            half, _, label = name.partition("/")
            rows[half][label] = row
        note = f" {unjudged} more were found that nobody has judged." if unjudged else ""
        count = sum(s.right + s.wrong for half in rows.values() for n, s in half.items() if n == "all")
        sections.append(_section("real commands", rows, count, f"{note} Precision only: what was found was judged."))
        sections.append(_cost(at.real_corpus))
    return sections


def _cost(corpus: Path) -> Section:
    """Return the processor time of extracting beside that of analysing the same events, the best of three."""
    index = json.loads((corpus / "index.json").read_bytes())["files"]
    files = [entry["path"] for entry in index if entry.get("real")]
    sessions = [one for file in files for one in _sessions_in(corpus / file)]
    stages = default_stages()
    extracting = _seconds(extract_session, sessions)
    analysing = _seconds(lambda one: analyse(one.events, session=one.session, stages=stages, load=one.load), sessions)
    events = sum(len(one.events) for one in sessions)
    figures = {
        "sessions": len(sessions),
        "events": events,
        "extracting_cpu_seconds": round(extracting, 3),
        "analysing_cpu_seconds": round(analysing, 3),
        "share": round(extracting / analysing, 3),
        "microseconds_per_event": round(extracting / events * 1e6, 1),
    }
    text = (
        f"{events:,} events of {len(sessions):,} real sessions: extracting {extracting:.2f} s of processor time, "
        f"{figures['microseconds_per_event']} µs an event; analysing them (signals, nodes, digests) {analysing:.2f} s. "
        f"Share {figures['share']:.3f}; aim 0.1. Without reading them, which both share."
    )
    return Section("learning_quality/cost", "Learnings by rules: cost", figures, text)


def _sessions_in(file: Path) -> list[WrittenSession]:
    try:
        by_uid = by_session(event for event in parse_file(file) if event.replaced_by is None)
    except SourceError:  # a sidecar that is no transcript
        return []
    return [WrittenSession(session_of(events), events) for events in by_uid.values()]


def _seconds(work: Callable[[WrittenSession], object], sessions: Sequence[WrittenSession]) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        for one in sessions:
            work(one)
        best = min(best, time.process_time() - started)
    return best


def _section(name: str, rows: dict[str, dict[str, Score]], count: int, note: str = "") -> Section:
    figures: dict[str, Any] = {
        split: {row: {**s._asdict(), "precision": s.precision, "recall": s.recall} for row, s in scores.items()}
        for split, scores in rows.items()
    }
    text = [f"{count} judged; bar: precision {PRECISION:.2f} on `test`.{note}"]
    for split, scores in rows.items():
        text += ["", f"`{split}`:", "", *_table(scores)]
    return Section(f"learning_quality/{name}", f"Learnings by rules: {name}", figures, "\n".join(text))


def _table(rows: dict[str, Score]) -> list[str]:
    lines = ["| | right | wrong | missed | precision | recall | of its kind |", "|---|--:|--:|--:|--:|--:|--:|"]
    for name, s in rows.items():
        kind = f"{s.kind / s.right:.2f}" if s.right else ""
        lines.append(
            f"| {name} | {s.right} | {s.wrong} | {s.missed} | {_figure(s.precision)} | {_figure(s.recall)} | {kind} |"
        )
    return lines


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def errors(judged: Iterable[Judged]) -> str:
    """Return what is wrong in the half that may be looked at, and only there."""
    lines = []
    for one in judged:
        if one.split != "dev":
            continue
        left = list(one.wanted)
        for learning in one.found:
            match = next((w for w in left if fits(learning, w, is_exact=one.is_exact)), None)
            if match is None and any(fits(learning, w, is_exact=one.is_exact) for w in one.wanted):
                continue
            if match is None:
                lines.append(f"wrong  {one.id} {learning.kind} {[*learning.features]}: {learning.text}")
            else:
                left.remove(match)
                if match.kind != learning.kind:
                    lines.append(f"kind   {one.id} {learning.kind} for {match.kind}: {learning.text}")
        lines += [f"missed {one.id} {w.kind}: {w.quote} | {' '.join(one.text.split())[:300]}" for w in left]
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
