"""How well questions over real transcripts are answered, beside plain full-text search over the same events.

All questions are asked of a memory of every agent's real transcripts, by text only, by text with neighbours, and by
both text and vectors. The floors (SQLite FTS5, any of the words, with and without stop words) are computed by the
benchmark's own script over the same files in the same run.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks.support import corpora
from benchmarks.support.measuring import spread
from benchmarks.support.places import Places, load_script, parser, places
from benchmarks.support.results import Section, publish
from benchmarks.support.systems import systems
from recollect import Memory
from recollect.config import Config
from recollect.model.events import Event
from recollect.model.ids import split_session_uid
from recollect.model.text import searchable
from recollect.recall.answers import Hit, SearchAnswer

DEPTH = 200
"""Hits asked of every search; the floors are asked for as many."""
SHOWN = 10
"""Hits asked for when the time is taken: what people and agents ask for."""
BARS = {"event hit@1": 0.55, "event hit@5": 0.80, "session hit@5 of paraphrase": 0.70}
FALSE_FIRE_BAR = 0.10
Question = dict[str, Any]
_DIGITS = re.compile(r"\D")


class Asked(NamedTuple):
    """What one question gave: rank of the first right session and event (None: not found), best score, abstention."""

    type: str
    session_rank: int | None
    event_rank: int | None
    id: str
    best_score: float | None
    abstained: bool
    took_ms: float


class Judge:
    """Tells which session of the benchmark a hit is of and whether it is evidence, by the rules of its page.

    The benchmark names sessions its own way (a subagent's file is its session, a run in a chat log is named by its
    start), so that a hit is placed by the lines of the file it came from.
    """

    def __init__(self, memory: Memory, corpus: Path, events: Sequence[dict[str, Any]]) -> None:
        self._memory = memory
        self._corpus = corpus
        self._paths = {row.source_id: Path(row.path) for row in memory.reader().sources()}
        self._sessions: dict[str, list[tuple[int, str]]] = {}
        self._known: dict[str, str] = {}
        for event in events:
            if event["session_id"]:
                self._sessions.setdefault(event["file"], []).append((event["line"], event["session_id"]))
        for lines in self._sessions.values():
            lines.sort()
        self._only = {f: lines[0][1] for f, lines in self._sessions.items() if len({s for _, s in lines}) == 1}
        self._starts: dict[Path, list[int]] = {}
        self._seen: dict[str, Event | None] = {}

    def session_of(self, hit: Hit) -> str:
        """Return the session id that the benchmark uses for the hit's place; else the native id of the root session."""
        key = f"{hit.session_uid}#{hit.seq}"
        if key not in self._known:
            self._known[key] = self._place_of(hit)
        return self._known[key]

    def _place_of(self, hit: Hit) -> str:
        event = self._event(hit)
        if event is not None:
            file, first, last = self._place(event)
            if file in self._only:
                return self._only[file]
            sessions = self._sessions.get(file, [])
            if event.location.record_index == 0 and last - first > 1000:  # the whole log is one record
                began = _DIGITS.sub("", split_session_uid(hit.session_uid)[1])[:14]
                return next((s for _, s in sessions if _DIGITS.sub("", s) == began), hit.session_uid)
            at = bisect_right(sessions, (last, "\uffff"))
            if at:
                return sessions[at - 1][1]
        return split_session_uid(hit.root_session_uid)[1]

    def is_evidence(self, hit: Hit, question: Question) -> bool:
        """Whether the hit covers the line, is the same record of the same session, or holds the quote."""
        evidence = question["evidence"]
        session = self.session_of(hit)
        if any(e["session_id"] == session and e["record_id"] == hit.event_id for e in evidence):
            return True
        event = self._event(hit)
        if event is None:
            return False
        file, first, last = self._place(event)
        is_record = last - first <= 1000
        text = _whole_text(event)
        return any(
            (is_record and e["file"] == file and first <= e["line"] <= last) or e["quote"] in text for e in evidence
        )

    def _event(self, hit: Hit) -> Event | None:
        key = f"{hit.session_uid}#{hit.seq}"
        if key not in self._seen:
            event = next(iter(self._memory.events(hit.session_uid, first_seq=hit.seq, limit=1)), None)
            self._seen[key] = event if event is not None and event.seq == hit.seq else None
        return self._seen[key]

    def _place(self, event: Event) -> tuple[str, int, int]:
        """The file below the corpus, and the first and last line (1-based) of the event's record."""
        path = self._paths[event.location.source_id]
        if path not in self._starts:
            data = path.read_bytes()
            self._starts[path] = [match.end() for match in re.finditer(rb"\n", data)]
        starts, first = self._starts[path], event.location.offset_bytes
        last = first + max(event.location.length_bytes - 1, 0)
        return (
            path.relative_to(self._corpus).as_posix(),
            bisect_right(starts, first) + 1,
            bisect_right(starts, last) + 1,
        )


def _whole_text(event: Event) -> str:
    return searchable(event.payload)[1]


def questions_of(at: Places) -> list[Question]:
    """Return all questions of the benchmark. Raises FileNotFoundError."""
    path = at.shared / "bench" / "recall-dev.jsonl"
    if not path.is_file():
        raise FileNotFoundError(f"no {path}; name the folder with --shared")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def floor_events(floor: ModuleType, at: Places) -> list[dict[str, Any]]:
    """Return the distinct events that the floors search, made by the benchmark's script."""
    seen, kept = set(), []
    for path in corpora.real_paths(at, only_real=True, folders=()):
        for event in floor.events(str(at.real_corpus), path):
            key = (event["session_id"], event["record_id"], event["kind"], event["text"])
            if event["text"] and key not in seen:
                seen.add(key)
                kept.append(event)
    return kept


def ask(search: Callable[[str, int], SearchAnswer], judge: Judge, questions: Sequence[Question]) -> list[Asked]:
    """Ask every question once."""
    asked = []
    for question in questions:
        answer = search(question["question"], DEPTH)
        took_ms = search(question["question"], SHOWN).took_ms
        hits = [h for h in answer.hits if judge.session_of(h) != question.get("asking_session")]
        good = {e["session_id"] for e in question["evidence"]} | set(question.get("acceptable_sessions", ()))
        sessions = list(dict.fromkeys(judge.session_of(h) for h in hits))
        session_rank = next((i for i, s in enumerate(sessions, 1) if s in good), None)
        event_rank = next((i for i, h in enumerate(hits, 1) if judge.is_evidence(h, question)), None)
        score = hits[0].score if hits else None
        asked.append(
            Asked(question["type"], session_rank, event_rank, question["id"], score, answer.abstained, took_ms)
        )
    return asked


def scores(ranks: Sequence[int | None]) -> dict[str, float]:
    """Return hit@1, hit@5, hit@10 and MRR of ranks."""
    n = max(1, len(ranks))
    at = {f"hit@{k}": round(sum(1 for r in ranks if r and r <= k) / n, 4) for k in (1, 5, 10)}
    return {**at, "mrr": round(sum(1 / r for r in ranks if r) / n, 4)}


def by_type(rows: Sequence[tuple[str, int | None, int | None]]) -> dict[str, Any]:
    """Return the scores by question type and over all, by session and by event; rows are (type, session, event)."""
    groups: dict[str, list[tuple[str, int | None, int | None]]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    groups["all"] = list(rows)
    return {
        name: {"n": len(g), "session": scores([r[1] for r in g]), "event": scores([r[2] for r in g])}
        for name, g in groups.items()
    }


def false_fire(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return how often a negative question got an answer: at all, and at the score that keeps 90% of the others."""
    negatives = [a for a in asked if a.type == "negative"]
    top = sorted(a.best_score if a.best_score is not None else float("-inf") for a in asked if a.type != "negative")
    cut = top[len(top) // 10] if top else float("inf")
    n = max(1, len(negatives))
    return {
        "negatives": len(negatives),
        "any": round(sum(a.best_score is not None for a in negatives) / n, 4),
        "at90": round(sum(a.best_score is not None and a.best_score >= cut for a in negatives) / n, 4),
        "not_abstained": round(sum(not a.abstained for a in negatives) / n, 4),
        "abstained_wrongly": sum(a.abstained for a in asked if a.type != "negative"),
    }


def verdict(types: dict[str, Any], fire: dict[str, Any]) -> dict[str, Any]:
    """Hold the last system against the bars."""
    got = {
        "event hit@1": types["all"]["event"]["hit@1"],
        "event hit@5": types["all"]["event"]["hit@5"],
        "session hit@5 of paraphrase": types["paraphrase"]["session"]["hit@5"],
        "false fire at 90 %": fire["at90"],
    }
    return {**got, "met": all(got[k] >= bar for k, bar in BARS.items()) and fire["at90"] <= FALSE_FIRE_BAR}


def take_in(at: Places, corpus: Path, *, is_kept: bool) -> Memory:
    """Return a memory of every agent's real transcripts; `is_kept`: the one of an earlier run, if there is one."""
    home = at.home(corpus.name)
    if is_kept and home.is_dir():
        return Memory.open(home, config=Config())
    shutil.rmtree(home, ignore_errors=True)
    memory = Memory.open(home, config=Config())
    memory.take_in([corpus])
    return memory


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Take in the transcripts, ask, compute the floors; returns one section. `misses` prints what was missed."""
    print("recall: floors", file=sys.stderr)
    questions = questions_of(at)
    floor = load_script(at.shared / "bench" / "recall_floor.py")
    events = floor_events(floor, at)
    measured: dict[str, Any] = {}
    for name, is_stopped in (("FTS5, any word", False), ("FTS5, any word but stop words", True)):
        rows, fire = floor.score(floor.Fts(events, is_stopped), events, questions, DEPTH)
        measured[name] = {"types": by_type([r[:3] for r in rows]), "false_fire": fire}
    corpus = corpora.real_of_every_agent(at)
    asked: list[Asked] = []
    with take_in(at, corpus, is_kept=getattr(options, "keep", False)) as memory:
        stats = memory.stats()
        judge = Judge(memory, corpus, events)
        for system in systems(memory):
            print(f"recall: {system.name}", file=sys.stderr)
            asked = ask(system.search, judge, questions)
            types = by_type([(a.type, a.session_rank, a.event_rank) for a in asked if a.type != "negative"])
            took = [a.took_ms for a in asked]
            measured[system.name] = {"types": types, "false_fire": false_fire(asked), "ms": spread(took)}
    figures = {
        "events": stats.events,
        "floor_events": len(events),
        "questions": len(questions),
        "systems": measured,
        "verdict": verdict(types, false_fire(asked)),
        "ranks": {a.id: [a.session_rank, a.event_rank, a.best_score, a.abstained] for a in asked},
    }
    if getattr(options, "misses", False):
        show_misses(asked, questions)
    return [Section("recall/dev", "Recall: questions over real transcripts", figures, render(figures))]


def show_misses(asked: Sequence[Asked], questions: Sequence[Question]) -> None:
    """Print every question whose first event hit is below the fifth, and every negative that was answered."""
    text = {q["id"]: q["question"] for q in questions}
    for a in asked:
        is_missed = a.best_score is not None if a.type == "negative" else not a.event_rank or a.event_rank > 5
        if is_missed:
            print(
                f"{a.id}: session {a.session_rank}, event {a.event_rank}, score {a.best_score}: {text[a.id]}",
                file=sys.stderr,
            )


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    v = figures["verdict"]
    lines = [
        f"{figures['questions']} questions over every agent's transcripts. The floors search "
        f"{figures['floor_events']:,} "
        f"events, Recollect {figures['events']:,}; {DEPTH} results are asked of each. s = by session, e = by event.",
        "",
    ]
    for name, system in figures["systems"].items():
        lines += [f"### {name}", "", *_table(system["types"]), "", _fire(system["false_fire"])]
        if "ms" in system:
            took = system["ms"]
            lines.append(f"p50 {took['p50_ms']:.1f} ms, p95 {took['p95_ms']:.1f} ms a question, for {SHOWN} hits.")
        lines.append("")
    bars = ", ".join(f"{k} {v[k]:.2f} of {bar:.2f}" for k, bar in BARS.items())
    lines.append(
        f"Bars: {bars}, false fire at the score that keeps 90% {v['false fire at 90 %']:.2f} of at most "
        f"{FALSE_FIRE_BAR:.2f}. {'Met.' if v['met'] else 'Missed.'}"
    )
    return "\n".join(lines)


def _table(types: dict[str, Any]) -> list[str]:
    lines = [
        "| type | n | s@1 | s@5 | s@10 | s MRR | e@1 | e@5 | e@10 | e MRR |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, group in types.items():
        cells = [f"{group[by][k]:.2f}" for by in ("session", "event") for k in ("hit@1", "hit@5", "hit@10", "mrr")]
        lines.append(f"| {'**all**' if name == 'all' else name} | {group['n']} | {' | '.join(cells)} |")
    return lines


def _fire(fire: dict[str, Any]) -> str:
    said = f"False fire on {fire['negatives']} negatives: any result {fire['any']:.2f}, "
    said += f"at the score that keeps 90% of the answerable {fire['at90']:.2f}"
    if "not_abstained" in fire:
        said += f", not abstained {fire['not_abstained']:.2f}; abstained on {fire['abstained_wrongly']} answerable"
    return said + "."


def main() -> None:
    """Measure and publish."""
    made = parser(__doc__)
    made.add_argument("--keep", action="store_true", help="use the memory of the last run, to compare settings quickly")
    made.add_argument("--misses", action="store_true", help="also print the questions that were missed")
    options = made.parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
