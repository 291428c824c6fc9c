"""Files are replaced, created and moved by `recollect.files` alone, and every write says whether it must last."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "recollect"

IN_PLACE = {
    "archive/files.py": "packs and the journal grow",
    "capture/unzip.py": "unpacks into a folder that goes with the command",
    "index/vectors/writer.py": "columns and the log of commits grow; a new generation is no one's before its manifest",
    "memory/transcripts.py": "a copy of a pipe in a folder that goes with the command",
    "ingest/background_embedding.py": "a log of lines",
    "erasure/copies.py": "lines are blanked where they stand, and a receiver may append meanwhile",
    "ingest/spooled_events.py": "what hooks told, and requests, are appended",
    "serve/daemon_control.py": "the output of a process that starts",
    "store/sinks.py": "items are appended",
    "store/snapshots.py": "SQLite wrote the file",
    "testing/fixtures.py": "copies of fixtures",
    "maintenance/backup/contents.py": "a backup's files are no one's before its manifest",
    "maintenance/backup/create.py": "a stream into the staging folder, moved once it was read again",
}
"""Modules that sync or truncate a file themselves, each with the reason. May only shrink."""

MAY_BE_LOST = {
    "archive/packs.py": "how far a sample came is found out again; damage is durable",
    "cli/first_run.py": "the demo is laid out again",
    "cli/failures.py": "a log",
    "hook/prepared_block.py": "an agent waits, and a log entry is no memory",
    "hook/event_file.py": "an agent waits, and its own transcript has what a crash of the machine loses",
    "index/text/engine.py": "a shard that is set aside again, a format that is written again",
    "index/vectors/passage_process.py": "says where the process listens now",
    "index/text/vocabulary.py": "made again from the shard",
    "recall/context/facet.py": "an agent waits, and a log entry is no memory",
    "ingest/daemon_status.py": "says which process lives now",
    "erasure/copies.py": "a missing shard is made by the next sync",
    "ingest/spooled_events.py": "a drop that comes back is put aside again",
    "recall/context/prepare_blocks.py": "a cache of blocks",
    "serve/daemon_control.py": "a log",
    "sharing/automatic.py": "says how the last push went",
    "ingest/restore_swap.py": "every step can be repeated until the one sync at its end",
}
"""Modules with a write that is not synced, each with the reason. May only shrink."""

_OS = {"replace", "rename", "renames", "link"}
_TEMPORARY = {"NamedTemporaryFile", "mkstemp", "mktemp"}


def calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def renames(call: ast.Call) -> bool:
    """Tell whether a call gives a file another name, or makes a temporary one, without `recollect.files`."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in _TEMPORARY
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    if owner == "os":
        return function.attr in _OS
    if function.attr in _TEMPORARY or (owner, function.attr) == ("shutil", "move"):
        return True
    is_of_path = len(call.args) == 1 and not call.keywords and owner != "structs"
    is_struct = isinstance(function.value, ast.Attribute) and function.value.attr == "structs"
    return function.attr in ("rename", "replace", "hardlink_to") and is_of_path and not is_struct


def writes_in_place(node: ast.AST) -> bool:
    """Tell whether a node syncs a file, or opens one for writing that is truncated."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
        return node.attr in ("fsync", "fdatasync", "O_TRUNC")
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("write_bytes", "write_text"):
        # click's help formatter has a `write_text` that writes to the terminal.
        return isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") != "formatter"
    modes = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return name == "open" and any(mode[:1] in "wx" and len(mode) <= 3 for mode in modes if mode)


def may_be_lost(call: ast.Call) -> bool:
    """Tell whether a call says that it does not always wait for the disk."""
    durable = [keyword.value for keyword in call.keywords if keyword.arg == "durable"]
    return any(not (isinstance(value, ast.Constant) and value.value is True) for value in durable)


class Writes(NamedTuple):
    """Where the package renames files, and the modules that write in place or what may be lost."""

    renamed: set[str]
    in_place: set[str]
    lost: set[str]


@pytest.fixture(scope="module")
def writes() -> Writes:
    found = Writes(set(), set(), set())
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))) if name != "files.py" else ():
            if writes_in_place(node):
                found.in_place.add(name)
            if isinstance(node, ast.Call) and renames(node):
                found.renamed.add(f"{name}:{node.lineno}")
            if isinstance(node, ast.Call) and may_be_lost(node):
                found.lost.add(name)
    return found


def test_no_other_module_renames_a_file_or_makes_a_temporary_one(writes: Writes) -> None:
    assert writes.renamed == set(), "use recollect.files"


def test_only_the_modules_that_say_why_write_a_file_in_place(writes: Writes) -> None:
    assert writes.in_place == set(IN_PLACE)


def test_only_the_modules_that_say_why_write_what_may_be_lost(writes: Writes) -> None:
    assert writes.lost == set(MAY_BE_LOST)


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("os.replace(a, b)", True), ("os.link(a, b)", True), ("path.replace(other)", True), ("path.rename(b)", True),
        ("tempfile.NamedTemporaryFile()", True), ("mkstemp()", True), ("shutil.move(a, b)", True),
        ("text.replace('a', 'b')", False), ("day.replace(day=1)", False), ("msgspec.structs.replace(row)", False),
        ("move(a, b, durable=True)", False),
    ],
)  # fmt: skip
def test_a_renaming_is_told_from_what_is_only_called_so(line: str, is_found: bool) -> None:
    assert any(renames(call) for call in calls(ast.parse(line))) is is_found
