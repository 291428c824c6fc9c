"""The parser's state, generated names for records without an id, and column decoding."""

import binascii
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from recollect.agents.kit.adapter import MAX_NAME_CHARS, Reading
from recollect.agents.kit.content import base64_part, is_opaque
from recollect.agents.kit.names import NamingState, content_sha256, is_encodable, numbered
from recollect.agents.kit.values import decoded_json, mapping, path_of_address, text
from recollect.model.payloads import Json, Lifecycle, Part

# What stands in Cursor's columns: JSON as text, bytes or hex, protobuf lists of ids, rich text.
#
# Every function takes anything and raises nothing. Evidence: format notes: Cursor, stores A and C.

_DIGITS = 16
_SHA256_BYTES = 32
_CHILD_FIELD = 1
_WORKSPACE_FIELD = 9
_MAX_VARINT_BYTES = 10
_MAX_NODES = 100_000
_MAX_DEPTH = 16
_BLOCKS = frozenset(("paragraph", "heading", "code", "codeblock", "quote", "listitem", "listItem"))
_IMAGE_KEYS = frozenset(("data", "base64", "screenshot", "image", "imageData", "bytes"))


class Root(NamedTuple):
    """A protobuf blob of the command line's store that lists messages: their ids (hex), and the workspace."""

    children: tuple[str, ...]
    workspace: str


def decoded(value: Json) -> Json | bytes:
    """Return a column's value: JSON that is written as text or as bytes comes decoded, other bytes as bytes."""
    if isinstance(value, str):
        return decoded_json(value, value) if value[:1] in ("{", "[") else value
    if isinstance(value, dict) and value.keys() == {"$blob"}:
        try:
            raw = binascii.a2b_base64(text(value["$blob"]))
        except ValueError:
            return value
        return decoded_json(raw, raw) if raw[:1] in (b"{", b"[") else raw
    return value


def json_object(value: Json) -> dict[str, Any]:
    """Return a JSON object, also one that is written as text; else an empty one."""
    return mapping(decoded(value))


def hex_object(value: Json) -> dict[str, Any]:
    """Return the JSON object that a text holds as hex digits (older: as it is)."""
    try:
        plain = bytes.fromhex(text(value))
    except ValueError:
        return json_object(value)
    return mapping(decoded_json(plain, plain))


def digest(value: Json) -> str:
    """Return 16 hex digits that name some content: a text without the space around it, or any JSON."""
    return content_sha256(value.strip() if isinstance(value, str) else value)


def root_of(raw: bytes) -> Root | None:
    """Return the list of messages in a protobuf blob, or None where it is none."""
    children: list[str] = []
    workspace = ""
    for number, value in _fields(raw):
        if number == _CHILD_FIELD and len(value) == _SHA256_BYTES:
            children.append(value.hex())
        elif number == _WORKSPACE_FIELD and value.startswith(b"file://"):
            workspace = path_of_address(value.decode("utf-8", "replace"))
    return Root(tuple(children), workspace) if children else None


def _fields(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Emit the length-delimited fields of a protobuf message; what is none ends the walk."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        wire = tag & 7
        if wire == 0:
            _, at = _varint(raw, at)
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        elif wire == 2:
            length, at = _varint(raw, at)
            if at < 0 or at + length > len(raw):
                return
            yield tag >> 3, raw[at : at + length]
            at += length
        else:
            return
        if at < 0:
            return


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return a number and where it ends; the end is -1 if there is none."""
    value = 0
    for shift, byte in enumerate(raw[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at + shift + 1
    return 0, -1


def rich_text(value: Json) -> str:
    """Return the text of an editor's document (Lexical or ProseMirror, written as JSON), one line a paragraph."""
    lines: list[str] = []
    line: list[str] = []
    stack: list[Any] = [decoded(value)]
    for _ in range(_MAX_NODES):
        if not stack:
            break
        node = stack.pop()
        if node is None:
            lines.append("".join(line))
            line.clear()
        elif isinstance(node, list):
            stack.extend(reversed(node))
        elif isinstance(node, dict):
            kind = node.get("type")
            if kind in ("linebreak", "hardBreak"):
                line.append("\n")
            elif isinstance(kind, str) and kind in _BLOCKS:
                stack.append(None)
            line.append(text(node.get("text")))
            stack.extend(node[k] for k in ("content", "children", "root") if isinstance(node.get(k), dict | list))
    lines.append("".join(line))
    return "\n".join(lines).strip()


def take_images(value: Json, parts: list[Part], depth: int = 0) -> Json:
    """Return decoded JSON without the images in it, which are added to `parts`."""
    if depth >= _MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [take_images(v, parts, depth + 1) for v in value]
    if not isinstance(value, dict):
        return value
    kept: dict[str, Any] = {}
    for key, item in value.items():
        if key in _IMAGE_KEYS and is_opaque("data", item):
            media_type = text(value.get("mimeType")) or text(value.get("media_type"))
            part, is_readable = base64_part("image", media_type, item)
            if is_readable:
                parts.append(part)
        else:
            kept[key] = take_images(item, parts, depth + 1)
    return kept


def pruned(value: Json, depth: int = 0) -> Json:
    """Return decoded JSON without what says nothing: empty values and switches that are off; None when nothing is left.

    The editor writes every field of its context with each message, nearly all of them empty.
    """
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        kept = {k: pruned(v, depth + 1) for k, v in value.items() if not is_opaque(k, v)}
        return {k: v for k, v in kept.items() if v is not None} or None
    if isinstance(value, list) and depth < _MAX_DEPTH:
        return [v for v in (pruned(v, depth + 1) for v in value) if v is not None] or None
    return None if value is None or value is False or value in ("", [], {}) else value


MAX_MESSAGES = 4_096
MAX_HUMANS = 1_024
MAX_EDITS = 16
_MAX_PATH_CHARS = 1_000
_MAX_EDIT_BYTES = 200_000
"""Of all texts of edits whose result is awaited; what is larger is remembered by its path."""


class Human(msgspec.Struct, frozen=True, gc=False):
    """A message of the person: the id by which the store lists it, that of its event, its time, the event before it."""

    id: str
    event: str
    ts: int | None = None
    before: str = ""


class Edit(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A change of a file as a call asked for it; it is told when the result says that it was made."""

    call: str
    path: str
    operation: str = "modify"
    before: str | None = None
    after: str | None = None
    diff: str = ""


class Called(msgspec.Struct, frozen=True, gc=False):
    """A call whose result may come: its key, and the tool's name."""

    key: str
    name: str


class CursorState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """What the next record needs to know.

    humans: messages of the person, to find those left behind.
    messages, root: ids of message blobs, and the newest list of them. calls, edits: what awaits its result.
    is_summed_up: a summary was given since the newest list.
    """

    parent: str = ""
    cwd: str = ""
    is_summed_up: bool = False
    humans: tuple[Human, ...] = ()
    messages: tuple[str, ...] = ()
    root: tuple[str, ...] = ()
    calls: tuple[Called, ...] = ()
    edits: tuple[Edit, ...] = ()


Step = Reading[CursorState]


def named(step: Step, kind: str, content: Json) -> str:
    """Return a name made of content: `say:<16 hex>`, and `…/2` for the second that says the same.

    The command line's store and the transcripts have no ids; equal words get equal names in both.
    """
    return numbered(step, f"{kind}:{digest(content)}")


def short(name: str) -> str:
    """Return an id that is short enough to be one, and text that can be stored."""
    return name if len(name) <= MAX_NAME_CHARS and is_encodable(name) else f"h-{digest(name)}"


def give_cwd(step: Step, path: str) -> None:
    """Emit the folder that the session works in, where it is another than before."""
    if path != step.now("cwd"):
        step.set(cwd=path if len(path) <= _MAX_PATH_CHARS and is_encodable(path) else short(path))
        step.add(Lifecycle("cwd", cwd=path), native_id=f"cwd:{digest(path)}")


def remember_call(step: Step, key: str, name: str, edits: list[Edit]) -> None:
    """Remember a call until its result comes, and what it would change."""
    calls: tuple[Called, ...] = step.now("calls")
    step.set(calls=(*calls, Called(key, short(name)))[-MAX_EDITS * 4 :])
    if edits:
        waiting: tuple[Edit, ...] = step.now("edits")
        step.set(edits=_bounded((*waiting, *edits)))


def called(step: Step, key: str) -> str:
    """Return the name of the tool that a call asked for, if it is remembered."""
    calls: tuple[Called, ...] = step.now("calls")
    return next((c.name for c in reversed(calls) if c.key == key), "")


def take_edits(step: Step, key: str) -> tuple[Edit, ...]:
    """Return what a call would change, and forget it."""
    waiting: tuple[Edit, ...] = step.now("edits")
    found = tuple(e for e in waiting if e.call == key)
    if found:
        step.set(edits=tuple(e for e in waiting if e.call != key))
    return found


def _bounded(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    kept: list[Edit] = []
    budget = _MAX_EDIT_BYTES
    for edit in reversed(edits[-MAX_EDITS:]):
        texts = "".join(filter(None, (edit.before, edit.after, edit.diff)))
        size = len(texts.encode("utf-8", "replace"))
        path = edit.path if len(edit.path) <= _MAX_PATH_CHARS and is_encodable(edit.path) else short(edit.path)
        if size > budget or not is_encodable(texts):
            kept.append(Edit(edit.call, path, edit.operation))
        else:
            budget -= size
            kept.append(msgspec.structs.replace(edit, path=path))
    return tuple(reversed(kept))
