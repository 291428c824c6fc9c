"""Which repository a session worked in, by one rule. Pure: told from paths and the remote as they were written."""

from __future__ import annotations

import re

_WORKTREE = re.compile(r"/\.(?:claude/)?worktrees(?:/|$)")


def repo_name(repo_root: str, git_remote: str, cwd: str) -> str:
    """Return the name of the repository that a session worked in, "" where nothing tells.

    The last part of the git top level, else of the remote, else of the directory it started in; a worktree below
    `.claude/worktrees` or `.worktrees` counts as the repository it hangs in.
    """
    if repo_root:
        return _last_part(_main_tree(repo_root))
    if git_remote:
        return _last_part(re.sub(r"[?#].*", "", git_remote).replace(":", "/")).removesuffix(".git")
    return _last_part(_main_tree(cwd))


def _main_tree(path: str) -> str:
    slashed = path.replace("\\", "/")
    found = _WORKTREE.search(slashed)
    return slashed[: found.start()] if found and found.start() else slashed


def _last_part(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]
