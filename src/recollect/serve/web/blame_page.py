"""What led to each line of a file: choose an edited file, and read it beside its edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

if TYPE_CHECKING:
    from starlette.requests import Request

    from recollect.memory import FileBlame, Memory

LISTED = 300


class LineRun(NamedTuple):
    """Lines below each other that one edit put there. first: the number of the first, from 1. edit: None without
    proof; reason: why."""

    first: int
    lines: tuple[str, ...]
    edit: int | None
    reason: str


def blame_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?repo=&q=`, the files to choose from, or for `?repo=&path=`, a file."""
    asked = request.query_params
    repo, path, words = asked.get("repo", "").strip(), asked.get("path", ""), asked.get("q", "").strip()
    memory.refresh()
    repos = sorted(name for name in memory.reader().names("repo") if name)
    if not path:
        found = memory.files.edited(repo=repo, words=words.split(), limit=LISTED)
        return "blame_files.html", {
            "repo": repo,
            "repos": repos,
            "query": words,
            "files": [(one, href_of_file(one.repo, one.path)) for one in found.files],
            "total": found.total,
        }
    blame = memory.files.blame(repo, path)
    return "blame.html", {
        "blame": blame,
        "runs": runs_of(blame),
        "proven": sum(line.edit is not None for line in blame.lines),
        "back": f"/blame?{urlencode({'repo': repo})}",
    }


def href_of_file(repo: str, path: str) -> str:
    """Return the address of the page of a file."""
    return f"/blame?{urlencode({'repo': repo, 'path': path})}"


def runs_of(blame: FileBlame) -> list[LineRun]:
    """Return the lines of a file, those of one edit that stand below each other together."""
    runs: list[LineRun] = []
    for number, line in enumerate(blame.lines, 1):
        last = runs[-1] if runs else None
        if last is not None and last.edit == line.edit and (line.edit is not None or last.reason == line.reason):
            runs[-1] = last._replace(lines=(*last.lines, line.text))
        else:
            runs.append(LineRun(number, (line.text,), line.edit, line.reason))
    return runs
