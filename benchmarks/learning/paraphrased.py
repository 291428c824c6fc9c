"""Questions about this project's own pages, worded as the pages are not: how often the page that answers is found, by
words alone and with vectors.

The questions were written for this, with the pages' headings and beginnings in view, before any was asked. Those of the
half `tune` were looked at while pieces of documents were cut for their vectors; those of `unseen` were only counted.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.places import REPOSITORY, Places
from benchmarks.support.results import Section
from recollect import Memory
from recollect.config import Config
from recollect.index.text.shards import TextIndex
from recollect.memory import SearchAnswer
from recollect.recall.search import Searcher
from recollect.recall.vector_search import VectorSearch

QUESTIONS = Path(__file__).with_name("pages.ndjson")
COLLECTION = "pages"
HALVES = ("tune", "unseen")
QUICK_QUESTIONS = 10


class Question(NamedTuple):
    """A question, the half that it is of, and the pages of `docs/` of which each answers it."""

    half: str
    question: str
    pages: tuple[str, ...]


def questions() -> list[Question]:
    """Return all of them."""
    lines = map(json.loads, QUESTIONS.read_text("utf-8").splitlines())
    return [Question(line["half"], line["question"], tuple(line["pages"])) for line in lines]


def measure(at: Places, *, is_quick: bool = False) -> Section:
    """Take the pages in and ask; returns one section."""
    home = at.home("learning-paraphrased")
    shutil.rmtree(home, ignore_errors=True)
    asked = questions()[:: len(questions()) // QUICK_QUESTIONS] if is_quick else questions()
    with Memory.open(home, config=Config()) as memory:
        memory.sync()
        memory.documents.add(REPOSITORY / "docs", collection=COLLECTION)
        memory.search("pages")  # the index takes them in
        began = time.process_time()
        report = memory.embedding.run()
        seconds = time.process_time() - began
        systems = {
            "words": _searcher(memory, None),
            "words and vectors": _searcher(memory, VectorSearch(memory.embedding.index, memory.embedding.entries)),
        }
        rows = {
            name: {half: _found(searcher, [q for q in asked if q.half == half]) for half in HALVES}
            for name, searcher in systems.items()
        }
    shutil.rmtree(home, ignore_errors=True)
    figures = {
        "pages": report.entries_total, "vectors": report.chunks, "chars": report.chars,
        "cpu_seconds": round(seconds, 2), "questions": {half: sum(q.half == half for q in asked) for half in HALVES},
        "rows": rows,
    }  # fmt: skip
    return Section("learning/paraphrased", "Learning: pages found by other words", figures, render(figures))


def _searcher(memory: Memory, meaning: VectorSearch | None) -> Searcher:
    return Searcher(TextIndex.open(memory.home / "index" / "text"), memory.reader(), meaning=meaning)


def _found(searcher: Searcher, asked: Sequence[Question]) -> dict[str, float]:
    """Return the shares of questions whose page is the first hit's, is among the first five, and that were told that
    nothing is stored."""
    first = five = nothing = 0
    for one in asked:
        answer = searcher.search(f"kind:document {one.question}", limit=5, now_us=time.time_ns() // 1000)
        wanted = {f"document:{COLLECTION}/{page}" for page in one.pages}
        found = _uids(answer)
        first += bool(found) and found[0] in wanted
        five += not wanted.isdisjoint(found)
        nothing += answer.abstained
    return {name: round(n / max(1, len(asked)), 2) for name, n in (("first", first), ("five", five), ("none", nothing))}


def _uids(answer: SearchAnswer) -> list[str]:
    return [hit.session_uid for hit in answer.hits]


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    counts = ", ".join(f"{count} {half}" for half, count in figures["questions"].items())
    lines = [
        f"{figures['pages']} documents of `docs/`, {figures['vectors']:,} vectors of {figures['chars']:,} characters "
        f"in {figures['cpu_seconds']} s of processor time. Questions: {counts}.",
        "",
        "| searched by | half | page is the first hit's | among the first five | told that nothing is stored |",
        "|---|---|--:|--:|--:|",
    ]
    for name, halves in figures["rows"].items():
        for half, row in halves.items():
            lines.append(f"| {name} | {half} | {row['first']} | {row['five']} | {row['none']} |")
    return "\n".join(lines)
