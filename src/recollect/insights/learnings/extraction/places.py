"""Finds the file that a sentence is about, as a path in the repository."""

from __future__ import annotations

import re
from typing import Final

from recollect.insights.session_events import SessionEvents
from recollect.late import late_pattern
from recollect.model.payloads import SessionStart
from recollect.model.sessions import Session

_PATH: Final = late_pattern(
    r"(?<![\w/.:@-])(?:[A-Za-z]:[\\/]|~?/"
    r"|\.{1,2}/)?(?:[\w@.+~-]{1,60}[\\/]){0,12}[\w@.+-]{1,80}\.[A-Za-z][A-Za-z0-9]{0,5}(?![\w/(])"
)
_FOLDER: Final = late_pattern(r"(?<![\w/.:@-])(?:\./)?(?:[\w@.+-]{1,60}/){1,12}(?:[\w@+-]{1,60}/)?(?![\w*.])")
_EXTENSIONS: Final = frozenset(
    "py pyi js jsx ts tsx mjs cjs go rs rb java kt kts c h cc cpp hpp cs swift m mm php pl lua ex exs erl hs ml"
    " scala clj dart r"
    " jl sh bash zsh fish ps1 bat sql html htm css scss sass less vue svelte astro md mdx rst txt json jsonl yaml"
    " yml toml ini cfg"
    " conf xml proto graphql lock env tf gradle mod sum csv ipynb tex bib svg dockerfile makefile mk nix zig".split()
)


def named_path(text: str, root: str) -> str:
    """Return the one file or folder that words name, "/"-separated below the repository; "" for none or several.

    root: where the repository is, see `root_of`.
    """
    found = {path for match in _PATH.finditer(text) if (path := below(match[0], root)) and _is_file(match[0])}
    if not found:
        found = {path for match in _FOLDER.finditer(text) if (path := below(match[0], root))}
    return found.pop() if len(found) == 1 else ""


def _is_file(name: str) -> bool:
    return name.rpartition(".")[2].lower() in _EXTENSIONS


def root_of(session: Session, events: SessionEvents) -> str:
    """Return where the repository of a session is: its top level, else where the session began."""
    if session.repo_root:
        return session.repo_root
    starts = (e.payload.cwd for e in events.of(SessionStart) if isinstance(e.payload, SessionStart) and e.payload.cwd)
    return next(starts, session.cwd)


def below(path: str, root: str) -> str | None:
    """Return a path below the repository as written with "/", "" for the repository itself, None for one elsewhere."""
    plain = path.replace("\\", "/")
    plain = plain if plain == "/" else plain.rstrip("/")
    top = root.replace("\\", "/").rstrip("/")
    if top and (plain == top or plain.startswith(f"{top}/")):
        plain = plain[len(top) + 1 :]
    elif plain.startswith(("/", "~", "$", "-")) or plain[1:2] == ":":
        return None
    parts: list[str] = []
    for part in plain.split("/"):
        if part == ".." and not parts:
            return None
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    found = "/".join(parts)
    return found if re.fullmatch(r"[\w@.+/ ~()\[\]-]{0,300}", found) else None
