"""The shared folder: one folder a machine in it, in which that machine alone writes.

Nothing is noted of what was sent: the heads of the batches that lie in the folder say it.

A batch is sealed with a key that comes from a passphrase, because others can read and write the folder:

    file = magic (8) · salt (16) · key check (16) · length of sealed head (4) · of sealed body (8) · head · body
    head, body = nonce (12) · AES-256-GCM(zstd(bytes)) · tag (16)

What stands before a sealed part is its associated data, so nothing can be put together of two batches. A nonce is a
keyed hash of what is sealed: the same bytes give the same file, whose name is the hash of its content.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
import zstandard
from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from recollect.archive.archive import Archive
from recollect.archive.journal import ArchivedRevision, JournalTombstone
from recollect.archive.keys import KEY_BYTES
from recollect.archive.packs import ChunkPlace
from recollect.archive.sealer import NAME_BYTES, Sealer
from recollect.erasure.selection import is_of
from recollect.erasure.tombstones import Forgotten
from recollect.errors import ArchiveCorrupt, ArchiveError, DiskFull, KeyUnavailable, SourceUnavailable, UsageError
from recollect.files import is_no_room, write_file
from recollect.model.synced import (
    VERSION,
    BatchHead,
    SentBytes,
    SentHole,
    SentRemoval,
    SentRevision,
    SentTombstone,
    is_foreign,
)
from recollect.store.erasure.select_rows import SelectionReader

SUFFIX = ".batch"
SALT_BYTES = 16
_MAGIC = b"RCLSYNC1"
_CHECK_BYTES = 16
_FIELDS = struct.Struct(f"<8s{SALT_BYTES}s{_CHECK_BYTES}sIQ")
_NONCE_BYTES = 12
_NAME_BYTES = 16
_PASSES, _LANES, _MEMORY_KIB = 3, 4, 64 * 1024
"""Of Argon2id: what RFC 9106 recommends where memory is not plenty. Another choice is another magic."""
_MAX_HEAD_BYTES = 64 << 20
MAX_BATCH_BYTES = 512 << 20
"""A larger file is none of ours: it would be held whole."""
_ZSTD_LEVEL = 3


class BatchKey:
    """The key of one passphrase and one salt."""

    def __init__(self, salt: bytes, master: bytes) -> None:
        self.salt = salt
        self.master = master
        """What the passphrase and the salt give. Never shown."""
        self._aead = AESGCM(_derived(master, b"recollect/1/sync batches"))
        self._nonce_key = _derived(master, b"recollect/1/sync nonces")
        self.check = _derived(master, b"recollect/1/sync check")[:_CHECK_BYTES]
        """Tells whether a batch was sealed with this key, and nothing else."""

    @classmethod
    def of_passphrase(cls, passphrase: str, salt: bytes) -> BatchKey:
        """Make the key; takes 64 MiB and a moment. Raises KeyUnavailable where the system has no Argon2id."""
        try:
            kdf = Argon2id(salt=salt, length=KEY_BYTES, iterations=_PASSES, lanes=_LANES, memory_cost=_MEMORY_KIB)
        except UnsupportedAlgorithm as error:
            raise KeyUnavailable(
                "this system's OpenSSL has no Argon2id", hint="pip install --upgrade cryptography"
            ) from error
        return cls(salt, kdf.derive(passphrase.encode("utf-8", "surrogatepass")))

    def sealed(self, head: bytes, body: bytes) -> bytes:
        """Return the content of a batch's file. The same head and body give the same bytes."""
        packed = [zstandard.compress(part, _ZSTD_LEVEL) for part in (head, body)]
        lengths = [_NONCE_BYTES + len(part) + 16 for part in packed]
        start = _FIELDS.pack(_MAGIC, self.salt, self.check, *lengths)
        sealed_head = self._seal(packed[0], start)
        return start + sealed_head + self._seal(packed[1], start + sealed_head)

    def _seal(self, plain: bytes, before: bytes) -> bytes:
        nonce = blake2b(
            plain, digest_size=_NONCE_BYTES, key=self._nonce_key, salt=blake2b(before, digest_size=16).digest()
        )
        return nonce.digest() + self._aead.encrypt(nonce.digest(), plain, before)

    def opened(self, sealed: bytes, before: bytes) -> bytes:
        """Return what a part holds. Raises ArchiveCorrupt for one that was changed."""
        try:
            plain = self._aead.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], before)
            with zstandard.ZstdDecompressor().stream_reader(plain) as reader:
                found = reader.read(MAX_BATCH_BYTES + 1)
        except (InvalidTag, ValueError, zstandard.ZstdError) as error:
            raise ArchiveCorrupt("it was changed after it was sealed") from error
        if len(found) > MAX_BATCH_BYTES:
            raise ArchiveCorrupt("it is larger than any batch")
        return found


class BatchStart(NamedTuple):
    """The open part of a batch's file. raw: its bytes."""

    raw: bytes
    salt: bytes
    check: bytes
    head_bytes: int
    body_bytes: int

    @property
    def size(self) -> int:
        """How long the file is."""
        return len(self.raw) + self.head_bytes + self.body_bytes


def batch_name(content: bytes) -> str:
    """Return the name of the file with this content."""
    return blake2b(content, digest_size=_NAME_BYTES).hexdigest() + SUFFIX


def is_batch_name(name: str) -> bool:
    """Return whether a file could be a batch: copies that a sync service made beside one are not."""
    stem = name.removesuffix(SUFFIX)
    return stem != name and len(stem) == 2 * _NAME_BYTES and all(c in "0123456789abcdef" for c in stem)


def read_start(file: BinaryIO) -> BatchStart:
    """Read the open part of a batch. Raises ArchiveCorrupt where it is none, or not all of it is there; OSError."""
    raw = file.read(_FIELDS.size)
    if len(raw) < _FIELDS.size or not raw.startswith(_MAGIC):
        raise ArchiveCorrupt("it is no batch, or of a newer Recollect" if raw else "it is empty")
    _magic, salt, check, head_bytes, body_bytes = _FIELDS.unpack(raw)
    start = BatchStart(raw, salt, check, head_bytes, body_bytes)
    if head_bytes > _MAX_HEAD_BYTES or start.size > MAX_BATCH_BYTES:
        raise ArchiveCorrupt("it is larger than any batch")
    size = os.fstat(file.fileno()).st_size
    if size != start.size:
        raise ArchiveCorrupt(f"{size:,} of its {start.size:,} bytes are here")
    return start


def read_head(file: BinaryIO, start: BatchStart, key: BatchKey) -> bytes:
    """Read what a batch says of itself. Raises ArchiveCorrupt, OSError."""
    return key.opened(file.read(start.head_bytes), start.raw)


def read_body(path: Path, key: BatchKey) -> bytes:
    """Read what a batch holds. Raises ArchiveCorrupt where a byte of the file is not as it was written; OSError."""
    data = path.read_bytes()
    if batch_name(data) != path.name:
        raise ArchiveCorrupt("its content is not what its name says")
    head_bytes = _FIELDS.unpack(data[: _FIELDS.size])[3]
    split = _FIELDS.size + head_bytes
    return key.opened(data[split:], data[:split])


def _derived(master: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose).derive(master)


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


BATCH_BYTES = 16 << 20
"""Plain bytes of a batch; one chunk may go beyond."""
_Key = tuple[str, int]


class Owned(NamedTuple):
    """What this machine may send. sessions: the uids that each source tells of. held_back: how many sources stay here
    because a session of theirs is of an excluded repository."""

    revisions: dict[_Key, ArchivedRevision]
    sessions: dict[str, tuple[str, ...]]
    held_back: int


class _Part(NamedTuple):
    """What of a revision is to be sent: its chunks from one place on, up to another."""

    revision: ArchivedRevision
    start: int
    stop: int


def owned(archive: Archive, stored: SelectionReader, excluded: Sequence[str]) -> Owned:
    """Return the revisions that this machine may send. excluded: patterns of repositories. Raises ArchiveError."""
    sessions = {s.number: s for s in stored.sessions()}
    out = {s.number for s in sessions.values() if is_of(tuple(excluded), repo=s.repo, repo_root=s.repo_root, cwd=s.cwd)}
    told = stored.sessions_of_sources()
    by_source = {row.source_id: told.get(number, set()) for number, row in stored.sources().items()}
    revisions = by_key(archive)
    held_back = {key[0] for key in revisions if by_source.get(key[0], set()) & out}
    return Owned(
        {key: one for key, one in revisions.items() if key[0] not in held_back},
        {name: tuple(sorted(sessions[n].uid for n in numbers)) for name, numbers in by_source.items()},
        len(held_back),
    )


def by_key(archive: Archive) -> dict[_Key, ArchivedRevision]:
    """Return the revisions that are this machine's own. Raises ArchiveError."""
    return {
        (one.entry.source_id, one.entry.revision): one
        for one in archive.revisions()
        if not is_foreign(one.entry.key) and one.chunks
    }


def is_stale(batch: OpenedBatch, revisions: Mapping[_Key, ArchivedRevision], forgotten: Forgotten) -> bool:
    """Return whether a batch of this machine holds bytes that were forgotten since.

    What is only not in the archive any more, after damage or with an older backup, stays in the folder.
    """
    for sent in batch.head.revisions:
        now = revisions.get((sent.source_id, sent.revision))
        if now is None and sent.sessions and all(map(forgotten.has_session, sent.sessions)):
            return True
        if now is not None and _gone_bytes(now, sent.from_bytes, sent.bytes_seen) > sent.gone_bytes:
            return True
    return False


def missing(own: Owned, batches: Iterable[OpenedBatch]) -> list[_Part]:
    """Return what of the revisions no batch holds, in the order of first sight."""
    sent: dict[_Key, list[SentRevision]] = {}
    for batch in batches:
        for one in batch.head.revisions:
            sent.setdefault((one.source_id, one.revision), []).append(one)
    found = []
    for key, revision in own.revisions.items():
        closed, reached = 0, (0, -1)
        for one in sorted(sent.get(key, ()), key=lambda part: part.from_bytes):
            if one.from_bytes <= closed:
                closed = max(closed, one.closed_bytes)
                reached = max(reached, (one.bytes_seen, one.committed_bytes))
        if reached >= (revision.bytes_seen, revision.committed_bytes):
            continue
        ends = list(accumulate(place.plain for place, _ in revision.chunks))
        start = sum(end <= closed for end in ends)
        found.append(_Part(revision, min(start, len(ends) - 1), len(ends)))
    return found


def batched(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """Part them into batches; a revision may be spread over several."""
    batch: list[_Part] = []
    size = 0
    for part in parts:
        start = part.start
        for number in range(part.start, part.stop):
            size += _stored_bytes(part.revision.chunks[number][0])
            if size >= BATCH_BYTES:
                yield [*batch, _Part(part.revision, start, number + 1)]
                batch, size, start = [], 0, number + 1
        if start < part.stop:
            batch.append(_Part(part.revision, start, part.stop))
    if batch:
        yield batch


def part_bytes(part: _Part) -> int:
    """Return how many bytes a part has that are in the archive."""
    return sum(_stored_bytes(place) for place, _ in part.revision.chunks[part.start : part.stop])


def content(
    archive: Archive, own: Owned, parts: Iterable[_Part], lost: list[str]
) -> list[tuple[SentRevision, SentBytes]]:
    """Read what a batch is to hold. lost: takes a line on each revision of which bytes cannot be read, which is left
    out. Raises ArchiveError."""
    found = []
    for part in parts:
        try:
            found.append(_read(archive, own, part))
        except ArchiveCorrupt as error:
            lost.append(f"{part.revision.entry.path} is damaged in the archive, and not sent: {error}")
    return found


def tombstones_to_send(stones: Iterable[JournalTombstone], batches: Iterable[OpenedBatch]) -> tuple[SentTombstone, ...]:
    """Return the tombstones that no batch of this machine holds."""
    sent = {stone.id for batch in batches for stone in batch.head.tombstones}
    return tuple(SentTombstone(*stone) for stone in stones if stone.id not in sent)


def _read(archive: Archive, own: Owned, part: _Part) -> tuple[SentRevision, SentBytes]:
    revision, entry = part.revision, part.revision.entry
    chunks = revision.chunks[part.start : part.stop]
    begin = sum(place.plain for place, _ in revision.chunks[: part.start])
    end = begin + sum(place.plain for place, _ in chunks)
    is_all = part.stop == len(revision.chunks)
    seen = [(to, at) for to, at in revision.observations if is_all or to <= end]
    committed = revision.committed_bytes if is_all else max((to for to, _ in seen), default=0)
    closed = begin + sum(place.plain for place, is_open in chunks if not is_open)
    sent = SentRevision(
        entry.source_id, entry.revision, entry.agent, entry.role, entry.key, entry.path, entry.container, entry.session,
        entry.relative, entry.lane, begin, closed, revision.bytes_seen if is_all else end, committed,
        _gone_bytes(revision, begin, end), own.sessions.get(entry.source_id, ()),
    )  # fmt: skip
    plain = tuple(
        (place.plain if place.is_hole else b"".join(archive.iter_bytes((place,))), is_open) for place, is_open in chunks
    )
    has_holes = any(place.is_hole for place, _ in chunks)
    removal = _opened_removal(revision, archive.sealer) if has_holes else None
    return sent, SentBytes(plain, tuple(seen), revision.marks if is_all else b"", removal)


def _opened_removal(revision: ArchivedRevision, sealer: Sealer) -> SentRemoval | None:
    told = revision.removal
    if told is None:
        return None
    try:
        state = sealer.open(told.state[:NAME_BYTES], told.state[NAME_BYTES:]) if told.state else b""
    except ArchiveError:  # of an earlier version: the other machine derives without it
        state = b""
    holes = tuple(SentHole(*one) for one in told.holes)
    return SentRemoval(
        holes, told.committed_bytes, told.records, told.is_newest, state, told.parser_version, told.turn_index,
        told.trail,
    )  # fmt: skip


def _gone_bytes(revision: ArchivedRevision, start: int, stop: int) -> int:
    """Return how many bytes of a range were forgotten; what was evicted is this machine's affair."""
    holes = revision.removal.holes if revision.removal is not None else ()
    return sum(
        max(0, min(stop, one.offset + one.length) - max(start, one.offset))
        for one in holes
        if one.reason == "forgotten"
    )


def _stored_bytes(place: ChunkPlace) -> int:
    return 0 if place.is_hole else place.plain
