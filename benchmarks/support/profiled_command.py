"""One command in a process of its own, which writes down where its processor time goes."""

from __future__ import annotations

import builtins
import importlib
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.support.shares import Shares

_STAGES = (
    ("looking for what changed", "recollect.ingest.sync", "_plan_and_touch"),
    ("looking for what changed", "recollect.ingest.quick_look", "quick_look"),
    ("finding", "recollect.recall.search", "Searcher.search"),
    ("printing", "recollect.cli.results", "show"),
    ("parsing and storing", "recollect.ingest.sync", "_run_all"),
    ("writing the index", "recollect.ingest.batch_writer", "BatchWriter.commit_index"),
    ("writing the index", "recollect.index.text.writer", "IndexWriterSet.close"),
    ("analysing and learning", "recollect.ingest.operations", "_analyse"),
)


def _watch(shares: Shares) -> None:
    """Measure imports, expressions, and stages as soon as their modules are there."""
    waiting = list(_STAGES)

    def noticing(load: Callable[..., Any]) -> Callable[..., Any]:
        measured = shares.measured("importing modules", load)

        def run(*args: Any, **named: Any) -> Any:
            found = measured(*args, **named)
            for stage in [one for one in waiting if one[1] in sys.modules]:
                *owners, name = stage[2].split(".")
                owner: Any = sys.modules[stage[1]]
                for part in owners:
                    owner = getattr(owner, part, None)
                if hasattr(owner, name):  # else it is still being loaded
                    waiting.remove(stage)
                    setattr(owner, name, shares.measured(stage[0], getattr(owner, name)))
            return found

        return run

    builtins.__import__ = noticing(builtins.__import__)
    importlib.import_module = noticing(importlib.import_module)
    compiler: Any = re._compiler  # type: ignore[attr-defined]  # whoever compiles asks it
    compiler.compile = shares.measured("compiling expressions", compiler.compile)


def main() -> None:
    """Arguments: the file to write, as JSON, and the command with its own."""
    written = Path(sys.argv[1])
    shares, began = Shares(), time.process_time()
    _watch(shares)
    from recollect.__main__ import main as program

    sys.argv[1:] = sys.argv[2:]
    program()
    percent = shares.percent()
    spent_ms = round((time.process_time() - began) * 1000)
    written.write_bytes(msgspec.json.encode({"cpu_ms": spent_ms, "modules": len(sys.modules), "percent": percent}))


if __name__ == "__main__":
    main()
