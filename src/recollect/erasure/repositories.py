"""Which repository a session is of, for `forget --repo` and for repositories that the configuration excludes."""

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
    """Tell whether a session worked in one of the repositories.

    A pattern without a slash is the repository's name, in any case; with one it is a pattern of paths: `*` stands for
    anything but a slash, `**` for anything, `?` for one character, and a path below one that matches does too. A
    pattern that begins with `**/` or a slash (on Windows also a drive) is of the whole path; others match its end.
    """
    return any(_is_one(pattern, repo, (repo_root, cwd)) for pattern in patterns)


def is_excluded(patterns: Sequence[str], *, repo_root: str, git_remote: str, cwd: str) -> bool:
    """Tell whether what is known of a session says that its repository is excluded."""
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
