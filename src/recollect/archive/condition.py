"""The archive's known condition: damaged chunks, the last known packs, and the progress of sampling.

`archive/condition.json` is a note and no truth: where it is lost or damaged, all that it says is found out again.
A damaged chunk is remembered by its name and its place: the same name at another place is another copy of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from recollect.archive.chunks import ChunkPlace
from recollect.archive.packs import pack_numbers, pack_path
from recollect.files import write_file

NAME = "condition.json"
JOURNAL = 0
"""The journal among packs, which are numbered from 1."""
FORMAT = 1


class _Note(msgspec.Struct):
    """The file. damaged: name in hex, pack, offset, length, plain. packs: number to size and time of its last change;
    the journal is number 0.

    position: the number of the chunk that a sample looked at last. change: how far the change log of the database was.
    highest: the highest number that a pack ever had.
    """

    format: int = FORMAT
    damaged: list[tuple[str, int, int, int, int]] = []
    packs: dict[int, tuple[int, int]] = {}
    position: int = 0
    change: int = 0
    highest: int = 0


class Condition:
    """The note of one archive. Reading it never fails. Writing is left out where the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._packs = folder / "packs"
        self._stamp: tuple[int, int, int] | None = None
        self._note = _Note()

    @property
    def damaged(self) -> frozenset[ChunkPlace]:
        """Chunks that did not open, with their place at that time."""
        return frozenset(
            ChunkPlace(bytes.fromhex(name), pack, offset, length, plain)
            for name, pack, offset, length, plain in self._read().damaged
        )

    @property
    def position(self) -> int:
        """Where the next sample begins."""
        return self._read().position

    def set_damaged(self, *, add: Iterable[ChunkPlace] = (), remove: Iterable[ChunkPlace] = ()) -> None:
        """Remember chunks as damaged, or as sound again."""
        before = self.damaged
        after = (before | set(add)) - set(remove)
        if after != before:
            named = sorted((p.name.hex(), p.pack, p.offset, p.length, p.plain) for p in after)
            self._write(msgspec.structs.replace(self._read(), damaged=named))

    def set_position(self, position: int) -> None:
        """Remember how far a sample came."""
        if position != self._read().position:
            self._write(msgspec.structs.replace(self._read(), position=position), is_durable=False)

    @property
    def change(self) -> int:
        """How far the database's change log was when a sync ended: one that is not so far is an older copy."""
        return self._read().change

    def set_change(self, change: int) -> None:
        """Remember how far the database's change log is."""
        if change != self._read().change:
            self._write(msgspec.structs.replace(self._read(), change=change), is_durable=False)

    def changed_packs(self) -> list[int]:
        """Return the packs (and JOURNAL) that somebody else changed, put back or removed since we left them."""
        now = self._packs_now()
        return sorted(number for number, state in self._read().packs.items() if now.get(number) != state)

    @property
    def highest_pack(self) -> int:
        """The highest number that a pack is known to have had: one that is missing may come back."""
        note = self._read()
        return max(note.highest, *note.packs, 0)

    @property
    def knows_packs(self) -> bool:
        """Whether it was ever remembered how packs looked."""
        return bool(self._read().packs)

    def leave_packs(self, numbers: Collection[int] | None = None) -> None:
        """Remember how packs look now, by default all: they were looked at, or it was we who changed them."""
        now, known = self._packs_now(), self._read().packs
        wanted = dict(now)
        if numbers is not None:
            wanted = {n: state for n, state in known.items() if n not in numbers}
            wanted |= {n: now[n] for n in numbers if n in now}
        if wanted != known:
            note = msgspec.structs.replace(self._read(), packs=wanted, highest=max(self.highest_pack, *wanted, 0))
            self._write(note, is_durable=False)

    def _packs_now(self) -> dict[int, tuple[int, int]]:
        found: dict[int, tuple[int, int]] = {}
        paths = {number: pack_path(self._packs, number) for number in pack_numbers(self._packs)}
        for number, path in {JOURNAL: self._path.with_name("journal.log"), **paths}.items():
            with suppress(FileNotFoundError):
                state = path.stat()
                found[number] = (state.st_size, state.st_mtime_ns)
        return found

    def _read(self) -> _Note:
        try:
            state = self._path.stat()
            stamp = (state.st_size, state.st_mtime_ns, state.st_ino)
            if stamp != self._stamp:
                self._note = msgspec.json.decode(self._path.read_bytes(), type=_Note)
                [bytes.fromhex(name) for name, *_ in self._note.damaged]
                self._stamp = stamp
        except (OSError, ValueError):
            self._note, self._stamp = _Note(), None
        return self._note

    def _write(self, note: _Note, *, is_durable: bool = True) -> None:
        with suppress(OSError):
            write_file(self._path, msgspec.json.encode(note), durable=is_durable)
