"""Project documents: files a second, a pass in which nothing changed, and one in which one file did."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path
from typing import Any

from benchmarks.support.places import REPOSITORY, Places
from benchmarks.support.results import Section
from recollect import Memory
from recollect.config import Config
from recollect.memory import CollectionReport

FILES, QUICK_FILES = 3_000, 200
_SEED = 7


def measure(at: Places, *, is_quick: bool = False) -> Section:
    """Take a folder in, thrice; returns one section."""
    home, folder = at.home("learning-documents"), at.cache / "corpora" / "documents"
    shutil.rmtree(home, ignore_errors=True)
    source_bytes = write_documents(folder, QUICK_FILES if is_quick else FILES)
    with Memory.open(home, config=Config()) as memory:
        memory.sync()
        rows = {"first": _timed(memory, folder), "nothing changed": _timed(memory, folder)}
        (changed, *_) = sorted(folder.rglob("*.md"))
        changed.write_text(changed.read_text("utf-8") + "\n## One more thing\n\nIt is known as zdocument.\n", "utf-8")
        rows["one file changed"] = _timed(memory, folder)
        found = len(memory.search("kind:document zdocument", sync=False).hits)
    shutil.rmtree(home, ignore_errors=True)
    figures = {"mb": round(source_bytes / 1e6, 1), "rows": rows, "changed_found": found}
    shutil.rmtree(folder, ignore_errors=True)
    return Section("learning/documents", "Learning: project documents", figures, render(figures))


def write_documents(folder: Path, count: int) -> int:
    """Write so many files, of the sections of this repository's own pages in another order; return their bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = sorted((REPOSITORY / "docs").rglob("*.md"))
    sections = [part for page in pages for part in page.read_text("utf-8").split("\n## ") if part.strip()]
    chosen = random.Random(_SEED)
    written = 0
    for number in range(count):
        path = folder / f"area{number % 30:02d}" / f"page{number:05d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = chosen.choices(sections, k=chosen.randint(2, 8))
        text = f"# Page {number}\n\n" + "\n\n## ".join(["", *parts]).lstrip()
        path.write_text(text, "utf-8")
        written += len(text.encode())
    return written


def _timed(memory: Memory, folder: Path) -> dict[str, Any]:
    began = time.perf_counter()
    report: CollectionReport = memory.documents.add(folder)
    seconds = time.perf_counter() - began
    files = report.new + report.changed + report.unchanged
    return {
        "seconds": round(seconds, 2),
        "files": files,
        "taken": report.new + report.changed,
        "files_per_second": round(files / seconds),
        "mb_per_second": round(report.bytes / 1e6 / seconds, 1),
        "parts": report.parts,
        "failed": report.failed,
    }


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        f"{figures['mb']} MB of pages, with index. After the last pass a search finds what was added to the one file "
        f"{figures['changed_found']} times.",
        "",
        "| pass | seconds | files | taken | files/s | MB/s |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, row in figures["rows"].items():
        cells = (name, row["seconds"], row["files"], row["taken"], row["files_per_second"], row["mb_per_second"])
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines)
