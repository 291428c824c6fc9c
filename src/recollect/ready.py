"""Blocks for a session's start that were made ready: where they lie, whether one still holds, and for which folder.

Standard library only: the hook reads here what the memory wrote after its last sync. `ready/` in the memory's home is
a cache, private to its user; without it, or with any doubt about it, the memory itself is asked.

`stamp.json` says that every block beside it is what the memory would say now. Whoever changes what is stored takes it
away first (`withdraw`), and puts it back when the blocks that this may have changed are gone. See decision 0021.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "ready"
STAMP = "stamp.json"
FORMAT = 1
"""Of both files; a reader that does not know it takes no block."""
DATABASE = "memory.db"
"""As `store.sqlite.connection`, which is too far to import from here."""
PROGRAM: str = sys.modules["recollect"].__version__
"""The version that made the blocks: an upgrade may say other things. (Our own package, which importing this loaded: the
import table has no arrow back to it.)"""
_FIELDS = {
    "folder": str, "is_repository": bool, "text": str, "repo": str, "citations": list, "identifiers": list,
    "tokens": int, "left_out": int, "sessions": list, "looked_at": dict,
}  # fmt: skip
"""What a block's file says: whose it is; the block as `ContextBlock` has it; the uids of all sessions in the folder;
the folders that were looked for, and whether they were there."""
_NAMES = (1 << 61) - 1
_MAX_LEVELS = 64
_MAX_POINTER_BYTES = 4096


class Stamp:
    """What every block hangs on: the stamp's bytes, which no second one shares, and what they say."""

    __slots__ = ("data", "values")

    def __init__(self, data: bytes, values: dict[str, object]) -> None:
        self.data = data
        self.values = values


def stamp_values(home: str, *, generation: str, settings: object, configs: dict[str, str | None]) -> dict[str, object]:
    """Return what a stamp says.

    generation: random. settings: the part of the configuration that they
    were made with. configs: the files that say so, with their text; None for one that is not there. Raises OSError.
    """
    return {
        "format": FORMAT,
        "program": PROGRAM,
        "generation": generation,
        "database": os.stat(os.path.join(home, DATABASE)).st_ino,
        "settings": settings,
        "configs": configs,
    }


def read_stamp(home: str, *, data: bytes | None = None) -> Stamp | None:
    """Return the stamp of a home, or one from its bytes; None where there is none, or another program's or database's.

    Never raises for what is on the disk.
    """
    try:
        text = data if data is not None else _read(os.path.join(home, FOLDER, STAMP))
        values = json.loads(text)
        if (values["format"], values["program"]) != (FORMAT, PROGRAM):
            return None
        if values["database"] != os.stat(os.path.join(home, DATABASE)).st_ino:
            return None
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None
    return Stamp(text, values)


def withdraw(home: str) -> bytes:
    """Take the stamp away: from now on no block holds. Returns its bytes, b"" where there is none. Raises OSError.

    It is gone from the disk before anything else is written, also where the power fails in between.
    """
    folder = os.path.join(home, FOLDER)
    path = os.path.join(folder, STAMP)
    try:
        data = _read(path)
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    if os.name != "nt":  # Windows lets nobody open a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return data


def block_path(home: str, folder: str) -> str:
    """Return the file of a folder's block. Two folders may share a name; a block says whose it is."""
    name = int.from_bytes(os.fsencode(folder), "big") % _NAMES
    return os.path.join(home, FOLDER, f"{name:016x}.json")


def config_text(path: str) -> str | None:
    """Return the text of a configuration file, None where there is none. Raises OSError and ValueError."""
    try:
        return _read(path).decode()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_block(path: str) -> dict[str, object] | None:
    """Return what a block's file says; None where there is none, or none that can be read."""
    try:
        values = json.loads(_read(path))
        is_whole = values["format"] == FORMAT and all(type(values[name]) is kind for name, kind in _FIELDS.items())
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None
    return values if is_whole else None


def holds(block: Mapping[str, object], folder: str, *, is_repository: bool) -> bool:
    """Tell whether a block is of a folder, and the folders on which it depends are there, or not, as they were."""
    looked_at = block["looked_at"]
    return (
        (block["folder"], block["is_repository"]) == (folder, is_repository)
        and isinstance(looked_at, dict)
        and all(os.path.isdir(path) == was for path, was in looked_at.items())
    )


def work_folder(cwd: str, env: Mapping[str, str]) -> tuple[str, bool] | None:
    """Return the top of the repository that a folder is in and True, else the folder itself and False.

    None where it names nothing. A worktree counts as the repository that it hangs in. A repository at the user's home
    or at the root of the file system (dotfiles) is none: everything lies below it. Nothing in a repository is run, and
    nothing is read but `.git` as a pointer.
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
