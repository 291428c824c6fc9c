"""Results: kept as JSON by section, shown as Markdown. A script that runs alone replaces only its own sections."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.measuring import machine

JSON_FILE = Path(__file__).parents[1] / "results.json"
PAGE = Path(__file__).parents[1] / "results.md"
ORDER = (
    "ingest", "peers", "search", "pages", "answers", "recall", "locomo", "context", "tokens", "vectors", "usage",
    "adapters", "hooks", "mcp", "live", "clients", "distill_scored", "learning_scored", "distill_quality",
    "distill_outcomes", "distill_bindings", "distill_speed", "learning_quality", "learning", "privacy", "upkeep",
    "team", "team_import", "soak",
)  # fmt: skip


class Section(NamedTuple):
    """The figures of one script on one corpus. `key` is stable: `script/corpus`."""

    key: str
    title: str
    figures: dict[str, Any]
    text: str


def publish(sections: Sequence[Section], *, dry: bool) -> None:
    """Print the sections, and put them into results.json and results.md unless `dry`."""
    for section in sections:
        print(f"## {section.title}\n\n{section.text}\n")
    if dry or not sections:
        return
    kept: dict[str, Any] = json.loads(JSON_FILE.read_text("utf-8")) if JSON_FILE.is_file() else {}
    measured_on, where = datetime.now(UTC).strftime("%Y-%m-%d"), machine()
    for section in sections:
        kept[section.key] = {
            "title": section.title,
            "measured_on": measured_on,
            "machine": where,
            "figures": section.figures,
            "text": section.text,
        }
    kept = dict(sorted(kept.items(), key=lambda item: (ORDER.index(item[0].split("/")[0]), item[0])))
    JSON_FILE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8", newline="\n")
    PAGE.write_text(page(kept), "utf-8", newline="\n")


def page(kept: dict[str, Any]) -> str:
    """Return results.md."""
    lines = ["# Benchmark results", "", "Written by `make bench`; how each figure is taken: [README](README.md).", ""]
    for entry in kept.values():
        where = entry["machine"]
        lines += [
            f"## {entry['title']}",
            "",
            f"{entry['measured_on']}, {where['cores']} cores of {where['cpu']}, {where['system']}, "
            f"Python {where['python']}.",
            "",
            entry["text"],
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"
