"""What a folder of documents calls itself: the name that a project's own files give its collection."""

from __future__ import annotations

import os
import re
import tomllib
from typing import NamedTuple

MAX_NAME_CHARS = 80
PROJECT_FILES = ("recollect.toml", ".recollect.toml")
"""TOML; `[documents]`, `collection = "NAME"`."""
MEMPALACE_FILES = ("mempalace.yaml", "mempalace.yml", "mempal.yaml", "mempal.yml")
"""Of MemPalace: a project that moves over keeps the name of its wing."""
_MAX_BYTES = 64 * 1024
_WING = re.compile(
    r"^wing:[ \t]+(?P<word>\"[^\"\r\n]{1,200}\"|'[^'\r\n]{1,200}'|\w[^\r\n#:{}\[\]]{0,200})", re.MULTILINE
)
_NO_NAME = re.compile(r"[\x00-\x1f\x7f/\\#]")


class ProjectName(NamedTuple):
    """A collection's name and the file that says so, "" where none does. problem: of a file that was passed over."""

    name: str
    file: str
    problem: str = ""


def is_name(text: str) -> bool:
    """Tell whether a text can name a collection: no slash, `#` or control character, not too long, no space around."""
    return 0 < len(text) <= MAX_NAME_CHARS and _NO_NAME.search(text) is None and text == text.strip()


def as_name(text: str) -> str:
    """Return the name nearest to what a folder or repository is called."""
    printable = text.encode("utf-8", "replace").decode()
    return _NO_NAME.sub("-", printable).strip()[:MAX_NAME_CHARS].strip() or "documents"


def project_name(folder: str) -> ProjectName:
    """Return the name that a folder's own files give it. Never raises for what they hold; nothing in them is run."""
    problem = ""
    for file in (*PROJECT_FILES, *MEMPALACE_FILES):
        path = os.path.join(folder, file)
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        try:
            with open(path, "rb") as handle:
                said = _said(handle.read(_MAX_BYTES).decode(), is_toml=file in PROJECT_FILES)
        except (OSError, ValueError, RecursionError) as error:
            problem = problem or f"{file} was passed over: {type(error).__name__}"
            continue
        if isinstance(said, str) and is_name(said.strip()):
            return ProjectName(said.strip(), file, problem)
        if said is not None:
            problem = problem or f"{file} was passed over: what it says can be no name"
    return ProjectName("", "", problem)


def _said(text: str, *, is_toml: bool) -> object:
    """Return what a file says the name is, None for nothing. Raises ValueError.

    Of YAML only the one line is read that MemPalace itself writes: a plain or quoted word at the top.
    """
    if is_toml:
        documents = tomllib.loads(text).get("documents")
        return documents.get("collection") if isinstance(documents, dict) else None
    found = _WING.search(text)
    return found["word"].strip().strip("\"'") if found is not None else None
