"""Decodes a record's bytes to JSON. Reports repairs instead of raising."""

from __future__ import annotations

import json
import re

import msgspec

from recollect.model.payloads import Json

MAX_RECORD_BYTES = 16 * 1024 * 1024
"""Longer records are archived in pieces and never decoded whole (design, section 5)."""
UNREADABLE_TEXT_BYTES = 64 * 1024

_decode = msgspec.json.Decoder().decode
_SURROGATE = re.compile("[\ud800-\udfff]")
_TYPE = re.compile(rb'"type"\s*:\s*"([^"\\]{1,80})"')


class Decoded(msgspec.Struct, frozen=True, gc=False):
    """value is meaningful only if is_json; `code` names the defect, "" if there is none."""

    value: Json
    is_json: bool
    code: str = ""
    detail: str = ""


def decode_record(raw: bytes) -> Decoded:
    """Decode one record.

    Falls back, in this order: bytes that are not UTF-8 are replaced (invalid_utf8), raw control characters,
    NaN and numbers out of range are accepted (number_out_of_range, control_character), lone surrogates
    are replaced (lone_surrogate). What remains unreadable gives is_json False with code not_json or too_deep.
    """
    try:
        return Decoded(_decode(raw), True)
    except RecursionError:
        return Decoded(None, False, "too_deep", "nested too deeply")
    except (msgspec.MsgspecError, UnicodeError, ValueError) as error:
        return _decode_slowly(raw, str(error))


def decode_members(raw: bytes) -> Decoded:
    """Decode some members of a JSON object, `"a": 1, "b": 2`, to the object of them."""
    return decode_record(b"{" + raw + b"}")


def _decode_slowly(raw: bytes, why: str) -> Decoded:
    code = ""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        code = "invalid_utf8"
    text = text.removeprefix("\ufeff")
    try:
        value = json.loads(text, strict=False)
    except RecursionError:
        return Decoded(None, False, "too_deep", "nested too deeply")
    except ValueError:
        return Decoded(None, False, "not_json", why)
    if not code:
        code = "number_out_of_range" if "range" in why.lower() else "bent_json"
    try:
        return Decoded(_without_surrogates(value), True, code, why)
    except RecursionError:
        return Decoded(None, False, "too_deep", "nested too deeply")


def _without_surrogates(value: Json) -> Json:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value) if _SURROGATE.search(value) else value
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(v) for v in value]
    return value


def readable_text(raw: bytes | memoryview) -> str:
    """Return the first 64 KiB of bytes as text, with replacement and without NULs."""
    return bytes(raw[:UNREADABLE_TEXT_BYTES]).decode("utf-8", "replace").replace("\0", "\ufffd")


def guess_type(raw: bytes | memoryview) -> str:
    """Return the type tag of a record that was not decoded, from its first 4 KiB, or ""."""
    found = _TYPE.search(bytes(raw[:4096]))
    return found.group(1).decode("utf-8", "replace") if found else ""
