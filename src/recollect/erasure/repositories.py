"""Finds a session's repository, for `forget --repo` and excluded repositories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from recollect.config import Config
from recollect.model.sessions import repo_name
from recollect.paths import expand


def excluded_repos(config: Config, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the repositories that a configuration excludes, `~` as the user's home."""
    return tuple(str(expand(p, env)) if p.startswith("~") else p for p in config.privacy.exclude_repos)


def is_of(patterns: Sequence[str], *, repo: str, repo_root: str, cwd: str) -> bool:
    """Return whether a session worked in one of the repositories.

    A pattern without a slash is the repository's name, in any case; with one it is a pattern of paths: `*` matches
    anything except a slash, `**` anything, `?` one character, and paths below a matching one match too. A pattern that
    begins with `**/` or a slash (on Windows also a drive) applies to the whole path; others to its end.
    """
    return any(_is_one(pattern, repo, (repo_root, cwd)) for pattern in patterns)


def is_excluded(patterns: Sequence[str], *, repo_root: str, git_remote: str, cwd: str) -> bool:
    """Return whether a session's known facts say that its repository is excluded."""
    return bool(patterns) and is_of(patterns, repo=repo_name(repo_root, git_remote, cwd), repo_root=repo_root, cwd=cwd)


def _is_one(pattern: str, repo: str, places: Iterable[str]) -> bool:
    slashed = pattern.strip().replace("\\", "/").rstrip("/")
    if "/" not in slashed:
        return bool(slashed) and _compiled(slashed, is_path=False).fullmatch(repo) is not None
    matches = _compiled(slashed, is_path=True).fullmatch
    return any(place and matches(place.replace("\\", "/").rstrip("/")) for place in places)


@lru_cache(maxsize=256)
def _compiled(pattern: str, *, is_path: bool) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(wild.get(part, re.escape(part)) for part in parts)
    if not is_path:
        return re.compile(body, re.IGNORECASE)
    is_rooted = pattern.startswith(("/", "**/")) or pattern[1:2] == ":"
    flags = re.IGNORECASE if pattern[1:2] == ":" else re.NOFLAG
    return re.compile((body if is_rooted else f"(?:.*/)?{body}") + "(?:/.*)?", flags)
