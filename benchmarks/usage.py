"""Token totals against the ground truth of generated transcripts, with forks, resumes and replays planted."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from typing import Any

from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.places import Places, load_script, parser, places
from benchmarks.support.results import Section, publish
from recollect import Memory
from recollect.model.usage import UsageTotals


def truth(at: Places, corpus: Corpus) -> dict[str, Any]:
    """Return the totals by agent, from the generator's ground truth, else counted by its script."""
    written = corpus.folder / "ground_truth.json"
    if written.is_file():
        tokens: dict[str, Any] = json.loads(written.read_text("utf-8"))["tokens"]
        return tokens
    load_script(at.generator)
    counted: dict[str, Any] = load_script(at.generator.parent / "corpus_arms.py").token_truth(str(corpus.folder))
    return counted


def expected(tokens: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return the ground truth in our terms: cached tokens are never part of the input."""
    claude, codex = tokens["claude"], tokens["codex"]
    return {
        "claude": {
            "responses": claude["messages"],
            "input_tokens": claude["input_tokens"],
            "output_tokens": claude["output_tokens"],
            "cache_read_tokens": claude["cache_read_input_tokens"],
            "cache_write_tokens": claude["cache_creation_input_tokens"],
        },
        "codex": {
            "responses": codex["token_counts"],
            "input_tokens": codex["input_tokens"] - codex["cached_input_tokens"],
            "output_tokens": codex["output_tokens"],
            "cache_read_tokens": codex["cached_input_tokens"],
            "cache_write_tokens": 0,
        },
    }


def counted(totals: UsageTotals) -> dict[str, int]:
    """Return one agent's totals as the memory has them."""
    return {
        "responses": totals.responses,
        "input_tokens": totals.input_tokens,
        "output_tokens": totals.output_tokens,
        "cache_read_tokens": totals.cache_read_tokens,
        "cache_write_tokens": totals.cache_write_5m_tokens + totals.cache_write_1h_tokens,
    }


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Compare every corpus; returns one section for each."""
    chosen = [corpora.generated(folder.resolve()) for folder in options.corpus]
    chosen = chosen or [corpora.generate(at, megabytes=20, sessions=40, seed=7, arms=True)]
    sections = []
    for corpus in chosen:
        print(f"usage: {corpus.name}", file=sys.stderr)
        home = at.home(f"usage-{corpus.folder.name}")
        shutil.rmtree(home, ignore_errors=True)
        with Memory.open(home, config=corpus.config()) as memory:
            memory.sync()
            report = memory.usage.report(by="agent")
        want = expected(truth(at, corpus))
        got = {row.key: counted(row.totals) for row in report.rows}
        figures = {"expected": want, "counted": got, "is_exact": all(got.get(a) == w for a, w in want.items())}
        sections.append(Section(f"usage/{corpus.name}", f"Usage: {corpus.name}", figures, render(figures)))
        shutil.rmtree(home, ignore_errors=True)
    return sections


def render(figures: dict[str, Any]) -> str:
    """Return one corpus's totals as Markdown."""
    lines = ["| agent | figure | ground truth | counted | difference |", "|---|---|--:|--:|--:|"]
    for agent, want in figures["expected"].items():
        got = figures["counted"].get(agent, {})
        lines += [f"| {agent} | {k} | {n:,} | {got.get(k, 0):,} | {got.get(k, 0) - n:+,} |" for k, n in want.items()]
    lines += ["", "Exact." if figures["is_exact"] else "Not exact."]
    return "\n".join(lines)


def main() -> None:
    """Measure and publish."""
    options = parser(__doc__).parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
