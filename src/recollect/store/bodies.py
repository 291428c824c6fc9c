"""Encodes payloads: redacted JSON whose long strings point into the archive, in blocks.

A string of 2,048 characters or more that stands in the record is not kept twice: the body holds its JSON pointer and
its length, and the reader takes it from the archive and redacts it. A body is either the payload's JSON (`{"kind": …}`)
or, with pointers, `[payload, [[place in the payload, pointer into the record, characters, hash], …]]`. The hash tells
two bodies apart whose pointers are the same; homes written before it have none.

Pointers follow RFC 6901 with one addition: the token `~2` (no escape of the RFC) decodes the string that stands there
as JSON and continues inside it, because some agents write a tool's arguments as JSON text inside JSON.

The bodies of a session's events are compressed together, so that rows stay light. A worker makes one container per
slice and session (`encode_block`); the writer stores its frames, one row each. A frame is zstd over a msgpack list of
entries and holds about 32 KiB of them, so that one event can be read without decompressing its whole session.

Small values are compressed with a dictionary: most nodes are a few hundred bytes of JSON whose field names are half of
it, and the dictionary has these once. A frame names the dictionary that it needs; large ones, and all of before schema
9, need none. Each thread has its own contexts.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
import zstandard

from recollect.errors import ArchiveError, BrokenInvariant, StoreCorrupt, StoreError
from recollect.model.payloads import Json, Payload
from recollect.store.row_keys import SEQ_BITS

if TYPE_CHECKING:
    import apsw

_LEVEL = 3
DICTIONARY_ID = 0x5243_4C31
"""`RCL1`. Another dictionary needs another number and a file of its own beside this one: old frames need theirs."""
DICTIONARY_FILE = Path(__file__).with_name("values.zdict")
"""Made by `scripts/build_dictionary.py`."""
DAMAGED = zstandard.ZstdError
"""What is raised for bytes that are no such value."""
_MAX_PLAIN_BYTES = 1 << 30
_SMALL_BYTES = 16 * 1024
"""A longer value learns its own field names: with the dictionary it takes a third more time and no less room."""
_Value = TypeVar("_Value")


@cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(DICTIONARY_FILE.read_bytes(), dict_type=zstandard.DICT_TYPE_FULLDICT)


@cache
def _compression_dictionary() -> zstandard.ZstdCompressionDict:
    dictionary = _dictionary()
    dictionary.precompute_compress(level=_LEVEL)
    return dictionary


class _Local(threading.local):
    """zstd contexts must not be shared by threads and are dear to make."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False).compress
        self.decompress = zstandard.ZstdDecompressor().decompress

    @cached_property
    def compress_small(self) -> Callable[[bytes], bytes]:
        dictionary = _compression_dictionary()
        return zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary, write_checksum=False).compress

    @cached_property
    def decompress_small(self) -> Callable[..., bytes]:
        return zstandard.ZstdDecompressor(dict_data=_dictionary()).decompress


_local = _Local()


def compress(data: bytes) -> bytes:
    """Return bytes compressed; the same bytes give the same result."""
    return _local.compress_small(data) if len(data) < _SMALL_BYTES else _local.compress(data)


def unpack(data: bytes, decode: Callable[[bytes], _Value], what: str, *, hint: str) -> _Value:
    """Return the value whose bytes were compressed. what: begins the error, "a node is". Raises StoreCorrupt."""
    try:
        return decode(decompress(data))
    except (DAMAGED, ValueError) as error:
        raise StoreCorrupt(f"{what} damaged: {error}", hint=hint) from error


def decompress(data: bytes) -> bytes:
    """Return the bytes before compression. Raises DAMAGED."""
    needed = zstandard.get_frame_parameters(data).dict_id
    codec = _local.decompress_small if needed == DICTIONARY_ID else _local.decompress
    return codec(data, max_output_size=_MAX_PLAIN_BYTES)


LARGE_CHARS = 2048
"""Strings of at least this many characters are read from the archive."""
_INSIDE = "~2"
_SURROGATE = "[\ud800-\udfff]"
_MAX_NODES = 200_000
"""Strings deeper in a record than this many values are kept in the body: the walk is bounded."""
_SLACK_CHARS = 128
_HASH_AT = 3
"""Where a reference holds the hash of its string."""
Pointer = str
_encoder = msgspec.json.Encoder()
_decode_json = msgspec.json.Decoder().decode
_light_decoder: msgspec.json.Decoder[tuple[Payload, msgspec.Raw]] = msgspec.json.Decoder(tuple[Payload, msgspec.Raw])
_payload_decoder: msgspec.json.Decoder[Payload] = msgspec.json.Decoder(Payload)
decode_whole = _payload_decoder.decode
"""The payload of a body that `is_whole`."""


def large_strings(value: Json) -> dict[str, Pointer]:
    """Return every string of at least 2,048 characters in a record's value with its pointer; the first place wins.

    Call it with the value that was parsed (redacted or not): redaction does not move strings. A whole-file text record
    has the pointer "". Iterative, so that no nesting can overflow.
    """
    found: dict[str, Pointer] = {}
    stack: list[tuple[Json, Pointer]] = [(value, "")]
    budget = _MAX_NODES
    while stack and budget:
        budget -= 1
        item, place = stack.pop()
        if isinstance(item, str):
            if len(item) >= LARGE_CHARS:
                found.setdefault(item, place)
                if item[:1] in "{[" and (inside := _json_inside(item)) is not None:
                    stack.append((inside, f"{place}/{_INSIDE}"))
        elif isinstance(item, dict):
            stack.extend([(v, f"{place}/{_escape(k)}") for k, v in reversed(item.items()) if _leads_on(v)])
        elif isinstance(item, list):
            stack.extend([(item[i], f"{place}/{i}") for i in range(len(item) - 1, -1, -1) if _leads_on(item[i])])
    return found


def _leads_on(item: Json) -> bool:
    kind = type(item)
    return len(item) >= LARGE_CHARS if kind is str else (kind is dict or kind is list) and bool(item)


def encode_body(payload: Payload, large: dict[str, Pointer]) -> bytes:
    """Return the stored form of a payload. `large`: what `large_strings` found in its record, may be empty."""
    if not large:
        return _encoder.encode(payload)
    plain = msgspec.to_builtins(payload)
    refs: list[tuple[Pointer, Pointer, int, str]] = []
    stack: list[tuple[Json, Pointer]] = [(plain, "")]
    while stack:
        node, place = stack.pop()
        for key, item in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(item, str):
                if len(item) >= LARGE_CHARS and item in large:
                    refs.append((f"{place}/{_escape(key)}", large[item], len(item), _hash_of(item)))
                    node[key] = ""
            elif isinstance(item, dict | list):
                stack.append((item, f"{place}/{_escape(key)}"))
    return _encoder.encode([plain, refs]) if refs else _encoder.encode(payload)


def is_whole(body: bytes) -> bool:
    """Return True when a body needs no record from the archive."""
    return body[:1] == b"{"


def is_same_content(one: bytes, other: bytes) -> bool:
    """Return True when two bodies certainly have equal payloads, wherever their long strings are stored."""
    if one == other:
        return is_whole(one) or all(len(ref) > _HASH_AT for ref in _decode_json(one)[1])
    if is_whole(one) or is_whole(other):
        return False
    (plain, refs), (other_plain, other_refs) = _decode_json(one), _decode_json(other)
    if plain != other_plain or any(len(ref) <= _HASH_AT for ref in (*refs, *other_refs)):
        return False
    return sorted((r[0], r[_HASH_AT]) for r in refs) == sorted((r[0], r[_HASH_AT]) for r in other_refs)


def content_key(body: bytes) -> int:
    """Return 48 bits that are equal for bodies of equal payloads, wherever their long strings are stored."""
    if not is_whole(body):
        plain, refs = _decode_json(body)
        if all(len(ref) > _HASH_AT for ref in refs):
            body = _encoder.encode([plain, sorted((ref[0], ref[_HASH_AT]) for ref in refs)])
    import hashlib  # brings OpenSSL, which who only reads does not need

    return int.from_bytes(hashlib.blake2b(body, digest_size=6).digest(), "big")


def capped_body(payload: Payload, *, max_chars: int | None, note: str) -> bytes:
    """Return a payload as a whole body with each string cut to about this length; None: uncut. Pure.

    note: appended to a cut string after the missing length: "[12,345 characters <note>]". A string that is only
    slightly longer than allowed stays whole.
    """
    plain = msgspec.to_builtins(payload)
    stack: list[Json] = [plain]
    while stack and max_chars is not None:
        node = stack.pop()
        for key, item in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(item, str):
                if len(item) > max_chars + _SLACK_CHARS:
                    node[key] = f"{item[:max_chars]}\n[{len(item) - max_chars:,} characters {note}]"
            elif isinstance(item, dict | list):
                stack.append(item)
    return _encoder.encode(plain)


def hydrate(body: bytes, read_record: Callable[[], bytes], redact: Callable[[str], str]) -> Payload:
    """Return the payload of a body, with long strings read from the record and redacted.

    Where the record cannot be read (evicted, damaged, sealed without a key), each long string becomes one visible line
    that says so and how long it was; nothing else is invented. `read_record` is called at most once.
    """
    if is_whole(body):
        return _payload_decoder.decode(body)
    plain, refs = _decode_json(body)
    record = _read(read_record)
    decoded: dict[Pointer, Json] = {}
    for place, pointer, chars, *_hash in refs:
        text = None if record.reason else record.at(pointer, chars, decoded)
        if text is not None:
            _put(plain, place, redact(text))
        else:
            why = record.reason or "not found in the stored record"
            _put(plain, place, f"[{chars:,} characters not available: {why}]")
    payload: Payload = msgspec.convert(plain, Payload)
    return payload


def payload_without_record(body: bytes) -> Payload:
    """Return a body's payload with every string that is stored in the archive empty. Reads nothing."""
    if is_whole(body):
        return _payload_decoder.decode(body)
    return _light_decoder.decode(body)[0]


class _Record(msgspec.Struct, frozen=True):
    """A record as read again: its value and its bytes, or why there is none."""

    value: Json = None
    raw: bytes = b""
    reason: str = ""

    def at(self, pointer: Pointer, chars: int, decoded: dict[Pointer, Json]) -> str | None:
        """Return the string at a pointer, None without one."""
        if not pointer:
            is_value = isinstance(self.value, str) and len(self.value) == chars
            return self.value if is_value else self.raw.decode("utf-8", "replace")
        found = _follow(self.value, pointer, decoded)
        if not isinstance(found, str):
            return None
        return found if found.isascii() else re.sub(_SURROGATE, "\ufffd", found)


def _read(read_record: Callable[[], bytes]) -> _Record:
    """Read a record and decode it as leniently as ingest did."""
    from recollect.model.rows import PREFIX, decode_row  # who reads without the archive, a hook, needs none of it

    try:
        raw = read_record()
    except (ArchiveError, StoreError) as error:
        return _Record(reason=str(error))
    try:
        value = _decode_json(b"{" + raw + b"}" if _is_members(raw) else raw)
        row = decode_row(value) if raw.startswith(PREFIX) else None
        return _Record(row.value if row else value, raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    try:
        text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
        return _Record(json.loads(text, strict=False), raw)
    except (ValueError, RecursionError):
        return _Record(None, raw)


def decode_record(raw: bytes) -> Json:
    """Return the value of a record, None where it is none."""
    return _read(lambda: raw).value


def _hash_of(text: str) -> str:
    import hashlib  # brings OpenSSL, which who only reads does not need

    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _is_members(raw: bytes) -> bool:
    """Members of an object that is split into several records begin with a key; no other record begins so."""
    return raw[:1] == b'"'


def _follow(value: Json, pointer: Pointer, decoded: dict[Pointer, Json]) -> Json:
    """Return the value at a pointer, None without one. `decoded` caches JSON found inside strings."""
    done = ""
    for token in pointer.split("/")[1:]:
        done = f"{done}/{token}"
        if token == _INSIDE:
            if done not in decoded:
                decoded[done] = _json_inside(value) if isinstance(value, str) else None
            value = decoded[done]
        elif isinstance(value, dict):
            value = value.get(_unescape(token))
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value


def _put(root: Json, place: Pointer, text: str) -> None:
    *way, last = (_unescape(token) for token in place.split("/")[1:])
    node = root
    for token in way:
        node = node[int(token)] if isinstance(node, list) else node[token]
    if isinstance(node, list):
        node[int(last)] = text
    elif isinstance(node, dict):
        node[last] = text
    else:
        raise BrokenInvariant("a stored body's pointer leads to a place in its payload")


def _json_inside(text: str) -> Json:
    try:
        inside = _decode_json(text)
    except (ValueError, RecursionError):
        return None
    return inside if isinstance(inside, dict | list) else None


def _escape(key: object) -> str:
    text = str(key)
    return text.replace("~", "~0").replace("/", "~1") if "~" in text or "/" in text else text


def _unescape(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~") if "~" in token else token


FRAME_BYTES = 32 * 1024
"""A frame is closed when its entries reach this size.

A search reads about 25 events, most in frames of their own. Of 300 MB of transcripts, frames of 128 KiB take 2.7 MB
less, and an event of one takes .15 ms to read instead of .04.
"""
_KEPT_FRAMES = 16
SMALL_FRAME_BYTES = 16 * 1024
"""The writer extends a session's newest frame while it is smaller than this."""


class BlockEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What of an event is kept compressed. `body`: see `store.bodies`; `path`: the file it touches, "" if none.

    summary is `model.text.summary_of` of the payload: it is kept only for a body that is not whole, because a reader
    makes it again from one that is.
    """

    body: bytes
    summary: str
    path: str


class BlockBody(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A `BlockEntry` with only its body decoded."""

    body: bytes


class Frame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One compressed run of entries: their number, their size before compression, the zstd data."""

    entry_count: int
    plain_bytes: int
    data: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode_frame = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_decode_entries = msgspec.msgpack.Decoder(list[BlockEntry]).decode
_decode_bodies = msgspec.msgpack.Decoder(list[BlockBody]).decode
_decode_entry = msgspec.msgpack.Decoder(BlockEntry).decode
_decode_frames = msgspec.msgpack.Decoder(list[Frame]).decode


def encode_block(entries: Sequence[BlockEntry]) -> bytes:
    """Return the container of a session part's entries, in order. `EventDraft.body` is the index into it."""
    return _encode(encode_frames(entries))


def encode_frames(entries: Sequence[BlockEntry]) -> list[Frame]:
    """Return entries as frames, in order."""
    frames: list[Frame] = []
    start = size = 0
    for position, entry in enumerate(entries):
        size += len(entry.body) + len(entry.summary)
        if size >= FRAME_BYTES:
            frames.append(_frame(entries[start : position + 1]))
            start, size = position + 1, 0
    if start < len(entries):
        frames.append(_frame(entries[start:]))
    return frames


def encode_frame(entries: Sequence[BlockEntry]) -> Frame:
    """Return entries as one frame of any size: entries of a rewritten frame keep their places."""
    return _frame(entries)


def block_frames(block: bytes) -> list[Frame]:
    """Return the frames of a container. Raises StoreCorrupt."""
    if not block:
        return []
    try:
        return _decode_frames(block)
    except ValueError as error:
        raise StoreCorrupt(f"{_BLOCK} damaged: {error}", hint=_HINT) from error


def decode_block(block: bytes) -> list[BlockEntry]:
    """Return the entries of a container, in order. Raises StoreCorrupt."""
    return [entry for frame in block_frames(block) for entry in decode_frame(frame.data)]


def decode_frame(data: bytes) -> list[BlockEntry]:
    """Return the entries of one frame. Raises StoreCorrupt."""
    return unpack(data, _decode_entries, _BLOCK, hint=_HINT)


def decode_bodies_at_once(data: bytes) -> list[BlockBody]:
    """Return the bodies of one frame, for readers that want all of them and nothing else. Raises StoreCorrupt."""
    return unpack(data, _decode_bodies, _BLOCK, hint=_HINT)


def open_frame(data: bytes) -> list[msgspec.Raw]:
    """Return the undecoded entries of one frame, for readers that want few of them. Raises StoreCorrupt."""
    return unpack(data, _decode_frame, _BLOCK, hint=_HINT)


def decode_entry(entry: msgspec.Raw) -> BlockEntry:
    """Return an entry of `open_frame`. Raises StoreCorrupt."""
    try:
        return _decode_entry(entry)
    except ValueError as error:
        raise StoreCorrupt(f"the body of an event is damaged: {error}", hint=_HINT) from error


def _frame(entries: Sequence[BlockEntry]) -> Frame:
    plain = _encode([BlockEntry(e.body, "", e.path) if e.summary and is_whole(e.body) else e for e in entries])
    return Frame(len(entries), len(plain), compress(plain))


_BLOCK = "a block of event bodies is"
_HINT = "run `recollect rebuild all`: everything derived comes from the archive"


class SessionBodies:
    """What is stored of one session's events, read frame by frame; the last frames are kept. Raises StoreCorrupt."""

    def __init__(self, db: apsw.Connection, number: int) -> None:
        self._db = db
        self._base = number << SEQ_BITS
        self._frames: dict[int, list[BlockEntry]] = {}

    def entry(self, block: int, entry: int) -> BlockEntry:
        """Return an entry by its place."""
        entries = self._frames.get(block)
        if entries is None:
            if len(self._frames) >= _KEPT_FRAMES:
                self._frames.pop(next(iter(self._frames)))
            data = self._db.execute("SELECT data FROM block WHERE key = ?", (self._base + block,)).get
            entries = self._frames[block] = decode_frame(data) if data else []
        if entry >= len(entries):
            raise StoreCorrupt("the body of a stored event is missing", hint=_HINT)
        return entries[entry]

    def payload(self, block: int, entry: int) -> Payload:
        """Return a payload, with every string that is stored in the archive empty."""
        return payload_without_record(self.entry(block, entry).body)
