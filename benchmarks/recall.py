"""How well questions over real transcripts are answered, beside plain full-text search over the same events.

Takes the questions whose evidence lies in sessions of Claude Code and Codex, and all negative ones, and asks them of a
memory of exactly those agents' real transcripts. The floors (SQLite FTS5, any of the words, with and without stop
words) are computed by the benchmark's own script, restricted to the same files and questions, in the same run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks import corpora
from benchmarks.places import Places, load_script, parser, places
from benchmarks.results import Section, publish
from recollect import Memory
from recollect.model.events import Event
from recollect.model.ids import split_session_uid
from recollect.model.text import searchable
from recollect.recall.answers import Hit

DEPTH = 200
"""Hits asked of every search; the floors are asked for as many."""
BAR = 0.05
Question = dict[str, Any]


class Asked(NamedTuple):
    """What one question gave: rank of the first right session and event (None: not found), best score, abstention."""

    type: str
    session_rank: int | None
    event_rank: int | None
    id: str
    best_score: float | None
    abstained: bool


class Judge:
    """Tells whether a hit is evidence, by the rules of the benchmark's page."""

    def __init__(self, memory: Memory, known_sessions: frozenset[str]) -> None:
        self._memory = memory
        self._known = known_sessions

    def session_of(self, hit: Hit) -> str:
        """Return the native session id that the benchmark uses: a subagent's file counts as its session."""
        native = split_session_uid(hit.session_uid)[1]
        return native if native in self._known else split_session_uid(hit.root_session_uid)[1]

    def is_evidence(self, hit: Hit, question: Question) -> bool:
        """Whether the hit is the same record of the same session, the same line, or holds the quote."""
        evidence = question["evidence"]
        session = self.session_of(hit)
        if any(e["session_id"] == session and e["record_id"] == hit.event_id for e in evidence):
            return True
        event = next(iter(self._memory.events(hit.session_uid, first_seq=hit.seq, limit=1)), None)
        if event is None or event.seq != hit.seq:
            return False
        text = _whole_text(event)
        return any(_is_line(e, session, event) or e["quote"] in text for e in evidence)


def _is_line(evidence: dict[str, Any], session: str, event: Event) -> bool:
    """Records without an id of their own are named by their line; one file holds such a session."""
    has_no_id = str(evidence["record_id"]).startswith("line:")
    return has_no_id and evidence["session_id"] == session and event.location.record_index + 1 == evidence["line"]


def _whole_text(event: Event) -> str:
    return searchable(event.payload)[1]


def selected(at: Places) -> list[Question]:
    """Return the questions that the two agents' sessions can answer, and all negative ones."""
    path = at.shared / "bench" / "recall-dev.jsonl"
    if not path.is_file():
        raise FileNotFoundError(f"no {path}; name the folder with --shared")
    questions = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    ours = ("claude-code/", "codex/")
    return [q for q in questions if q["type"] == "negative" or any(e["file"].startswith(ours) for e in q["evidence"])]


def floor_events(floor: ModuleType, at: Places) -> list[dict[str, Any]]:
    """Return the distinct events that the floors search, made by the benchmark's script."""
    seen, kept = set(), []
    for path in corpora.real_paths(at, only_real=True):
        for event in floor.events(str(at.real_corpus), path):
            key = (event["session_id"], event["record_id"], event["kind"], event["text"])
            if event["text"] and key not in seen:
                seen.add(key)
                kept.append(event)
    return kept


def ask(memory: Memory, judge: Judge, questions: Sequence[Question]) -> list[Asked]:
    """Ask every question once."""
    asked = []
    for question in questions:
        answer = memory.search(question["question"], limit=DEPTH, sync=False)
        hits = [h for h in answer.hits if judge.session_of(h) != question.get("asking_session")]
        good = {e["session_id"] for e in question["evidence"]} | set(question.get("acceptable_sessions", ()))
        sessions = list(dict.fromkeys(judge.session_of(h) for h in hits))
        session_rank = next((i for i, s in enumerate(sessions, 1) if s in good), None)
        event_rank = next((i for i, h in enumerate(hits, 1) if judge.is_evidence(h, question)), None)
        score = hits[0].score if hits else None
        asked.append(Asked(question["type"], session_rank, event_rank, question["id"], score, answer.abstained))
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


def verdict(ours: dict[str, Any], floors: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Compare with the better floor: over all questions, and by type in questions lost."""
    best = {k: max(f["all"]["event"][k] for f in floors) for k in ("hit@1", "hit@5")}
    margin = {k: round(ours["all"]["event"][k] - v, 4) for k, v in best.items()}
    lost = {
        name: {k: round((max(f[name]["event"][k] for f in floors) - group["event"][k]) * group["n"]) for k in best}
        for name, group in ours.items()
        if name != "all"
    }
    too_many = sorted(name for name, by in lost.items() if max(by.values()) > 1)
    return {
        "margin": margin,
        "types_behind": too_many,
        "met": all(m >= BAR - 1e-9 for m in margin.values()) and not too_many,
    }


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Take in the transcripts, ask, compute the floors; returns one section. `misses` prints what was missed."""
    print("recall: floors", file=sys.stderr)
    questions = selected(at)
    floor = load_script(at.shared / "bench" / "recall_floor.py")
    events = floor_events(floor, at)
    floors: dict[str, Any] = {}
    for name, is_stopped in (("FTS5, any word", False), ("FTS5, any word but stop words", True)):
        rows, fire = floor.score(floor.Fts(events, is_stopped), events, questions, DEPTH)
        floors[name] = {"types": by_type([r[:3] for r in rows]), "false_fire": fire}
    corpus = corpora.real(at, only_real=True)
    home = at.home(corpus.folder.name)
    shutil.rmtree(home, ignore_errors=True)
    print("recall: Recollect", file=sys.stderr)
    with Memory.open(home, config=corpus.config()) as memory:
        memory.sync()
        stats = memory.stats()
        judge = Judge(memory, frozenset(e["session_id"] for e in events if e["session_id"]))
        asked = ask(memory, judge, questions)
    types = by_type([(a.type, a.session_rank, a.event_rank) for a in asked if a.type != "negative"])
    figures = {
        "events": stats.events,
        "floor_events": len(events),
        "questions": len(questions),
        "recollect": {"types": types, "false_fire": false_fire(asked)},
        "floors": floors,
        "verdict": verdict(types, [f["types"] for f in floors.values()]),
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
        f"{figures['questions']} questions. The floors search {figures['floor_events']:,} events, "
        f"Recollect {figures['events']:,}; {DEPTH} results are asked of each. s = by session, e = by event.",
        "",
    ]
    systems = {"Recollect": figures["recollect"], **figures["floors"]}
    for name, system in systems.items():
        lines += [f"### {name}", "", *_table(system["types"]), "", _fire(system["false_fire"]), ""]
    lines.append(
        f"Bar: event hit@1 and hit@5 at least {BAR:.2f} over the better floor, no type behind it by more than one "
        f"question. Margins: hit@1 {v['margin']['hit@1']:+.3f}, hit@5 {v['margin']['hit@5']:+.3f}; "
        f"types further behind: {', '.join(v['types_behind']) or 'none'}. {'Met.' if v['met'] else 'Missed.'}"
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
    made.add_argument("--misses", action="store_true", help="also print the questions that were missed")
    options = made.parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
