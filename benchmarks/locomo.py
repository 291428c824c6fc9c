"""How well turns of long conversations are found: LoCoMo (dev: conversations 1-5), beside plain full-text search.

Every conversation is a repository of one memory, taken in as a described agent's sessions; a turn is one event, its
text `Speaker: text [image: caption]`. A question is confined to its conversation. The floor is SQLite FTS5 (porter, any
word but stop words) over the same turns, in the same run. The conversations (CC BY-NC 4.0) serve evaluation only:
nothing of them is kept in the repository, and results hold figures only.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.measuring import percentile
from benchmarks.support.places import Places, load_script, parser, places
from benchmarks.support.results import Section, publish
from benchmarks.support.systems import systems
from recollect import Memory
from recollect.config import AgentConfig, Config, FormatConfig

DEPTH = 50
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
BARS = {"turn R@10": 0.76, "session hit@5": 0.93}
"""Of questions that are not confined to their conversation."""
Search = Callable[[str, int], list[str]]
"""Takes a question of one conversation and a number of hits; returns the ids of turns, best first."""


class Asked(NamedTuple):
    """What one question gave. ranks: of each evidence turn, None where it was not found; likewise of sessions."""

    category: int
    ranks: tuple[int | None, ...]
    session_ranks: tuple[int | None, ...]
    took_ms: float


def conversations(at: Places) -> list[dict[str, Any]]:
    """Return the conversations of the benchmark. Raises FileNotFoundError."""
    path = at.shared / "bench" / "locomo-dev.json"
    if not path.is_file():
        raise FileNotFoundError(f"no {path}; name the folder with --shared")
    loaded: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["conversations"]
    return loaded


def text_of(turn: dict[str, Any]) -> str:
    """Return a turn as it is taken in and as the floor reads it."""
    picture = f" [image: {turn['caption']}]" if turn.get("caption") else ""
    return f"{turn['speaker']}: {turn['text']}{picture}"


def take_in(at: Places, conversations_: Sequence[dict[str, Any]], *, is_kept: bool) -> Memory:
    """Return a memory of all conversations; `is_kept`: the one of an earlier run, if there is one."""
    corpus, home = at.cache / "corpora" / "locomo", at.home("locomo")
    shape = FormatConfig(name="Conversation", id="id", skip=("id",), user_roles=("user",))
    config = Config(agents={"conversation": AgentConfig(roots=(str(corpus),), format=shape)})
    if is_kept and home.is_dir():
        return Memory.open(home, config=config)
    for folder in (corpus, home):
        shutil.rmtree(folder, ignore_errors=True)
    for conversation in conversations_:
        for session in conversation["sessions"]:
            _write(corpus / f"{conversation['id']}-session-{session['n']}.jsonl", conversation["id"], session)
    memory = Memory.open(home, config=config)
    memory.sync(agents=("conversation",))
    return memory


def _write(path: Path, conversation: str, session: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    start = datetime.strptime(session["date_time"], "%I:%M %p on %d %B, %Y")
    lines = []
    for number, turn in enumerate(session["turns"]):
        record = {
            "id": turn["id"],
            "role": "user",
            "content": text_of(turn),
            "timestamp": (start + timedelta(seconds=20 * number)).isoformat() + "Z",
            "cwd": f"/conversations/{conversation}",
        }
        lines.append(json.dumps(record) + "\n")
    path.write_text("".join(lines), "utf-8", newline="\n")


def ask(conversation: dict[str, Any], search: Search) -> list[Asked]:
    """Ask every question that has evidence."""
    asked = []
    for question in conversation["questions"]:
        if not question["evidence"]:
            continue
        started = time.perf_counter()
        found = search(question["question"], DEPTH)
        took_ms = (time.perf_counter() - started) * 1e3
        sessions = list(dict.fromkeys(map(_session, found)))
        wanted = list(dict.fromkeys(map(_session, question["evidence"])))
        asked.append(Asked(
            question["category"],
            tuple(_rank(found, turn) for turn in question["evidence"]),
            tuple(_rank(sessions, session) for session in wanted),
            took_ms,
        ))  # fmt: skip
    return asked


def _session(turn: str) -> str:
    return turn.split(":", 1)[0]


def _rank(found: Sequence[str], wanted: str) -> int | None:
    return found.index(wanted) + 1 if wanted in found else None


def scores(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return turn hit@1/5/10, turn R@5/10, session hit@1/5, session R@5, both MRR, and milliseconds a question."""
    n = max(1, len(asked))

    def recall(ranks: tuple[int | None, ...], k: int) -> float:
        return sum(1 for r in ranks if r and r <= k) / len(ranks)

    def first(ranks: tuple[int | None, ...]) -> int | None:
        return min((r for r in ranks if r), default=None)

    turns, sessions = [first(a.ranks) for a in asked], [first(a.session_ranks) for a in asked]
    figures: dict[str, Any] = {"n": len(asked)}
    figures |= {f"turn hit@{k}": sum(1 for r in turns if r and r <= k) / n for k in (1, 5, 10)}
    figures |= {f"turn R@{k}": sum(recall(a.ranks, k) for a in asked) / n for k in (5, 10)}
    figures["turn MRR"] = sum(1 / r for r in turns if r) / n
    figures |= {f"session hit@{k}": sum(1 for r in sessions if r and r <= k) / n for k in (1, 5)}
    figures["session R@5"] = sum(recall(a.session_ranks, 5) for a in asked) / n
    figures["session MRR"] = sum(1 / r for r in sessions if r) / n
    took = sorted(a.took_ms for a in asked)
    figures |= {f"p{p} ms": percentile(took, p / 100) for p in (50, 95)}
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in figures.items()}


def by_category(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return the scores by category and over all."""
    groups = {f"{i} {name}": [a for a in asked if a.category == i] for i, name in CATEGORIES.items()}
    return {name: scores(group) for name, group in (*groups.items(), ("all", list(asked)))}


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Take in the conversations, ask, compute the floor; returns one section."""
    asked_of = conversations(at)
    floor = load_script(at.shared / "bench" / "recall_floor.py")
    figures: dict[str, Any] = {"systems": {}}
    rows: list[Asked] = []
    for conversation in asked_of:
        turns = [turn for session in conversation["sessions"] for turn in session["turns"]]
        rows += ask(conversation, _among(turns, floor.Fts([{"text": text_of(turn)} for turn in turns], True)))
    figures["systems"]["FTS5, any word but stop words"] = by_category(rows)
    with take_in(at, asked_of, is_kept=getattr(options, "keep", False)) as memory:
        for system in systems(memory):
            print(f"locomo: {system.name}", file=sys.stderr)
            rows = []
            for conversation in asked_of:
                rows += ask(conversation, _confined(system.search, conversation["id"]))
            figures["systems"][system.name] = by_category(rows)
        rows = []
        for conversation in asked_of:
            rows += ask(conversation, _anywhere(system.search, conversation["id"]))
        figures["systems"][f"{system.name}, not confined"] = by_category(rows)
    best = list(figures["systems"].values())[-1]["all"]
    figures["verdict"] = {**{k: best[k] for k in BARS}, "met": all(best[k] >= bar for k, bar in BARS.items())}
    return [Section("locomo/dev", "Recall: turns of long conversations (LoCoMo)", figures, render(figures))]


def _among(turns: Sequence[dict[str, Any]], search: Callable[[str, int], list[tuple[int, float]]]) -> Search:
    return lambda question, limit: [turns[place]["id"] for place, _ in search(question, limit)]


def _confined(search: Callable[[str, int], Any], conversation: str) -> Search:
    return lambda question, limit: [
        hit.event_id for hit in search(f"repo:{conversation} {_plain(question)}", limit).hits
    ]


def _anywhere(search: Callable[[str, int], Any], conversation: str) -> Search:
    """Turns of other conversations have the same ids, and are wrong."""
    return lambda question, limit: [
        hit.event_id if hit.repo == conversation else f"elsewhere {hit.session_uid}:{hit.event_id}"
        for hit in search(_plain(question), limit).hits
    ]


def _plain(question: str) -> str:
    """A question is prose: nothing of it is meant as syntax of the query language."""
    return re.sub(r"[\"*/+:]|(?<!\w)-", " ", question)


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    names = [k for k in next(iter(figures["systems"].values()))["all"] if k != "n"]
    lines = [
        f"{next(iter(figures['systems'].values()))['all']['n']} questions with evidence; each is confined to its "
        f"conversation but where that is said, {DEPTH} results are asked for. R = share of the evidence among "
        "the first k.",
        "",
        f"| system | {' | '.join(names)} |",
        f"|---|{'--:|' * len(names)}",
    ]
    for name, groups in figures["systems"].items():
        lines.append(f"| {name} | {' | '.join(_cell(k, groups['all'][k]) for k in names)} |")
    kinds = [k for k in next(iter(figures["systems"].values())) if k != "all"]
    lines += ["", "Turn R@10 by category:", "", f"| system | {' | '.join(kinds)} |", f"|---|{'--:|' * len(kinds)}"]
    for name, groups in figures["systems"].items():
        lines.append(f"| {name} | {' | '.join(_cell('', groups[k]['turn R@10']) for k in kinds)} |")
    bars = ", ".join(f"{k} at least {bar:.2f}" for k, bar in BARS.items())
    lines += ["", f"Bars: {bars}. {'Met.' if figures['verdict']['met'] else 'Missed.'}"]
    return "\n".join(lines)


def _cell(name: str, value: float) -> str:
    return f"{value:.1f}" if name.endswith("ms") else f"{value:.3f}"


def main() -> None:
    """Measure and publish."""
    made = parser(__doc__)
    made.add_argument("--keep", action="store_true", help="use the memory of the last run, to compare settings quickly")
    options = made.parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
