"""Makes text and JSON safe to show: nothing that an agent wrote can hide or control the terminal.

JSON hides no field either: what is stored leaves out what is at its default, what is shown has every field.

Meant are C0 but tab and newline, DEL, C1, the marks of direction, line and paragraph separators, the byte order mark,
tag characters, and lone surrogates, which no encoding can write.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from recollect.late import late_pattern

_UNSAFE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_UNSAFE_IN_JSON = (
    # The same in UTF-8, but for what JSON escapes by itself. No sequence of UTF-8 begins inside another.
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2(?:\x80[\x8e\x8f\xa8-\xae]|\x81[\xa6-\xa9])|\xef\xbb\xbf"
    rb"|\xf3\xa0[\x80\x81][\x80-\xbf]"
)
_PLAIN = frozenset((str, int, float, bool, type(None)))
_hidden: dict[str, str] = {}
"""Secrets in names that are kept exactly (an id, a path), and the markers that are shown instead."""
_text = late_pattern(_UNSAFE)
_json = late_pattern(_UNSAFE_IN_JSON)


def hide(names: Mapping[str, str]) -> None:
    """Show a marker in place of each secret in a name, in this whole process."""
    _hidden.update(names)


def hide_nothing() -> None:
    """Show every name exactly, for a request for the original text."""
    _hidden.clear()


def without_hidden(text: str) -> str:
    """Return a text with the markers of hidden names."""
    for secret, marker in _hidden.items():
        text = text.replace(secret, marker)
    return text


def as_stored(name: str) -> str:
    """Return the exact spelling of a name that was shown with markers."""
    for secret, marker in _hidden.items():
        name = name.replace(marker, secret)
    return name


def fields_of(item: object, names: str) -> dict[str, Any]:
    """Return some attributes of an object by name, for another one that has them too. names: with spaces."""
    return {name: getattr(item, name) for name in names.split()}


def safe(text: str) -> str:
    """Return text in which nothing can move the cursor, colour, reorder what is shown, or hide.

    Control characters become their pictures (ESC is `␛`), others `\\uXXXX` or `\\UXXXXXXXX`. Newlines and tabs stay; a
    carriage return before a newline goes.
    """
    return _text.sub(_picture, without_hidden(text).replace("\r\n", "\n"))


def safe_line(text: str) -> str:
    """Return text on one line, safe to print: whitespace folded, control characters visible."""
    return " ".join(safe(text).split())


def safe_json(data: bytes) -> bytes:
    """Return JSON that decodes to the same, with every unsafe character as an escape."""
    for secret, marker in _hidden.items():
        data = data.replace(_inside_json(secret), _inside_json(marker))
    return _json.sub(_escape, data)


def complete(value: Any, *, is_sorted: bool = False) -> Any:
    """Return a value with every struct as a dict of all its fields, its tag first. Any depth of nesting.

    is_sorted: other dicts have their keys in order.
    """
    from msgspec import Struct
    from msgspec.structs import asdict

    top = [value]
    stack: list[Any] = [top]
    while stack:
        node = stack.pop()
        for key, item in enumerate(node) if type(node) is list else node.items():
            if type(item) in _PLAIN:
                continue
            if isinstance(item, Struct):
                config = item.__struct_config__
                copy: Any = {config.tag_field: config.tag} if config.tag_field else {}
                copy.update(asdict(item))
            elif isinstance(item, dict):
                copy = dict(sorted(item.items())) if is_sorted else dict(item)
            elif isinstance(item, (list, tuple)):
                copy = list(item)
            else:
                continue
            node[key] = copy
            stack.append(copy)
    return top[0]


def encode_json(value: Any) -> bytes:
    """Return safe JSON of any result, with every field. A lone surrogate (only file names can hold one) becomes an
    escape."""
    import msgspec

    value = complete(value)
    try:
        return safe_json(msgspec.json.encode(value))
    except UnicodeEncodeError:
        import json

        return json.dumps(msgspec.to_builtins(value), separators=(",", ":")).replace("\x7f", "\\u007f").encode()


def _inside_json(text: str) -> bytes:
    import json

    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "replace")


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _escape(match: re.Match[bytes]) -> bytes:
    units = match[0].decode().encode("utf-16-be")
    return b"".join(b"\\u%02x%02x" % tuple(units[at : at + 2]) for at in range(0, len(units), 2))
