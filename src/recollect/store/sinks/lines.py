"""A file of JSON lines that only grows, together with a small file beside it that says how much of it counts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from recollect.errors import DiskFull, StoreCorrupt, StoreError, StoreLocked
from recollect.files import is_no_room, write_all, write_file
from recollect.store.sinks.contract import Given, Item, Offsets, encode_item, fingerprint, id_of_json, refuse_folder
from recollect.store.sqlite.lock import IngestLock

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class _Mark(msgspec.Struct, frozen=True):
    """What the file beside the lines holds: bytes of the lines that count, and the offsets that belong to them."""

    bytes: int
    offsets: dict[str, int] = {}


class LinesSink:
    """Appends one line an item to `path`; `path`.offsets says how far that went.

    Lines are written and synced first, then the mark is replaced. What stands behind the mark was never finished, so
    opening cuts it off: the file belongs to its sink. One writer at a time; made private to its owner.
    """

    def __init__(self, path: Path) -> None:
        """Open or make the file. Raises StoreLocked while another process writes it, StoreCorrupt for a broken mark,
        StoreError."""
        refuse_folder(path)
        self._path = path
        self._mark_path = path.with_name(path.name + ".offsets")
        self._lock = _locked(path)
        try:
            with _file_errors(path):
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
            try:
                with _file_errors(path):
                    self._mark = self._read_mark()
                    os.ftruncate(self._file, self._mark.bytes)
                    os.lseek(self._file, 0, os.SEEK_END)
            except BaseException:
                os.close(self._file)
                raise
        except BaseException:
            self._lock.release()
            raise

    def offsets(self) -> dict[str, int]:
        """Return what the last whole `write` said, {} for a new file."""
        return dict(self._mark.offsets)

    def given(self) -> dict[str, Given]:
        """Return what was written and not retracted, read from the file; lines of somebody else are passed over."""
        found: dict[str, Given] = {}
        with _file_errors(self._path), self._path.open("rb") as file:
            for line in file:
                data = line.rstrip(b"\n")
                try:
                    value = _decode(data)
                    name = id_of_json(value)
                except (msgspec.MsgspecError, KeyError, TypeError, UnicodeError):
                    continue
                if name is not None and value.get("node") == "retracted":
                    found.pop(name, None)
                elif name is not None:
                    found[name] = (value["session_uid"], fingerprint(data))
        return found

    def write(self, items: Sequence[Item], offsets: Offsets) -> None:
        """Append the items and keep the offsets, or nothing of both. Raises DiskFull, StoreError."""
        data = b"".join(encode_item(item) + b"\n" for item in items)
        mark = _Mark(self._mark.bytes + len(data), {**self._mark.offsets, **offsets})
        with _file_errors(self._path):
            try:
                write_all(self._file, data)
                os.fsync(self._file)
                self._replace_mark(mark)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._mark.bytes)
                    os.lseek(self._file, 0, os.SEEK_END)
                raise
        self._mark = mark

    def close(self) -> None:
        """Close the file. Harmless when done twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._lock.release()

    def _read_mark(self) -> _Mark:
        size = os.fstat(self._file).st_size
        try:
            mark = msgspec.json.decode(self._mark_path.read_bytes(), type=_Mark)
        except FileNotFoundError:
            mark = _Mark(size)  # lines of before are somebody's own: they stay
            self._replace_mark(mark)
            return mark
        except (OSError, ValueError) as error:
            raise StoreCorrupt(
                f"{self._mark_path} cannot be read ({error})", hint="delete it, and all that is in the file counts"
            ) from error
        if mark.bytes > size:
            raise StoreCorrupt(
                f"{self._path} is shorter than what was written to it",
                hint=f"delete it and {self._mark_path.name} to begin anew",
            )
        return mark

    def _replace_mark(self, mark: _Mark) -> None:
        write_file(self._mark_path, msgspec.json.encode(mark), durable=True)


def _locked(path: Path) -> IngestLock:
    try:
        return IngestLock(path.parent, name=path.name + ".lock")
    except StoreLocked as error:
        raise StoreLocked(f"another process is writing to {path}", hint="wait for it, or name another file") from error
    except StoreError as error:
        why = getattr(error.__cause__, "strerror", None) or str(error)
        raise StoreError(f"{path} cannot be written: {why}", hint="name a file in a folder of yours") from error


@contextlib.contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = DiskFull if is_no_room(error) else StoreError
        raise kind(f"{path} cannot be written: {error.strerror}") from error
