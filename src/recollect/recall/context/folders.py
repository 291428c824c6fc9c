"""Which repository a folder belongs to. Nothing in a repository is run, and nothing is read but `.git` as a pointer."""

from __future__ import annotations

import os
from collections.abc import Mapping

from recollect.store.recent import Folder

_MAX_LEVELS = 64
_MAX_POINTER_BYTES = 4096


def folder_of(cwd: str, env: Mapping[str, str]) -> Folder | None:
    """Return the repository that a folder is in, else the folder itself; None where it names nothing.

    A worktree counts as the repository that it hangs in. A repository at the user's home or at the root of the file
    system (dotfiles) is none: everything lies below it.
    """
    if not cwd or "\0" in cwd:
        return None
    path = os.path.abspath(cwd)
    top = _top_of(path)
    home = env.get("USERPROFILE" if os.name == "nt" else "HOME", "")
    if not top or top == os.path.abspath(home or os.sep) or top == os.path.dirname(top):
        return Folder(path, _names(path), False)
    return Folder(top, _names(top), True)


def _names(path: str) -> tuple[str, ...]:
    name = os.path.basename(path)
    return (name,) if name else ()


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
        with open(marker, encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_POINTER_BYTES)
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
