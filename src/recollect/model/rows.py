"""Encodes a database row or small file as a record: one exact line of JSON.

A row is `{"$row": table, "columns": {name: cell, …}}`, a file `{"$row": table, "file": path, "content": cell}`. A cell
is a JSON number, text or null as it stands in the column, or an object that says what it is:

- `{"$json": text}`: text that holds JSON; a parser gets it decoded
- `{"$zstd": base64}`: a blob that holds JSON, compressed with zstd or not; a parser gets it decoded, or the first
  64 KiB of its text where it is longer than a record may be
- `{"$blob": base64}`: any other blob; a parser gets this object
- `{"$text": base64}`: text whose bytes are not UTF-8; a parser gets it with replacement
- `{"$real": "inf" | "-inf"}`: numbers that JSON has not; a parser gets null

so that every column's bytes can be given back. Integers keep all 64 bits, reals their shortest exact form.
"""

from __future__ import annotations

import base64
import binascii
import codecs
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from recollect.model.payloads import Json

PREFIX = b'{"$row":'
MAX_CELL_BYTES = 16 * 1024 * 1024
"""A compressed cell that gives more, as much as a record may have, is not decoded: a parser gets its beginning."""
_SHOWN_BYTES = 64 * 1024
Cell = None | int | float | str | dict[str, str]

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_encoder = msgspec.json.Encoder()
_decode = msgspec.json.Decoder().decode


class Row(NamedTuple):
    """A record that stands for a row or a file, decoded. at: its table. defect: "" or a defect's code."""

    at: str
    value: Json
    defect: str = ""


class LargeCell(NamedTuple):
    """A column that is never held whole. pieces: its bytes from the first one, each time it is called."""

    pieces: Callable[[], Iterator[bytes]]
    is_text: bool
    is_json: bool = False
    is_zstd: bool = False

    def encoded(self) -> Iterator[bytes]:
        """Yield what `text_cell` and `blob_cell` come to, as JSON."""
        if self.is_zstd and not self.is_text:
            yield from _tagged("$zstd", _base64(self.pieces()))
        elif not (self.is_text or self.is_json) or not self._is_utf8():
            yield from _tagged("$text" if self.is_text else "$blob", _base64(self.pieces()))
        elif self.is_json or self.is_zstd:
            yield from _tagged("$json", self._text())
        else:
            yield from _string(self._text())

    def _is_utf8(self) -> bool:
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for piece in self.pieces():
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        return True

    def _text(self) -> Iterator[bytes]:
        decode = codecs.getincrementaldecoder("utf-8")().decode
        for piece in self.pieces():
            yield _encoder.encode(decode(piece))[1:-1]


def encode_large_row(table: str, columns: Mapping[str, Cell], large: Mapping[str, LargeCell]) -> Iterator[bytes]:
    """Yield the record of a row that is never held whole: the same bytes as those of `encode_row`.

    large: the columns whose cells are read in pieces; what `columns` has under their names is not used.
    """
    yield b'{"$row":%b,"columns":{' % _encoder.encode(table)
    for number, (name, cell) in enumerate(columns.items()):
        yield b"%b%b:" % (b"," if number else b"", _encoder.encode(name))
        if name in large:
            yield from large[name].encoded()
        else:
            yield _encoder.encode(cell)
    yield b"}}"


def encode_large_file(table: str, path: str, content: LargeCell) -> Iterator[bytes]:
    """Yield the record of a JSON file that is never held whole: the same bytes as those of `encode_file`."""
    yield b'{"$row":%b,"file":%b,"content":' % (_encoder.encode(table), _encoder.encode(path))
    yield from content.encoded()
    yield b"}"


def _tagged(tag: str, text: Iterator[bytes]) -> Iterator[bytes]:
    yield b'{"%b":' % tag.encode()
    yield from _string(text)
    yield b"}"


def _string(text: Iterator[bytes]) -> Iterator[bytes]:
    yield b'"'
    yield from text
    yield b'"'


def _base64(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        rest += piece
        whole = len(rest) - len(rest) % 3
        yield base64.b64encode(rest[:whole])
        rest = rest[whole:]
    yield base64.b64encode(rest)


def encode_row(table: str, columns: dict[str, Cell]) -> bytes:
    """Return the record of a row, without a line end."""
    return _encoder.encode({"$row": table, "columns": columns})


def encode_file(table: str, path: str, content: bytes) -> bytes:
    """Return the record of a small JSON file. path: relative to the agent's root, "/"-separated."""
    return _encoder.encode({"$row": table, "file": path, "content": text_cell(content, is_json=True)})


def text_cell(value: bytes, *, is_json: bool) -> Cell:
    """Return the cell of text given as bytes; one with bytes that are not UTF-8 keeps them all."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return {"$text": base64.b64encode(value).decode()}
    return {"$json": text} if is_json else text


def blob_cell(value: bytes, *, is_json: bool, is_zstd: bool) -> Cell:
    """Return the cell of a blob."""
    if is_zstd:
        return {"$zstd": base64.b64encode(value).decode()}
    if is_json:
        try:
            return {"$json": value.decode("utf-8")}
        except UnicodeDecodeError:
            pass
    return {"$blob": base64.b64encode(value).decode()}


def real_cell(value: float) -> Cell:
    """Return the cell of a floating-point number."""
    return value if value - value == 0 else {"$real": str(value)}


def decode_row(value: Json) -> Row | None:
    """Return what a decoded record stands for, or None if it is not a row in this encoding. Never raises."""
    if not isinstance(value, dict) or not isinstance(value.get("$row"), str):
        return None
    table: str = value["$row"]
    if "file" in value:
        content, defect = _cell(value.get("content"))
        return Row(table, content, defect)
    columns = value.get("columns")
    if not isinstance(columns, dict):
        return None
    out: dict[str, Json] = {}
    code = ""
    for name, cell in columns.items():
        if type(cell) is dict:
            out[name], defect = _cell(cell)
            code = code or defect
        else:
            out[name] = cell
    return Row(table, out, code)


def _cell(cell: Json) -> tuple[Json, str]:
    if not isinstance(cell, dict) or len(cell) != 1:
        return cell, ""
    ((tag, body),) = cell.items()
    if not isinstance(body, str):
        return cell, ""
    if tag == "$json":
        return _json(body)
    if tag == "$zstd":
        return _compressed(body)
    if tag == "$text":
        try:
            return base64.b64decode(body, validate=True).decode("utf-8", "replace"), "invalid_utf8"
        except (binascii.Error, ValueError):
            return cell, "wrong_type"
    return (None, "number_out_of_range") if tag == "$real" else (cell, "")


def _json(text: str) -> tuple[Json, str]:
    """Text that is not JSON stays text: a column may hold either."""
    try:
        return _decode(text), ""
    except (msgspec.DecodeError, UnicodeError):
        return text, ""
    except RecursionError:
        return text, "too_deep"


def _compressed(body: str) -> tuple[Json, str]:
    try:
        data = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return {"$blob": body}, "wrong_type"
    if data.startswith(_ZSTD_MAGIC):
        import zstandard

        try:
            with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(data) as reader:
                data = reader.read(MAX_CELL_BYTES + 1)
        except zstandard.ZstdError:
            return {"$blob": body}, "not_zstd"
        if len(data) > MAX_CELL_BYTES:
            return data[:_SHOWN_BYTES].decode("utf-8", "replace"), "too_large"
    try:
        return _decode(data), ""
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {"$blob": body}, "not_json"
