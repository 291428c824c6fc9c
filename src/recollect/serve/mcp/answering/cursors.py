"""Cursors: where the next page of an answer begins, in a text that only this memory can make.

A cursor holds no state of the server: which tool and which arguments it belongs to, a position, and a mark of what was
shown before it. Signed, so that one made up, cut or mixed up is told from a good one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import NamedTuple

import msgspec

from recollect.errors import UsageError
from recollect.serve.mcp.arguments import Paged

VERSION = 1
_HASH_BYTES = 6
_MAC_BYTES = 9
_WITHOUT_MEANING = ("cursor", "max_bytes", "limit")
"""Arguments that may differ from page to page."""


class Position(NamedTuple):
    """Where a page begins. offset: what the tool counts. mark: of what stands before it, see `mark_of`."""

    offset: int
    mark: bytes = b""


START = Position(0)


def mark_of(*shown: str) -> bytes:
    """Return a mark by which what was shown can be known again."""
    return _hash("\0".join(shown))


class Cursors:
    """Makes and reads the cursors of one memory. scope: what the arguments are confined to besides what they say."""

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.blake2b(key, digest_size=32, person=b"recollect.cursor").digest()

    def write(self, tool: str, arguments: Paged, position: Position, *, scope: str = "") -> str:
        """Return the cursor of the page that begins at a position."""
        body = bytes((VERSION,)) + position.offset.to_bytes(5, "big") + _asked(tool, arguments, scope) + position.mark
        return base64.urlsafe_b64encode(body + self._mac(body)).decode().rstrip("=")

    def read(self, tool: str, arguments: Paged, *, scope: str = "") -> Position:
        """Return where the page asked for begins. Raises UsageError for a cursor of no, or of another, answer."""
        if not arguments.cursor:
            return START
        try:
            whole = base64.b64decode(arguments.cursor + "=" * (-len(arguments.cursor) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise _invalid("is not one of ours") from error
        body, mac = whole[:-_MAC_BYTES], whole[-_MAC_BYTES:]
        if len(body) < 6 + _HASH_BYTES or not hmac.compare_digest(mac, self._mac(body)):
            raise _invalid("is not one of ours, or of a server that has ended")
        if body[0] != VERSION:
            raise _invalid("is of another version")
        if body[6 : 6 + _HASH_BYTES] != _asked(tool, arguments, scope):
            raise _invalid("belongs to a call with other arguments; repeat those")
        return Position(int.from_bytes(body[1:6], "big"), body[6 + _HASH_BYTES :])

    def _mac(self, body: bytes) -> bytes:
        return hashlib.blake2b(body, digest_size=_MAC_BYTES, key=self._key).digest()


def stale() -> UsageError:
    """Return the error of a cursor whose answer has changed meanwhile."""
    return _invalid("is stale: the memory has changed since")


def _asked(tool: str, arguments: Paged, scope: str) -> bytes:
    said = {n: v for n, v in msgspec.structs.asdict(arguments).items() if n not in _WITHOUT_MEANING}
    return _hash(tool + "\0" + scope + "\0" + msgspec.json.encode(said, order="sorted").decode())


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()


def _invalid(why: str) -> UsageError:
    return UsageError(f"the cursor {why}", hint="call again without cursor")
