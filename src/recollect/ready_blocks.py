"""The prepared session-start blocks: where they are stored, for which folder, and whether each is still valid.

Standard library only: the hook reads here what the memory wrote after its last sync. `ready/` in the memory's home is
a cache, private to its user; without it, or with any doubt about it, the memory itself is asked.

`stamp.json` says that every block beside it is what the memory would say now. Whoever changes what is stored takes it
away first (`take_away`), and puts it back when the blocks that this may have changed are gone; who writes without the
ingest lock cannot put it back (`withdraw`). See decision 0021.
"""

from __future__ import annotations

import json
import os
import stat
import sys

from recollect.clock import now_us
from recollect.files import sync_folder
from recollect.paths import DATABASE_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "ready"
STAMP = "stamp.json"
TRACE = "trace"
"""What whoever writes without the ingest lock leaves: another text each time, see `withdraw`."""
FORMAT = 2
"""Of both files; a reader that does not know it takes no block."""
PROGRAM: str = sys.modules["recollect"].__version__
"""The version that made the blocks: an upgrade may say other things. (Our own package, which importing this loaded: the
import table has no arrow back to it.)"""
_FIELDS = {
    "folder": str, "is_repository": bool, "text": str, "repo": str, "citations": list, "identifiers": list,
    "tokens": int, "left_out": int, "sessions": list, "looked_at": dict, "files": dict, "variants": dict, "until": int,
}  # fmt: skip
"""What a block's file says: whose it is; the block as `ContextBlock` has it; the uids of all sessions in the folder;
the folders that were looked for, and whether they were there; the person's own files with their heads, see `head_of`;
what of the block is another for some agents; until when it holds, UTC microseconds, 0: for good."""
EVERY_FOLDER = -1
"""Stands among the numbers of touched sessions where what was written may be told in any folder."""
HEAD_BYTES = 8192
"""Of a file of the person's own no more is given, and so no more is compared."""
_NAMES = (1 << 61) - 1
_MAX_LEVELS = 64
_MAX_POINTER_BYTES = 4096


class Stamp:
    """What every block hangs on: the stamp's bytes, which no second one shares, and what they say."""

    __slots__ = ("data", "values")

    def __init__(self, data: bytes, values: dict[str, object]) -> None:
        self.data = data
        self.values = values


def stamp_values(
    home: str, *, generation: str, settings: object, configs: dict[str, str | None], trace: str
) -> dict[str, object]:
    """Return the content of a stamp.

    generation: random. settings: the configuration with which the blocks were made. configs: its files with their text;
    None for a missing one. trace: as it was before anything else was examined. Raises OSError.
    """
    return {
        "trace": trace,
        "format": FORMAT,
        "program": PROGRAM,
        "generation": generation,
        "database": os.stat(os.path.join(home, DATABASE_NAME)).st_ino,
        "settings": settings,
        "configs": configs,
    }


def read_stamp(home: str, *, data: bytes | None = None) -> Stamp | None:
    """Return the stamp of a home, or one from its bytes; None without one, or for one of another program or database,
    or one from before a write without the ingest lock.

    Never raises because of what is on disk.
    """
    try:
        text = data if data is not None else _read(os.path.join(home, FOLDER, STAMP))
        values = json.loads(text)
        if (values["format"], values["program"]) != (FORMAT, PROGRAM):
            return None
        if values["trace"] != trace_of(home):
            return None
        if values["database"] != os.stat(os.path.join(home, DATABASE_NAME)).st_ino:
            return None
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None
    return Stamp(text, values)


def withdraw(home: str) -> None:
    """Have no block hold any more that there is by now, whoever else is at work. Raises OSError.

    For small writes without the ingest lock: before the transaction, so that a crash leaves no block that is stale, and
    after it, for those that were made meanwhile. An ingester that took the stamp away before puts back one that names
    an older trace, which counts for nothing.
    """
    folder = os.path.join(home, FOLDER)
    try:
        descriptor = os.open(os.path.join(folder, TRACE), os.O_WRONLY | os.O_CREAT, 0o600)
    except (FileNotFoundError, NotADirectoryError):
        return  # nothing was ever made ready
    with os.fdopen(descriptor, "wb") as file:
        # In place and always as long: what a kill, or another one at the same, leaves of it is another text as well.
        file.write(os.urandom(16).hex().encode())
    take_away(home)


def trace_of(home: str) -> str:
    """Return the trace, "" where nobody left one. Raises OSError."""
    try:
        return _read(os.path.join(home, FOLDER, TRACE)).decode("ascii", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""


def take_away(home: str) -> bytes:
    """Delete the stamp: from now on no block is valid. Returns its bytes, b"" without one. Raises OSError.

    For a holder of the ingest lock who restores it, see `ReadyBlocks.settle`. The deletion reaches the disk before
    anything else is written, even if the power fails in between.
    """
    folder = os.path.join(home, FOLDER)
    path = os.path.join(folder, STAMP)
    try:
        data = _read(path)
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    sync_folder(folder)
    return data


def block_path(home: str, folder: str) -> str:
    """Return the file of a folder's block. Two folders may share a name; a block says whose it is."""
    name = int.from_bytes(os.fsencode(folder), "big") % _NAMES
    return os.path.join(home, FOLDER, f"{name:016x}.json")


def config_text(path: str) -> str | None:
    """Return the text of a configuration file, None without one. Raises OSError and ValueError."""
    try:
        return _read(path).decode()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_block(path: str) -> dict[str, object] | None:
    """Return the content of a block's file; None without a readable one."""
    try:
        values = json.loads(_read(path))
        is_whole = values["format"] == FORMAT and all(type(values[name]) is kind for name, kind in _FIELDS.items())
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None
    return values if is_whole else None


def holds(block: Mapping[str, object], folder: str, *, is_repository: bool) -> bool:
    """Return whether a block is for this folder and still valid, and the folders and files on which it depends
    exist, or not, as before.
    """
    looked_at, files, until = block["looked_at"], block["files"], block["until"]
    return (
        (block["folder"], block["is_repository"]) == (folder, is_repository)
        and isinstance(until, int)
        and (not until or now_us() < until)
        and isinstance(looked_at, dict)
        and isinstance(files, dict)
        and all(os.path.isdir(path) == was for path, was in looked_at.items())
        and all(head_of(path) == head for path, head in files.items())
    )


def head_of(path: str) -> str | None:
    """Return the first `HEAD_BYTES` of a file, undecodable bytes as surrogates; None if it cannot be read.

    The content is compared, because a file written twice within one tick of the clock has the same time and may have
    the same size. Anything but a plain file (a pipe) is not opened, so that nobody waits for it.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            return file.read(HEAD_BYTES).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return None


def work_folder(cwd: str, env: Mapping[str, str]) -> tuple[str, bool] | None:
    """Return the top of a folder's repository and True, else the folder itself and False.

    None if it names nothing. A worktree counts as its main repository. A repository at the user's home or at the root
    of the file system (dotfiles) does not count, because everything is below it. Nothing in a repository is run, and
    only `.git` is read, as a pointer.
    """
    if not cwd or "\0" in cwd:
        return None
    path = os.path.abspath(cwd)
    top = _top_of(path)
    home = env.get("USERPROFILE" if os.name == "nt" else "HOME", "")
    if not top or top == os.path.abspath(home or os.sep) or top == os.path.dirname(top):
        return path, False
    return top, True


def _top_of(path: str) -> str:
    for _ in range(_MAX_LEVELS):
        marker = os.path.join(path, ".git")
        if os.path.isdir(marker):
            return path
        if os.path.isfile(marker):
            return _main_tree(marker) or path
        parent = os.path.dirname(path)
        if parent == path:
            return ""
        path = parent
    return ""


def _main_tree(marker: str) -> str:
    """Return the top of the repository that a worktree hangs in: its `.git` is a file `gitdir: …/.git/worktrees/x`."""
    try:
        with open(marker, "rb") as file:
            text = file.read(_MAX_POINTER_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    kind, _, place = text.partition(":")
    if kind.strip() != "gitdir":
        return ""
    gitdir = os.path.normpath(os.path.join(os.path.dirname(marker), place.strip()))
    worktrees = os.path.dirname(gitdir)
    git = os.path.dirname(worktrees)
    is_worktree = os.path.basename(worktrees) == "worktrees" and os.path.basename(git) == ".git"
    return os.path.dirname(git) if is_worktree else ""


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
