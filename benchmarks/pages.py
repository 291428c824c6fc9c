"""The web page in a real browser: first paint of every view, results after a keystroke, what a page weighs.

The memory of generated transcripts that `ingest` left in the cache is served by `recollect ui` in a process of its own.
Needs a Chromium on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from benchmarks.search import measured_memory
from benchmarks.support import corpora
from benchmarks.support.corpora import Corpus
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from recollect.config import config_toml

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROUNDS = 5
PATHS = {
    "search": "/?q=deadlock+timeout", "sessions": "/sessions", "session": "", "usage, a year": "/usage?period=1y",
    "usage, a year by model": "/usage?period=1y&by=model", "activity, a year": "/activity?period=1y",
    "decisions": "/decisions", "files": "/blame", "errors": "/errors", "retrospective": "/retro",
    "learned": "/learnings", "to do": "/actions", "facts": "/facts", "diary": "/diary", "documents": "/documents",
    "health": "/health", "checks": "/health/checks", "ingest": "/health/ingest", "storage": "/health/storage",
    "secrets": "/health/secrets", "settings": "/settings", "agents": "/settings/agents",
}  # fmt: skip
"""By view; the session is the longest of the memory."""
LATER = ("errors", "retrospective", "checks", "agents")
"""Views that ask for their content when they are there: when that has come is told too."""
PAINT_MS, SESSION_MS = 300, 150
"""Bars of the first paint, in milliseconds after the request."""
TYPED_MS = 60
WEIGHT_KB = 300
WORDS = ("deadlock", "timeout", "quorum", "terraform")
_PAINT = """() => new Promise(done => {
  const told = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
  const wait = () => told() === undefined ? setTimeout(wait, 5) : done(told());
  wait();
})"""
_TYPED = """word => new Promise(done => {
  const input = document.getElementById('q'), results = document.getElementById('results');
  const watcher = new MutationObserver(() => { watcher.disconnect(); done(performance.now() - began); });
  watcher.observe(results, {childList: true});
  input.value = word;
  const began = performance.now();
  input.dispatchEvent(new Event('input'));
})"""
_WEIGHT = """() => performance.getEntriesByType('navigation').concat(performance.getEntriesByType('resource'))
  .reduce((sum, one) => sum + one.decodedBodySize, 0)"""


_CONTENT = """() => new Promise(done => {
  const wait = () => document.querySelector('[data-more]') ? setTimeout(wait, 5) : done(performance.now());
  wait();
})"""


@contextmanager
def served(home: Path) -> Iterator[str]:
    """Serve the page of a home; yields its address with the token."""
    env = {**os.environ, "RECOLLECT_HOME": str(home)}
    command = [sys.executable, "-m", "recollect", "ui", "--no-open", "--json"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        yield str(json.loads(server.stdout.readline())["url"])
        server.send_signal(signal.SIGTERM)


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every generated corpus; returns one section for each."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise FileNotFoundError("no Chromium on this machine")
    sections = []
    for corpus in corpora.standard(at, options.corpus):
        print(f"pages: {corpus.name}", file=sys.stderr)
        home, session = prepared(at, corpus)
        with served(home) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            figures = timed(browser.new_page(), address, session)
            browser.close()
        sections.append(Section(f"pages/{corpus.name}", f"The web page: {corpus.name}", figures, render(figures)))
    return sections


def prepared(at: Places, corpus: Corpus) -> tuple[Path, str]:
    """Return the home of a corpus, up to date, and its longest session."""
    with measured_memory(at, corpus) as memory:
        longest = max(memory.sessions(limit=5_000, sync=False).sessions, key=lambda session: session.event_count)
        (memory.home / "config.toml").write_text(config_toml(corpus.config()), "utf-8")
        return memory.home, longest.session_uid


def timed(page: Page, address: str, session: str) -> dict[str, Any]:
    """Open every view and type words; the first time of each is not counted."""
    page.goto(address)
    base = address.partition("/?token=")[0]
    views: dict[str, Any] = {}
    for name, path in PATHS.items():
        paints, contents = [], []
        for _ in range(ROUNDS + 1):
            page.goto(base + (path or f"/session/{quote(session)}"))
            paints.append(float(page.evaluate(_PAINT)))
            if name in LATER:
                contents.append(float(page.evaluate(_CONTENT)))
        weight = round(float(page.evaluate(_WEIGHT)) / 1000, 1)
        views[name] = {"paint_ms": round(median(paints[1:]), 1), "max_ms": round(max(paints[1:]), 1), "kb": weight}
        if contents:
            views[name]["content_ms"] = round(median(contents[1:]), 1)
    page.goto(f"{base}/")
    typed = [float(page.evaluate(_TYPED, word)) for _ in range(ROUNDS) for word in WORDS][len(WORDS) :]
    return {"views": views, "typed_ms": round(median(typed), 1), "typed_max_ms": round(max(typed), 1)}


def render(figures: dict[str, Any]) -> str:
    """Return one corpus's figures as Markdown."""
    lines = ["| view | first paint ms (median, most) | bar | content ms | KB |", "|---|--:|--:|--:|--:|"]
    for name, view in figures["views"].items():
        bar = SESSION_MS if name == "session" else PAINT_MS
        content = view.get("content_ms", "")
        lines.append(f"| {name} | {view['paint_ms']}, {view['max_ms']} | {bar} | {content} | {view['kb']} |")
    typed = f"{figures['typed_ms']} ms, at most {figures['typed_max_ms']} ms"
    lines += [
        "",
        f"Results after the last keystroke, the pause before the request included: {typed} (bar {TYPED_MS} ms).",
    ]
    lines += [f"A page may weigh {WEIGHT_KB} KB."]
    return "\n".join(lines)


def main() -> None:
    """Measure and publish."""
    options = parser(__doc__).parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
