"""The folder a session worked in: Gemini CLI writes only its SHA-256, and into side files which folder has which name.

A path that stands in the session is checked against the hash, it and every folder above it: a match is a proof.
Evidence: format notes: Gemini CLI, "Where".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from recollect.agents.gemini.state import GeminiState
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.content.google.parts import content_text
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import Lifecycle

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PATH = re.compile(r"(?:[A-Za-z]:\\|/)[^\s\"'`<>|*?;,()\[\]{}]+")
_PATH_KEYS = ("file_path", "absolute_path", "path", "dir_path", "directory", "cwd")
_MAX_PATHS = 24
_MAX_DEPTH = 24
_MAX_CHARS = 4096
_SCANNED_CHARS = 2000
"""Paths stand at the start of what a tool says."""


def sha256_of(folder: str) -> str:
    """Return how Gemini CLI names a project by its folder."""
    return hashlib.sha256(folder.encode("utf-8", "replace")).hexdigest()


def find_folder(reading: Reading[GeminiState], paths: Iterator[str]) -> str:
    """Return the folder whose hash the session states, if one of these paths is in it."""
    wanted: str = reading.now("project_hash")
    if not _SHA256.fullmatch(wanted):
        return ""
    tried: set[str] = set()
    for _, path in zip(range(_MAX_PATHS), paths, strict=False):
        for folder in _upwards(path[:_MAX_CHARS]):
            if folder in tried:
                break
            tried.add(folder)
            if sha256_of(folder) == wanted:
                return folder
    return ""


def see_folder(reading: Reading[GeminiState], message: dict[str, Any]) -> None:
    """Give the session's folder once a message proves it."""
    if reading.now("cwd") or not reading.now("project_hash"):
        return
    folder = find_folder(reading, paths_in(message))
    if folder:
        reading.set(cwd=folder)
        reading.add(Lifecycle("cwd", cwd=folder), native_id="cwd")


def paths_in(message: dict[str, Any]) -> Iterator[str]:
    """Yield the absolute paths that a message speaks of: those in calls first, then those in texts."""
    calls = [mapping(call) for call in items(message.get("toolCalls"))]
    for call in calls:
        arguments = mapping(call.get("args"))
        yield from (v for key in _PATH_KEYS if (v := text(arguments.get(key))))
        shown = mapping(call.get("resultDisplay"))
        yield from (v for v in (text(shown.get("filePath")),) if v)
    for said in (message.get("content"), *(call.get("result") for call in calls)):
        if said:
            yield from _PATH.findall(content_text(said)[:_SCANNED_CHARS])


def _upwards(path: str) -> Iterator[str]:
    separator = "\\" if path[1:3] == ":\\" else "/"
    folder = path.rstrip("/\\.:") or path
    for _ in range(_MAX_DEPTH):
        yield folder
        above = folder.rpartition(separator)[0]
        if not above or above == folder:
            break
        if above.endswith(":"):
            yield above + separator
            break
        folder = above
    if separator == "/":
        yield "/"


def project_session(name: str) -> str:
    """Return the session that stands for a project, for what belongs to no session."""
    return f"project/{name}"


def read_project_root(reading: Reading[GeminiState], value: str) -> None:
    """Give the folder that `.project_root` names."""
    _add_project(reading, value.strip(), reading.state.project, session=None)


def read_projects(reading: Reading[GeminiState]) -> None:
    """Give the folders that `projects.json` names, each in the session of its project."""
    value = reading.value
    for folder, name in reading.mapping(value, "projects").items():
        if isinstance(name, str) and name:
            _add_project(reading, folder, name, session=project_session(name))
        else:
            reading.wrong("projects")
    reading.native_id = "projects"
    reading.extra(value, frozenset(("projects",)), "projects")


def _add_project(reading: Reading[GeminiState], folder: str, name: str, *, session: str | None) -> None:
    detail = {"identifier": name, "project_hash": sha256_of(folder)}
    reading.add(Lifecycle("project", text=folder, detail=detail, cwd=folder), native_id="project", session=session)
