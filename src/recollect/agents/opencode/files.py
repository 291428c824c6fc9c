"""Files and images beside a prompt or a result. Their bytes never become text."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import unquote_to_bytes

from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.content.anthropic import base64_part
from recollect.agents.opencode.state import Reading
from recollect.model.payloads import Part

_SOURCE = frozenset(("type", "path", "text", "range", "name", "kind", "clientName", "uri", "start", "end", "value"))


def file_part(reading: Reading, data: dict[str, Any]) -> Part:
    """Return a file of either generation: `{mime, filename, url, source}` or `{mime, name, uri, source}`."""
    media_type = text(data.get("mime"))
    url = text(data.get("url")) or text(data.get("uri"))
    source = data.get("source")
    place = text(mapping(source).get("path")) or text(data.get("path"))
    path = place or text(data.get("filename")) or text(data.get("name"))
    if isinstance(source, dict):
        reading.extra(source, _SOURCE, "file.source")
    kind = "image" if media_type.startswith("image/") else "file"
    if not url.startswith("data:"):
        return Part(type=kind, media_type=media_type, path=path, url=url)
    head, _, body = url.partition(",")
    if not head.endswith(";base64"):
        return _plain_part(kind, media_type, body, path)
    part, is_readable = base64_part(kind, media_type, body, path=path)
    if not is_readable:
        reading.wrong("file.url", "bad_base64")
    return part


def _plain_part(kind: str, media_type: str, body: str, path: str) -> Part:
    data = unquote_to_bytes(body.encode("utf-8", "surrogatepass"))
    return Part(type=kind, sha256=hashlib.sha256(data).hexdigest(), media_type=media_type, bytes=len(data), path=path)
