"""Values as VS Code serialises them: URIs, Markdown strings, rendered prompts, and what tools gave back."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.anthropic import base64_part, without_opaque
from recollect.agents.kit.content.openai import data_url_part
from recollect.model.payloads import Json, Part
from recollect.model.text import flatten

_MAX_NODES = 100_000


def path_of(uri: Json) -> str:
    """Return the path of a URI, written as text or as an object; what is no file keeps its scheme."""
    if isinstance(uri, str):
        return path_of_uri(uri)
    found = mapping(uri)
    if "uri" in found:
        return path_of(found["uri"])
    path = text(found.get("fsPath")) or text(found.get("path"))
    scheme = text(found.get("scheme"))
    if path and scheme not in ("", "file", "vscode-remote", "vscode-userdata"):
        return f"{scheme}:{path}"
    return path or path_of_uri(text(found.get("external")))


def path_of_uri(uri: str) -> str:
    """Return the path of a `file:` or `vscode-remote:` URI, or the text itself."""
    scheme, colon, rest = uri.partition("://")
    if not colon or scheme not in ("file", "vscode-remote"):
        return uri
    path = unquote(rest[rest.find("/") :] if "/" in rest else rest)
    return path[1:] if len(path) > 2 and path[2] == ":" else path


def markdown(value: Json) -> str:
    """Return the text of a Markdown string: text, or an object with `value`."""
    if isinstance(value, str):
        return value
    found = mapping(value)
    said = found.get("value", found.get("content"))
    return said if isinstance(said, str) else ""


def reference(item: dict[str, Any]) -> str:
    """Return the words of an inline reference, to be set into the text where it stands."""
    found = item.get("inlineReference")
    name = text(item.get("name")) or text(mapping(found).get("name"))
    if not name:
        place = mapping(found).get("location", found)
        name = path_of(place).replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return f"`{name}`" if name else ""


def rendered(value: Json) -> tuple[str, tuple[Part, ...], bool]:
    """Return what a list of prompt or result pieces says: text, images, and whether all of them could be read.

    A piece is `{text}`, `{value}` with text or a rendered tree `{node}`, or an image.
    """
    texts: list[str] = []
    parts: list[Part] = []
    is_readable = True
    for piece in items(value):
        one = mapping(piece)
        said = one.get("text", one.get("value"))
        url = text(mapping(one.get("imageUrl")).get("url"))
        data = one.get("data")
        if isinstance(piece, str):
            texts.append(piece)
        elif isinstance(said, str):
            texts.append(said)
        elif isinstance(mapping(said).get("node"), dict):
            texts.append(_tree(mapping(said)["node"]))
        elif url:
            part, is_fine = data_url_part("image", url)
            parts.append(part)
            is_readable = is_readable and is_fine
        elif data is not None:
            encoded = mapping(data).get("$base64", mapping(data).get("data", data))
            part, is_fine = base64_part("data", text(one.get("mimeType")), encoded)
            parts.append(part)
            is_readable = is_readable and is_fine
        elif "cacheType" not in one:
            texts.append(flatten(without_opaque(said if said is not None else piece)))
    return "\n".join(t for t in texts if t), tuple(parts), is_readable


def _tree(node: Json) -> str:
    """Return the text of a rendered tree: pieces in order, each on a new line where it says so."""
    out: list[str] = []
    stack: list[Json] = [node]
    ends_line = True
    for _ in range(_MAX_NODES):
        if not stack:
            break
        one = mapping(stack.pop())
        said = one.get("text")
        if isinstance(said, str):
            if one.get("lineBreakBefore") is True and not ends_line:
                out.append("\n")
            out.append(said)
            ends_line = said.endswith("\n") if said else ends_line
        stack.extend(reversed(items(one.get("children"))))
    return "".join(out).strip("\n")
