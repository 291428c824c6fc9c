"""Finds the files that a shell script writes: `sed -i`, `git mv`, `cat > file`, `tee`, patches, `rm`, `cp`.

Only what is named outright: a path with a variable or a pattern in it is none. Scratch files and logs are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from recollect.insights.commands import Simple, simple_commands
from recollect.insights.edit_lines import NOTHING_KNOWN, Lines
from recollect.late import late_pattern
from recollect.model.payloads import ToolCall

MAX_CHARS = 64 * 1024
"""Characters of a script that are read."""
_FOLDER_KEYS = ("workdir", "cwd", "dir_path", "working_directory", "directory")
_LEADS_IN = frozenset("else { ! if while".split())
Operation = Literal["create", "modify", "delete", "rename"]


class ShellEdit(NamedTuple):
    """A file that a script writes. lines: where a here-document or a patch gives them."""

    path: str
    operation: Operation
    new_path: str = ""
    lines: Lines = NOTHING_KNOWN


_MAY_EDIT = late_pattern(r">|\btee\b|\bsed\b|\bmv\b|\bcp\b|\brm\b|\bapply_patch\b|\bperl\b|\bpatch\b|\bapply\b")
_MAY_EDIT_WORDS = (">", "tee", "sed", "mv", "cp", "rm", "patch", "perl", "apply")
_NOWHERE = ("2>&1", "2>/dev/null", ">/dev/null")
"""Redirections that write no file."""
_WRITERS = frozenset(("cat", "echo", "printf", "tee", "sed", "awk", "jq", "sort", "head", "tail", "cut", "tr", "yq"))
"""Programs whose redirected output is text that somebody wrote or changed, not the log of a run."""
_SCRATCH = late_pattern(r"(?:/private)?/(?:tmp|var/tmp|var/folders)/|/(?:dev|proc)/")
_SHELLS = frozenset(("bash", "sh", "zsh"))
_UNCLEAR = late_pattern(r"[$*?`{}\[\]\n<>|]")
_PATCH_HEAD = late_pattern(r"\*\*\* (Add|Update|Delete) File: ([^\n]+)")
_PATCH_MOVE = "*** Move to: "
_PATCH_OPERATIONS: dict[str, Operation] = {"Add": "create", "Update": "modify", "Delete": "delete"}
_DIFF_OLD, _DIFF_NEW, _NO_FILE = "--- ", "+++ ", "/dev/null"
MAX_EDITS = 200
"""Edits of one script that count."""


def folder_of(call: ToolCall) -> str:
    """Return the working directory that a shell call names, "" where it names none."""
    given: Any = call.arguments
    if not isinstance(given, dict):
        return ""
    return next((given[key] for key in _FOLDER_KEYS if isinstance(given.get(key), str) and given[key]), "")


def edits_of_script(script: str, folder: str = "") -> list[ShellEdit]:
    """Return the edits of a script in order, at most 200, each once.

    folder: the working directory; paths after a `cd` in the script are joined to its target, others stay as written.
    """
    script = script[:MAX_CHARS]
    if not _may_edit(script):
        return []
    found: dict[tuple[str, str, str], ShellEdit] = {}
    for edit in _edits(script, 0):
        if not (_is_unclear(edit) or _is_scratch(edit.path, folder)):
            found.setdefault((edit.path, edit.operation, edit.new_path), edit)
        if len(found) >= MAX_EDITS:
            break
    return list(found.values())


def _may_edit(script: str) -> bool:
    """Tell cheaply that a script edits nothing: half of those with a ">" only join or drop what is printed."""
    if ">" in script:
        for nowhere in _NOWHERE:
            script = script.replace(nowhere, " ")
    return any(word in script for word in _MAY_EDIT_WORDS) and _MAY_EDIT.search(script) is not None


def _edits(script: str, depth: int) -> Iterator[ShellEdit]:
    at = ""
    for command in map(_without_lead_in, simple_commands(script, MAX_CHARS)):
        name = command.words[0].rpartition("/")[2] if command.words else ""
        if name == "cd" and len(command.words) > 1:
            at = _joined(at, command.words[1])
        elif name in _SHELLS and depth == 0 and len(command.words) > 2 and command.words[1].endswith("c"):
            for edit in _edits(command.words[2], 1):
                yield moved(edit, at)
        else:
            for edit in _of_command(name, command):
                yield moved(edit, at)


def _without_lead_in(command: Simple) -> Simple:
    words = command.words
    while words and words[0] in _LEADS_IN:
        words = words[1:]
    return command._replace(words=words)


def _of_command(name: str, command: Simple) -> Iterator[ShellEdit]:
    if name in _WRITERS:
        for output in command.outputs:
            yield _written(output.path, output.is_append, command.document if name == "cat" else "")
    reader = _READERS.get(name)
    if reader is not None:
        yield from reader(command)


def _tee(command: Simple) -> Iterator[ShellEdit]:
    is_append = any(word in ("-a", "--append") for word in command.words[1:])
    for path in _operands(command):
        yield _written(path, is_append, command.document)


def _written(path: str, is_append: bool, document: str) -> ShellEdit:
    """A file that is written whole, or appended to. What it held before is unknown."""
    lines = Lines(tuple(document.split("\n")), () if is_append else None) if document else NOTHING_KNOWN
    return ShellEdit(path, "modify" if is_append else "create", lines=lines)


def _sed(command: Simple) -> Iterator[ShellEdit]:
    """`sed -i`: the first operand is the script, unless -e or -f gives it; `-i ''` is the BSD form."""
    words = list(command.words[1:])
    is_in_place = has_script = False
    operands: list[str] = []
    while words:
        word = words.pop(0)
        if word in ("-e", "-f", "--expression", "--file"):
            has_script = True
            words[:1] = []
        elif word.startswith(("--in-place", "-i")) or (word[:1] == "-" and word[1:2] in "nErs" and word.endswith("i")):
            is_in_place = True
            if words and words[0] == "":
                words.pop(0)
        elif word.startswith("--expression="):
            has_script = True
        elif not word.startswith("-"):
            operands.append(word)
    if is_in_place:
        yield from (ShellEdit(path, "modify") for path in operands[0 if has_script else 1 :])


def _perl(command: Simple) -> Iterator[ShellEdit]:
    """`perl -pi -e SCRIPT FILE…`."""
    flags = [word for word in command.words[1:] if word.startswith("-")]
    if any("i" in flag.partition(".")[0] for flag in flags) and any(flag.endswith("e") for flag in flags):
        yield from (ShellEdit(path, "modify") for path in _operands(command)[1:])


def _mv(command: Simple) -> Iterator[ShellEdit]:
    *sources, target = _operands(command) or ("",)
    is_folder = len(sources) > 1 or target.endswith("/")
    for source in sources:
        yield ShellEdit(source, "rename", _joined(target, source.rpartition("/")[2]) if is_folder else target)


def _cp(command: Simple) -> Iterator[ShellEdit]:
    operands = _operands(command)
    if len(operands) == 2 and not _is_recursive(command):
        source, target = operands
        yield ShellEdit(_joined(target, source.rpartition("/")[2]) if target.endswith("/") else target, "create")


def _rm(command: Simple) -> Iterator[ShellEdit]:
    """Files that are named; a folder that goes with `-r` is mostly what a build left behind."""
    if not _is_recursive(command):
        yield from (ShellEdit(path, "delete") for path in _operands(command))


def _git(command: Simple) -> Iterator[ShellEdit]:
    words = list(command.words[1:])
    folder = ""
    while words and words[0] in ("-C", "-c"):
        folder = words[1] if words[0] == "-C" and len(words) > 1 else folder
        del words[:2]
    verb = words[0] if words else ""
    inner = command._replace(words=tuple(words))
    if verb == "mv":
        found = _mv(inner)
    elif verb == "rm" and not any(word == "--cached" for word in words):
        found = _rm(inner)
    elif verb in ("apply", "am") and command.document:
        found = _of_diff(command.document)
    else:
        return
    yield from (moved(edit, folder) for edit in found)


def _apply_patch(command: Simple) -> Iterator[ShellEdit]:
    patch = command.document or next((word for word in command.words[1:] if "*** " in word), "")
    heads = list(_PATCH_HEAD.finditer(patch))
    for head, following in zip(heads, [*heads[1:], None], strict=False):
        lines = patch[head.end() : following.start() if following else len(patch)].split("\n")
        move = next((line.removeprefix(_PATCH_MOVE).strip() for line in lines[:2] if line.startswith(_PATCH_MOVE)), "")
        yield _with_lines(head[2].strip(), "rename" if move else _PATCH_OPERATIONS[head[1]], lines, move)


def _of_diff(document: str) -> Iterator[ShellEdit]:
    """Files of a unified diff."""
    lines = document.split("\n")
    heads = [
        i
        for i in range(len(lines) - 1)
        if lines[i].startswith(_DIFF_OLD) and lines[i + 1].startswith(_DIFF_NEW)
    ]  # fmt: skip
    for head, end in zip(heads, [*heads[1:], len(lines)], strict=False):
        old, new = (_diff_path(lines[i]) for i in (head, head + 1))
        operation: Operation = "create" if old == _NO_FILE else "delete" if new == _NO_FILE else "modify"
        yield _with_lines(old if new == _NO_FILE else new, operation, lines[head + 2 : end])


def _diff_path(line: str) -> str:
    path = line[4:].partition("\t")[0].strip()
    return path[2:] if path[:2] in ("a/", "b/") else path


def _with_lines(path: str, operation: Operation, lines: list[str], move: str = "") -> ShellEdit:
    added = tuple(line[1:] for line in lines if line[:1] == "+")
    removed = tuple(line[1:] for line in lines if line[:1] == "-")
    is_unknown = operation == "delete" and not removed  # a patch that deletes a file need not repeat it
    return ShellEdit(path, operation, move, Lines(added, None if is_unknown else removed))


def _patch(command: Simple) -> Iterator[ShellEdit]:
    if command.document:
        yield from _of_diff(command.document)


_READERS: dict[str, Callable[[Simple], Iterator[ShellEdit]]] = {
    "tee": _tee, "sed": _sed, "gsed": _sed, "perl": _perl, "mv": _mv, "cp": _cp, "rm": _rm, "git": _git,
    "apply_patch": _apply_patch, "applypatch": _apply_patch, "patch": _patch,
}  # fmt: skip


def _operands(command: Simple) -> tuple[str, ...]:
    words = command.words[1:]
    if "--" in words:
        at = words.index("--")
        return (*(w for w in words[:at] if not w.startswith("-")), *words[at + 1 :])
    return tuple(word for word in words if not word.startswith("-"))


def _is_recursive(command: Simple) -> bool:
    flags = [word for word in command.words[1:] if word.startswith("-")]
    return any(f in ("--recursive", "--archive") or (f[:2] != "--" and set(f) & set("rRa")) for f in flags)


def _joined(folder: str, path: str) -> str:
    if not folder or path.startswith(("/", "~")) or path[1:3] in (":\\", ":/"):
        return path
    path = path.removeprefix("./")
    while path == ".." or path.startswith("../"):
        stem, slash, last = folder.rstrip("/").rpartition("/")
        if not last or last in ("..", ".", "~") or (slash and not stem):
            break
        folder, path = stem, path[3:]
        if not folder:
            return path
    return f"{folder.rstrip('/')}/{path}" if path else folder


def moved(edit: ShellEdit, folder: str) -> ShellEdit:
    """Return an edit with its paths below a folder; absolute ones stay."""
    if not folder:
        return edit
    new_path = _joined(folder, edit.new_path) if edit.new_path else ""
    return edit._replace(path=_joined(folder, edit.path), new_path=new_path)


def _is_unclear(edit: ShellEdit) -> bool:
    path = edit.path
    return not path.strip("./ ") or bool(_UNCLEAR.search(path) or _UNCLEAR.search(edit.new_path))


def _is_scratch(path: str, folder: str) -> bool:
    if path.endswith((".log", ".pid")) or "/.git/" in f"/{path}":
        return True
    lead = _SCRATCH.match(path)
    if lead is None:
        return False
    return lead[0] == "/dev/" or not (folder.startswith(lead[0]) and path.startswith(folder.rstrip("/") + "/"))
