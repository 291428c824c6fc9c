"""Keeps compiled regular expressions for the next process, in a file that can be made again."""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from pathlib import Path

import msgspec

from recollect.files import write_cache
from recollect.late import ENGINE, PATTERNS, Compiled
from recollect.ready_blocks import PROGRAM
from recollect.wire import RUN_FOLDER

FILE_NAME = "patterns.msgpack"
_CHECK_BYTES = 16


class _Kept(msgspec.Struct):
    """made_by: what another version of the program or of Python kept is not used."""

    made_by: str
    patterns: dict[str, Compiled]


def use_kept_patterns(home: Path) -> None:
    """Compile no expression again that an earlier process compiled."""
    PATTERNS.use(partial(_read, home / RUN_FOLDER / FILE_NAME))


def keep_patterns(home: Path) -> None:
    """Leave what this process has compiled for the next one."""
    if patterns := PATTERNS.to_keep():
        data = msgspec.msgpack.encode(_Kept(_made_by(), patterns))
        write_cache(home / RUN_FOLDER / FILE_NAME, _check(data) + data)


def _read(path: Path) -> dict[str, Compiled]:
    try:
        data = path.read_bytes()
        if data[:_CHECK_BYTES] != _check(data[_CHECK_BYTES:]):  # with a bit that is wrong a secret may pass
            return {}
        kept = msgspec.msgpack.decode(data[_CHECK_BYTES:], type=_Kept)
    except (OSError, ValueError):
        return {}
    return kept.patterns if kept.made_by == _made_by() else {}


def _check(data: bytes) -> bytes:
    return blake2b(data, digest_size=_CHECK_BYTES).digest()


def _made_by() -> str:
    return f"{PROGRAM} {ENGINE}"
