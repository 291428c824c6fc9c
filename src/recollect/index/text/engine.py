"""Opens, creates and sets aside shards, and translates the engine's errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recollect.errors import BrokenInvariant, IndexUnavailable
from recollect.files import DRAFT_SUFFIX, move, remove_folder, write_file
from recollect.index.text.schema import FORMAT_VERSION, register_analyzers, schema
from recollect.paths import make_private

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    import tantivy


Stamp = tuple[int, int, int]
HEAPS = 2
LARGE_BYTES = 1024 * 1024
"""From here on a piece of memory is the system's again as soon as it is free."""
SPARE_BYTES = 8 * 1024 * 1024
"""What may be free at the end of a heap."""

_FORMAT_FILE = "format"
META = "meta.json"
_MAKING_FILE = "making"
"""Names the shards that are being made whole, as long as they are."""
_SET_ASIDE = ".damaged"
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_FOREIGN = (ValueError, OSError, RuntimeError, SystemError)


class DamagedShard(IndexUnavailable):
    """One shard cannot be used; the others can. shard: its name."""

    def __init__(self, message: str, *, shard: str) -> None:
        super().__init__(message, hint="run `recollect rebuild index`")
        self.shard = shard


@contextmanager
def engine_errors(doing: str, shard: str) -> Iterator[None]:
    """Turn whatever the engine raises inside the block into DamagedShard, a Rust panic included.

    A panic arrives as `pyo3_runtime.PanicException`, which no `except Exception` would catch and no module exports.
    """
    try:
        yield
    except (IndexUnavailable, BrokenInvariant):
        raise
    except BaseException as error:
        if not isinstance(error, _FOREIGN) and type(error).__name__ != "PanicException":
            raise
        raise DamagedShard(
            f"the search index cannot be used ({doing} {shard}: {error})",
            shard=shard,
        ) from error


def shard_names(folder: Path) -> list[str]:
    """Return the shards that exist under the folder, in order."""
    return list(shard_stamps(folder))


def shard_stamps(folder: Path) -> dict[str, Stamp]:
    """Return the shards that exist under the folder, in order, each with what tells its last commit from others."""
    stamps: dict[str, Stamp] = {}
    with suppress(OSError):
        for name in sorted(os.listdir(folder)):
            if name.endswith(_SET_ASIDE):
                continue
            with suppress(OSError):
                status = os.stat(f"{folder}/{name}/{META}")
                stamps[name] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return stamps


def check_format(folder: Path) -> bool:
    """Return whether this version's schema made the folder's shards. An empty folder is fine."""
    return _is_current(folder) or (not (folder / _FORMAT_FILE).is_file() and not shard_names(folder))


def prepare_folder(folder: Path) -> list[str]:
    """Make the folder ready for writing; return the shards removed because another version made them."""
    make_private(folder)  # the engine itself makes files that others may read
    removed: list[str] = []
    if not check_format(folder):
        removed = shard_names(folder)
        for name in removed:
            remove_folder(folder / name, ignore_errors=True)
    if not _is_current(folder):
        write_file(folder / _FORMAT_FILE, FORMAT_VERSION.encode(), durable=False)
    return removed


def _is_current(folder: Path) -> bool:
    try:
        return (folder / _FORMAT_FILE).read_text("utf-8").strip() == FORMAT_VERSION
    except OSError:
        return False


def note_making(folder: Path, names: Iterable[str]) -> None:
    """Note, durably, that shards are about to be made whole. Raises IndexUnavailable."""
    with engine_errors("noting", _MAKING_FILE):
        write_file(folder / _MAKING_FILE, "\n".join(sorted(names)).encode(), durable=True)


def note_made(folder: Path) -> None:
    """Note that they are whole and committed. Raises IndexUnavailable."""
    with engine_errors("noting", _MAKING_FILE):
        (folder / _MAKING_FILE).unlink(missing_ok=True)


def remove_half_made(folder: Path) -> list[str]:
    """Remove the shards that were being made when a process ended, and return their names. The note stays: until they
    are made, they are still to be."""
    try:
        names = (folder / _MAKING_FILE).read_text("utf-8").split()
    except FileNotFoundError:
        return []
    for name in set(names).intersection(shard_names(folder)):
        remove_folder(folder / name, ignore_errors=True)
    return names


def open_shard(path: Path) -> tantivy.Index:
    """Open an existing shard.

    Raises:
        IndexUnavailable: it is missing or damaged.
    """
    import tantivy

    with engine_errors("opening", path.name):
        index = tantivy.Index.open(str(path))
        register_analyzers(index)
        index.searcher()  # a damaged segment shows here, not at the first question
        return index


def open_unwritable(path: Path) -> tuple[tantivy.Index, TemporaryDirectory[str]]:
    """Open a shard in a read-only folder; return it with an object that must live as long.

    The engine wants to create a lock file beside the files it reads. So it reads from a folder of links to them; on
    systems without links, of copies. Raises IndexUnavailable.
    """
    from shutil import copyfile
    from tempfile import TemporaryDirectory

    with engine_errors("opening", path.name):
        folder = TemporaryDirectory(prefix="recollect-", ignore_cleanup_errors=True)
        for file in path.iterdir():
            if not file.is_file() or file.suffix in (".lock", ".txt", ".new", ".tmp", DRAFT_SUFFIX):
                continue
            mirrored = os.path.join(folder.name, file.name)
            try:
                os.symlink(file.absolute(), mirrored)
            except OSError:
                copyfile(file, mirrored)
        return open_shard(Path(folder.name)), folder


def make_shard(path: Path) -> tantivy.Index:
    """Make a new, empty shard.

    Raises:
        IndexUnavailable: the folder cannot be written.
    """
    import tantivy

    with engine_errors("making", path.name):
        make_private(path)
        index = tantivy.Index(schema(), path=str(path), reuse=False)
        register_analyzers(index)
        return index


def dead_share(path: Path) -> float:
    """Return how much of a shard's documents was deleted and still takes room, 0 to 1; 0 where that cannot be read.

    The engine drops them only when it merges their segment. Source: `meta.json` of tantivy, which names for each
    segment its documents and how many of them are deleted.
    """
    try:
        segments = msgspec.json.decode((path / META).read_bytes())["segments"]
        documents = sum(segment["max_doc"] for segment in segments)
        dead = sum((segment.get("deletes") or {}).get("num_deleted_docs", 0) for segment in segments)
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0
    return dead / documents if documents else 0.0


def set_aside(path: Path) -> None:
    """Rename a damaged shard out of the way; of earlier ones only the newest is kept."""
    target = path.with_name(path.name + _SET_ASIDE)
    remove_folder(target, ignore_errors=True)
    with engine_errors("setting aside", path.name):
        move(path, target, durable=False)


def bound_heaps() -> None:
    """Let all threads of this process share two heaps, and keep large pieces out of these.

    Each of the engine's threads would get a heap of its own, and none ever shrinks; answers of workers are made in one
    thread, taken apart in another and freed in the engine's. And glibc takes a large piece that is freed for a sign of
    more to come and has the next ones, up to 32 MB each, in the heap, where what stays behind them keeps their room:
    after 2 GB 100 MB of 195 were free and still the process's. Saying a threshold ends that (mallopt(3)).
    """
    _tell_allocator("mallopt", _M_ARENA_MAX, HEAPS)
    _tell_allocator("mallopt", _M_MMAP_THRESHOLD, LARGE_BYTES)
    _tell_allocator("mallopt", _M_TRIM_THRESHOLD, SPARE_BYTES)


def give_back_memory() -> None:
    """Return the memory that the engine freed to the system.

    The C library keeps it: after ingesting 500 MB it kept 64 of 128 MB, and later stages (analysis, learning) would add
    to that.
    """
    _tell_allocator("malloc_trim", 0)


def _tell_allocator(call: str, *numbers: int) -> None:
    """Call a function of glibc; nothing happens where there is none (macOS, Windows, musl)."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            getattr(ctypes.CDLL(None), call)(*numbers)
