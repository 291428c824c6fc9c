"""What a receiver of ours spooled lies in plain text; once the archive has it, it goes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from recollect.agents.base import Adapter
from recollect.erasure.schedule import doubt
from recollect.ingest.spooled_events.files import hooks_folder
from recollect.model.time import day_of
from recollect.paths import spool_dir
from recollect.store.home import Home
from recollect.store.reader import Reader

_DAY_US = 86_400_000_000


def clear_spool(home: Home, reader: Reader, adapters: Iterable[Adapter], env: Mapping[str, str], *, now_us: int) -> int:
    """Delete the spool's files that were ingested whole; return how many.

    Files are named by their day. Those of the last two days stay, because they may still grow, unless a later part
    of the same day exists. All stay while the clock cannot be believed.
    """
    kept_from = day_of(now_us - _DAY_US)
    if doubt(home.folder, now_us=now_us):
        return 0
    count = 0
    for adapter in adapters:
        spools = [spool_dir(name, env) for name in adapter.facts.spools]
        if adapter.facts.hooks is not None:
            spools.append(Path(hooks_folder(str(home.spool), adapter.facts.slug)))
        folders = tuple(f"{folder}{os.sep}" for folder in spools)
        for row in reader.sources(adapter.facts.slug) if folders else ():
            if row.status != "active" or not row.path.startswith(folders) or _may_grow(Path(row.path), kept_from):
                continue
            try:
                is_whole = os.stat(row.path).st_size == row.size == row.committed_bytes
                if is_whole:
                    os.unlink(row.path)
                    count += 1
            except OSError:
                continue  # gone, or not ours to delete: nothing is lost by leaving it
    return count


def part_path(folder: Path, day: str, part: int) -> Path:
    """Return a file of a receiver's spool: the first of a day is `DAY.jsonl`, the next one `DAY.2.jsonl`."""
    return folder / (f"{day}.{part}.jsonl" if part > 1 else f"{day}.jsonl")


def part_of(name: str) -> int:
    """Return which part of its day a file of a receiver's spool is."""
    part = name.split(".")[1]
    return int(part) if part.isdecimal() else 1


def _may_grow(path: Path, kept_from: str) -> bool:
    day = path.name.partition(".")[0]
    return day >= kept_from and not part_path(path.parent, day, part_of(path.name) + 1).exists()
