"""The shared folder: one folder a machine in it, in which that machine alone writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect.archive.sealed_batches import (
    BatchKey,
    batch_name,
    is_batch_name,
    read_body,
    read_head,
    read_start,
)
from recollect.errors import ArchiveCorrupt, DiskFull, SourceUnavailable, UsageError
from recollect.files import is_no_room, write_file
from recollect.model.synced import VERSION, BatchHead, SentBytes

_HEADS = msgspec.msgpack.Decoder(BatchHead)
_BODIES = msgspec.msgpack.Decoder(tuple[SentBytes, ...])
_MACHINE_DIGITS = 16
SHORTEST = 12
"""Characters of a new passphrase: whoever has the files can try as many as they like."""


class FolderKeys:
    """The keys of one passphrase, by salt. A key is made when it is first needed; remembered ones need none."""

    def __init__(self, ask: Callable[[bool], str], remembered: dict[str, bytes]) -> None:
        """ask: gives the passphrase, "" for none; it is told whether nothing was sealed with it yet."""
        self._ask = ask
        self._passphrase: str | None = None
        self._keys = {salt: BatchKey(bytes.fromhex(salt), master) for salt, master in remembered.items()}

    def of(self, salt: bytes, *, is_new: bool = False) -> BatchKey:
        """Return the key for a salt. Raises UsageError where there is no passphrase, or a new one is too short;
        KeyUnavailable."""
        known = self._keys.get(salt.hex())
        if known is None:
            if self._passphrase is None:
                self._passphrase = self._ask(is_new)
            if not self._passphrase:
                raise UsageError("a passphrase is needed", hint="no key is remembered for this folder")
            if is_new and len(self._passphrase) < SHORTEST:
                raise UsageError(f"a new passphrase has at least {SHORTEST} characters")
            known = self._keys[salt.hex()] = BatchKey.of_passphrase(self._passphrase, salt)
        return known

    @property
    def masters(self) -> dict[str, bytes]:
        """What is to be remembered, by salt."""
        return {salt: key.master for salt, key in self._keys.items()}


class OpenedBatch(NamedTuple):
    """A batch whose head was read."""

    path: Path
    key: BatchKey
    head: BatchHead

    def parts(self) -> tuple[SentBytes, ...]:
        """Read what it holds, in the order of its revisions. Raises ArchiveCorrupt, OSError."""
        try:
            parts = _BODIES.decode(read_body(self.path, self.key))
        except msgspec.MsgspecError as error:
            raise ArchiveCorrupt(f"it cannot be read: {error}") from error
        if len(parts) != len(self.head.revisions):
            raise ArchiveCorrupt("its two parts are not of one batch")
        return parts


class RefusedBatch(msgspec.Struct, frozen=True):
    """A file of the folder that was passed over, and why."""

    path: str
    reason: str


class BatchFolder:
    """A shared folder as it is now. batches: those whose head opens. refused: files that are batches by their name."""

    def __init__(self, folder: Path, keys: FolderKeys) -> None:
        """Read the head of every batch. Raises SourceUnavailable where the folder is not there, UsageError for a
        passphrase that opens nothing, KeyUnavailable."""
        self.folder = folder
        self.batches: list[OpenedBatch] = []
        self.refused: list[RefusedBatch] = []
        self._keys = keys
        self._has_others = False
        try:
            for machine, path in self._files():
                self._read(machine, path)
        except OSError as error:
            raise SourceUnavailable(f"cannot read {folder}: {error.strerror}") from error
        if self._has_others and not self.batches:
            raise UsageError(
                f"this passphrase opens no batch in {folder}", hint="it must be the one of your other machine"
            )

    def of(self, machine: str) -> list[OpenedBatch]:
        """Return the batches of one machine."""
        return [batch for batch in self.batches if batch.head.machine == machine]

    def key(self, fresh_salt: bytes) -> BatchKey:
        """Return the key to seal with: that of the salt that is in use here, else of a new one. Raises UsageError where
        there is no passphrase."""
        used = next((batch.key.salt for batch in self.batches), None)
        return self._keys.of(used or fresh_salt, is_new=used is None)

    def write(self, machine: str, content: bytes) -> Path:
        """Put a batch into a machine's folder, durably. Raises DiskFull, SourceUnavailable."""
        path = self.folder / machine / batch_name(content)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_file(path, content, durable=True)
        except OSError as error:
            if is_no_room(error):
                raise DiskFull(f"no space in {self.folder}; run the same command again once there is") from error
            raise SourceUnavailable(f"cannot write {path}: {error.strerror}") from error
        return path

    def remove(self, batch: OpenedBatch) -> None:
        """Remove a batch of this machine. Raises SourceUnavailable."""
        try:
            batch.path.unlink(missing_ok=True)
        except OSError as error:
            raise SourceUnavailable(f"cannot remove {batch.path}: {error.strerror}") from error

    def refuse(self, path: Path, reason: object) -> None:
        """Note a file that was passed over."""
        self.refused.append(RefusedBatch(str(path), str(reason)))

    def _files(self) -> Iterator[tuple[str, Path]]:
        for below in sorted(self.folder.iterdir()):
            is_machine = len(below.name) == _MACHINE_DIGITS and all(c in "0123456789abcdef" for c in below.name)
            if is_machine and below.is_dir():
                yield from (
                    (below.name, path)
                    for path in sorted(below.iterdir())
                    if is_batch_name(path.name) and path.is_file()
                )

    def _read(self, machine: str, path: Path) -> None:
        try:
            with path.open("rb") as file:
                start = read_start(file)
                key = self._keys.of(start.salt)
                if key.check != start.check:
                    self._has_others = True
                    self.refuse(path, "it was sealed with another passphrase")
                    return
                head = _HEADS.decode(read_head(file, start, key))
        except (ArchiveCorrupt, msgspec.MsgspecError) as error:
            self.refuse(path, error)
        except OSError as error:
            self.refuse(path, f"it cannot be read: {error.strerror}")
        else:
            if head.version != VERSION:
                self.refuse(path, f"it is of version {head.version}, this Recollect knows {VERSION}")
            elif head.machine != machine:
                self.refuse(path, "it lies in another machine's folder")
            else:
                self.batches.append(OpenedBatch(path, key, head))


def encoded(head: BatchHead, parts: tuple[SentBytes, ...], key: BatchKey) -> bytes:
    """Return the content of a batch's file."""
    return key.sealed(msgspec.msgpack.encode(head), msgspec.msgpack.encode(parts))
