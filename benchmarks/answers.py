"""Whether an agent is given the answer: does one default MCP search (4,096 bytes) hold the evidence?

Every set of questions is asked of one memory of every agent's real transcripts, with the contextual model and without,
beside the plain floor (SQLite FTS5 with snippets) of `answer_floor.py`, whose judge is used for all. The intervals are
bootstrapped over the questions. Sets: `dev` and `study` lie beside the benchmark; `work` and `held` in `questions/`,
written by people who had not seen search. Each `held` was opened at the end of a round;
docs/development/recall-tuning.md tells what was changed after that.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sqlite3
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks.recall import Judge, Question, floor_events, take_in
from benchmarks.recall import scores as ranked
from benchmarks.support import corpora
from benchmarks.support.measuring import spread
from benchmarks.support.places import Places, load_script, parser, places
from benchmarks.support.results import Section, publish
from recollect import Memory
from recollect.config import Config, EmbeddingConfig
from recollect.index.text.terms import STOP_WORDS
from recollect.memory import CONTINUED
from recollect.model.ids import split_session_uid
from recollect.model.text import searchable
from recollect.serve.mcp.bounded_answer import Caller, Cursors
from recollect.serve.mcp.handler import ToolHandler

JUDGED = "held-3"
"""The set that the bars are for: unseen until round 8 was finished; later rounds looked at it too."""
AT_LEAST = {"answer": 0.75, "hit@1": 0.42, "hit@5": 0.65, "hit@10": 0.75}
AT_MOST = {"silenced": 0.02, "hedged": 0.10, "known": 0.15}
OF_TYPE = {"tool_only": ("event", 0.60), "error_fix": ("event", 0.55), "paraphrase": ("session", 0.75)}
"""Whether the evidence or its session is among the first five, by type of question, and the bar."""
OVER_FLOOR = 0.12
PARAPHRASED = 0.60
BOUNDS = {
    "hedged": "a lower threshold of confidence would meet it, but lets more negatives pass.",
    "over the floor": "a set of 38 questions on which the floor does best of all but one; nine of ten draws lie within "
    ".13 of the figure. Two more answers would meet the bar.",
    "known": "confidence rests on words, and most negatives that pass use only words that occur. Tried, each judged on "
    "sets left out of the fit: cosines, token vectors of the question's words, coverage by the best event, passage or "
    "neighbourhood, the second-best session, the rarest words, names. With or without them .31 of the negatives pass "
    "where .09 of the answerable questions are marked.",
    "generated paraphrases": "they share no word with their answers, so only meaning can find them, and the model "
    "itself ranks 13 of the 48 sessions in the first five; half of the answers have a cosine below .26. Tried: trust "
    "in meaning four and eight times as much (11 and 12 found; LoCoMo falls below its bar), other models of this size.",
}
"""Why a bar is missed, and what was tried; more in docs/development/recall-tuning.md."""
DEPTH = 20
_DRAWS = 2000
_QUESTIONS = Path(__file__).parent / "questions"


class Asked(NamedTuple):
    """What one question gave. rank: of the first evidence among the events; session_rank: of the right session among
    the sessions. None where it was not found."""

    type: str
    has_answer: bool
    rank: int | None
    session_rank: int | None
    state: str
    took_ms: float


def sets_of(at: Places) -> dict[str, list[Question]]:
    """Return the sets that are there, by name. Questions about transcripts that aren't real are left out: neither the
    memory nor the floor has them."""
    real = set(corpora.real_paths(at, only_real=True, folders=()))
    found = {
        "held-3": _QUESTIONS / "held-3.jsonl",
        "held-2": _QUESTIONS / "held-2.jsonl",
        "held": _QUESTIONS / "held.jsonl",
        "dev": at.shared / "bench" / "recall-dev.jsonl",
        "study": at.shared / "bench" / "recall-study" / "questions.jsonl",
        "work": _QUESTIONS / "work.jsonl",
        "work-2": _QUESTIONS / "work-2.jsonl",
    }
    return {
        name: [
            question
            for line in path.read_text("utf-8").splitlines()
            if line.strip() and is_within(real, question := json.loads(line))
        ]
        for name, path in found.items()
        if path.is_file()
    }


def ask(
    memory: Memory, judge: Judge, questions: Sequence[Question], holds: Callable[[str, Question], bool]
) -> list[Asked]:
    """Ask every question once over MCP, and once for its events."""
    desk = ToolHandler(memory, Cursors(b"benchmark".ljust(32)), Caller())
    asked = []
    for question in questions:
        text = desk.answer("search", {"query": question["question"]})
        answer = memory.search(question["question"], limit=DEPTH, sync=False)
        state = "nothing" if not answer.hits else "unsure" if answer.is_unsure else "known"
        if question["type"] == "negative":
            asked.append(Asked("negative", False, None, None, state, answer.took_ms))
            continue
        hits = [h for h in answer.hits if judge.session_of(h) != question.get("asking_session")]
        rank = next((i for i, h in enumerate(hits, 1) if judge.is_evidence(h, question)), None)
        right = {*question["acceptable_sessions"], *(one.get("session_id") for one in question["evidence"])}
        sessions = dict.fromkeys(judge.session_of(h) for h in hits)
        place = next((i for i, session in enumerate(sessions, 1) if session in right), None)
        # Evidence of several lines is compared without the mark that begins each of them.
        told = text.replace(f"\n{CONTINUED}", "\n")
        asked.append(Asked(question["type"], holds(told, question), rank, place, state, answer.took_ms))
    return asked


def scores(asked: Sequence[Asked], floor: float) -> dict[str, Any]:
    """Return the figures of one set."""
    real = [a for a in asked if a.type != "negative"]
    negative = [a for a in asked if a.type == "negative"]
    low, high = interval([a.has_answer for a in real])
    kinds = sorted({a.type for a in real})
    return {
        "n": len(real),
        "floor": floor,
        "answer": share(a.has_answer for a in real),
        "low": low,
        "high": high,
        **{f"hit@{k}": share(a.rank is not None and a.rank <= k for a in real) for k in (1, 5, 10)},
        "silenced": share(a.state == "nothing" for a in real),
        "hedged": share(a.state == "unsure" for a in real),
        "negatives": len(negative),
        "known": share(a.state == "known" for a in negative),
        "types": {kind: _of_type([a for a in real if a.type == kind]) for kind in kinds},
    }


def _of_type(asked: Sequence[Asked]) -> tuple[int, int, int, int]:
    """Return how many are answered, have their evidence in the first five events, their session in the first five
    sessions, and how many there are."""
    in_five = sum(a.rank is not None and a.rank <= 5 for a in asked)
    sessions = sum(a.session_rank is not None and a.session_rank <= 5 for a in asked)
    return sum(a.has_answer for a in asked), in_five, sessions, len(asked)


def is_within(files: Collection[str], question: Question) -> bool:
    """Return whether one of the files holds evidence of a question; a negative one has none."""
    named = [one["file"] for one in question["evidence"] if "file" in one]
    return not named or any(file in files for file in named)


def share(these: Any) -> float:
    """Return how many are true, 0 to 1."""
    values = list(these)
    return round(sum(values) / max(1, len(values)), 4)


def interval(values: Sequence[bool]) -> tuple[float, float]:
    """Return the bounds that nine of ten draws of the same number of questions fall between."""
    rng = random.Random(0)
    means = sorted(share(rng.choices(values, k=len(values))) for _ in range(_DRAWS)) if values else [0.0]
    return means[len(means) // 20], means[-len(means) // 20 - 1]


def floor_of(judge: ModuleType, at: Places, questions: Sequence[Question]) -> float:
    """Return the share that the plain floor answers."""
    given = {row["id"]: row["text"] for row in judge.floor_answers(str(at.real_corpus), list(questions))}
    return share(judge.holds(given[q["id"]], q) for q in questions if q["type"] != "negative")


def paraphrases(at: Places) -> dict[str, Any]:
    """Ask the generated questions that share no word with their answers, of generated transcripts; returns the share of
    right sessions among the first, by system. The floor: FTS5, any word but stop words, sessions by their best event.
    """
    corpus = corpora.generate(at, megabytes=20, sessions=40, seed=7, arms=True).folder
    truth = json.loads((corpus / "ground_truth.json").read_text("utf-8"))
    asked = {
        q["query"]: {one["session"] for one in q["gold"]}
        for q in truth["questions"]
        if q["arm"] == "paraphrase" and q["kind"] == "no_shared_word"
    }
    found: dict[str, list[int | None]] = {}
    with take_in(at, corpus, is_kept=False) as memory:
        print("answers: vectors of generated transcripts", file=sys.stderr)
        memory.embedding.run()
        floor = sqlite3.connect(":memory:")
        floor.execute("create virtual table d using fts5(uid unindexed, t, tokenize='porter unicode61')")
        for session in memory.sessions(limit=10_000, sync=False).sessions:
            texts = (searchable(event.payload)[1] for event in memory.events(session.session_uid))
            floor.executemany("insert into d values (?, ?)", ((session.session_uid, text) for text in texts if text))

        def plainly(query: str) -> list[str]:
            words = " OR ".join(f'"{w}"' for w in re.findall(r"\w+", query.lower()) if w not in STOP_WORDS)
            return [uid for (uid,) in floor.execute("select uid from d where d match ? order by bm25(d)", (words,))]

        def by_memory(query: str) -> list[str]:
            return [hit.session_uid for hit in memory.search(query, limit=50, sync=False).hits]

        for system, search in (("floor", plainly), ("contextual", by_memory)):
            for query, right in asked.items():
                sessions = [split_session_uid(uid)[1] for uid in dict.fromkeys(search(query))]
                found.setdefault(system, []).append(next((i for i, s in enumerate(sessions, 1) if s in right), None))
        floor.close()
    return {"n": len(asked), "systems": {system: ranked(ranks) for system, ranks in found.items()}}


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Ingest the transcripts, make all vectors, ask every set; returns one section."""
    sys.path.insert(0, str(at.shared / "bench"))
    judge = load_script(at.shared / "bench" / "answer_floor.py")
    sets = sets_of(at)
    corpus = corpora.real_of_every_agent(at)
    figures: dict[str, Any] = {"sets": {}, "ms": {}}
    with take_in(at, corpus, is_kept=getattr(options, "keep", False)) as memory:
        print("answers: vectors", file=sys.stderr)
        memory.embedding.run()
        placed = Judge(memory, corpus, floor_events(load_script(at.shared / "bench" / "recall_floor.py"), at))
        floors = {name: floor_of(judge, at, questions) for name, questions in sets.items()}
        without = Config(embedding=EmbeddingConfig(contextual=False))
        with Memory.open(memory.home, config=without) as words:
            for system, asks in (("static vectors", words), ("contextual", memory)):
                took: list[float] = []
                for name, questions in sets.items():
                    print(f"answers: {system}, {name}", file=sys.stderr)
                    asked = ask(asks, placed, questions, judge.holds)
                    took += [a.took_ms for a in asked]
                    figures["sets"].setdefault(name, {})[system] = scores(asked, floors[name])
                figures["ms"][system] = spread(took)
    figures["paraphrases"] = paraphrases(at)
    return [Section("answers", "Recall: what an agent is given", figures, render(figures))]


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "answer: share of the answerable questions whose evidence stands in one default MCP answer of 4,096 bytes, and "
        "between which bounds it lies in nine of ten draws. e: evidence among the first events. silenced, hedged: of "
        "the answerable. known: negatives answered without a hedge.",
        "",
        "| set | system | n | floor | answer | 90 % | e@1 | e@5 | e@10 | silenced | hedged | negatives | known |",
        "|---|---|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, systems in figures["sets"].items():
        for system, f in systems.items():
            first = f"{f['floor']:.2f} | **{f['answer']:.2f}** | {f['low']:.2f}–{f['high']:.2f}"
            cells = " | ".join(f"{f[k]:.2f}" for k in ("hit@1", "hit@5", "hit@10", "silenced", "hedged"))
            lines.append(f"| {name} | {system} | {f['n']} | {first} | {cells} | {f['negatives']} | {f['known']:.2f} |")
    lines += [
        "", "By type, contextual: how many are answered, have their evidence in the first five events (bars: .60 for "
        "tool_only, .55 for error_fix), their session in the first five (bar: .75 for paraphrase), and how many there "
        "are.",
        "", "| set | type | answered | e@5 | s@5 | n |", "|---|---|--:|--:|--:|--:|",
    ]  # fmt: skip
    for name, systems in figures["sets"].items():
        for kind, counts in systems["contextual"]["types"].items():
            lines.append(f"| {name} | {kind} | {' | '.join(map(str, counts))} |")
    of = figures["paraphrases"]
    lines += [
        "",
        f"{of['n']} generated paraphrases that share no word with their answers (bar: .60 in the first five):",
    ]
    lines += ["", "| system | s@1 | s@5 | s@10 |", "|---|--:|--:|--:|"]
    for system, f in of["systems"].items():
        lines.append(f"| {system} | {f['hit@1']:.2f} | {f['hit@5']:.2f} | {f['hit@10']:.2f} |")
    for system, took in figures["ms"].items():
        lines += ["", f"{system}: p50 {took['p50_ms']:.0f} ms, p95 {took['p95_ms']:.0f} ms a question."]
    lines += ["", *_bars(figures)]
    return "\n".join(lines)


def _bars(figures: dict[str, Any]) -> list[str]:
    """Return each bar beside what was reached, and what bounds those that were missed."""
    of = figures["sets"][JUDGED]["contextual"]
    lines = [
        f"Bars. All rows are of {JUDGED}, except those that name another set. Rounds 9 to 11 looked at {JUDGED} too:",
        "",
    ]
    lines += ["| | reached | bar | |", "|---|--:|--:|---|"]
    missed: list[str] = []

    def row(name: str, reached: float, bar: float, *, most: bool = False, why: str = "") -> None:
        is_met = reached <= bar if most else reached >= bar
        lines.append(
            f"| {name} | {reached:.2f} | {'at most ' if most else ''}{bar:.2f} | {'met' if is_met else 'missed'} |"
        )
        if not is_met:
            missed.append(f"- {name}: {BOUNDS.get(why or name, 'not looked into yet.')}")

    for name, bar in AT_LEAST.items():
        row(name, of[name], bar)
    for kind, (what, bar) in OF_TYPE.items():
        _, events, sessions, n = of["types"][kind]
        row(f"{kind}, {what} in the first five", (events if what == "event" else sessions) / n, bar)
    for name, bar in AT_MOST.items():
        row(name, of[name], bar, most=True)
    for name, systems in figures["sets"].items():
        f = systems["contextual"]
        row(f"answer over the floor, {name}", f["answer"] - f["floor"], OVER_FLOOR, why="over the floor")
    reached = figures["paraphrases"]["systems"]["contextual"]["hit@5"]
    row("generated paraphrases, session in the first five", reached, PARAPHRASED, why="generated paraphrases")
    return [*lines, "", "What bounds the missed ones:", "", *missed] if missed else lines


def main() -> None:
    """Measure and publish."""
    made = parser(__doc__)
    made.add_argument("--keep", action="store_true", help="use the memory of the last run, to compare settings quickly")
    options = made.parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
