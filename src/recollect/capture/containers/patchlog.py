"""Reads a patch log, whose lines each change one document, and gives the parser its elements.

The dialect is that of VS Code's chat sessions: `kind` 0 the whole document, 1 set a path, 2 cut an array at `i` and
push, 3 remove a path. Evidence: format notes: VS Code Copilot Chat, "mutation log".
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.model.payloads import Json
from recollect.model.records import Changed

Path = tuple[str | int, ...]
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_ELEMENT_DEPTH = 4
"""A change below `requests[i].response[j]` is a change of that element."""
_MAX_STEPS = 64
_MAX_GAP = 1000
"""A longer path, and one that would put more than this many empty elements before its own, is not followed."""


class PatchFold:
    """Folds the lines of one revision in order. Tolerant: a missing path is created or ignored."""

    def __init__(self) -> None:
        self._document: Json = None

    def take(self, line: Json) -> tuple[Changed, ...]:
        """Apply a line and return the present state of the elements that it changed; none if nothing changed.

        The result is a copy, like the document's parts: later lines change neither earlier results nor earlier lines.
        """
        return tuple(change._replace(value=_copy(change.value)) for change in self._apply(line))

    def _apply(self, line: Json) -> tuple[Changed, ...]:
        if not isinstance(line, dict):
            return ()
        kind = line.get("kind")
        if kind == 0 and "v" in line:
            self._document = _own(line["v"])
            return (Changed((), self._document),)
        path = _path(line.get("k"))
        if path is None:
            return ()
        if kind == 1:
            return self._set(path, line.get("v"))
        if kind == 2:
            return self._splice(path, line)
        return self._remove(path) if kind == 3 else ()

    def _set(self, path: Path, value: Json) -> tuple[Changed, ...]:
        value = _own(value)
        if not path:
            self._document = value
            return (Changed((), value),)
        parent = self._reach(path[:-1], path[-1])
        if parent is None:
            return ()
        _put(parent, path[-1], value)
        return self._changed(path)

    def _splice(self, path: Path, line: dict[str, Any]) -> tuple[Changed, ...]:
        """Everything at and after `i` goes, also without `v`; a missing array is made."""
        array = self.at(path)
        is_made = not isinstance(array, list)
        if is_made:
            array = []
            parent = self._reach(path[:-1], path[-1]) if path else None
            if parent is None:
                return ()
            _put(parent, path[-1], array)
        out: list[Changed] = []
        start = line.get("i")
        if type(start) is int and 0 <= start < len(array):
            out = [Changed((*path, n), array[n], is_gone=True) for n in range(start, len(array))]
            del array[start:]
        pushed = line.get("v")
        if isinstance(pushed, list):
            first = len(array)
            array.extend(_own(pushed))
            out += [Changed((*path, n), array[n]) for n in range(first, len(array))]
        if len(path) >= _ELEMENT_DEPTH:
            return self._changed(path)
        return tuple(out) if out or not is_made else (Changed(path, array),)

    def _remove(self, path: Path) -> tuple[Changed, ...]:
        parent = self.at(path[:-1]) if path else None
        was = self.at(path)
        if isinstance(parent, dict) and isinstance(path[-1], str):
            parent.pop(path[-1], None)
        elif isinstance(parent, list) and isinstance(path[-1], int) and path[-1] < len(parent):
            parent[path[-1]] = None
        else:
            return ()
        return self._changed(path) if len(path) > _ELEMENT_DEPTH else (Changed(path, was, is_gone=True),)

    def _changed(self, path: Path) -> tuple[Changed, ...]:
        element = path[:_ELEMENT_DEPTH]
        return (Changed(element, self.at(element)),)

    def at(self, path: Path) -> Json:
        """Return the value at a path of the folded document, None without one."""
        node = self._document
        for step in path:
            if isinstance(node, dict) and isinstance(step, str):
                node = node.get(step)
            elif isinstance(node, list) and isinstance(step, int) and step < len(node):
                node = node[step]
            else:
                return None
        return node

    def _reach(self, path: Path, last: str | int) -> dict[str, Any] | list[Any] | None:
        """Return the container at a path, made where it is missing; None where something else is in the way."""
        steps = (*path, last)
        node: Any = self._document
        if not isinstance(node, dict | list):
            if _is_far(steps):
                return None
            node = self._document = {} if isinstance(steps[0], str) else []
        for n, step in enumerate(path):
            found = self.at(path[: n + 1])
            if not isinstance(found, dict | list):
                if not _fits(node, step) or _is_far(steps[n + 1 :]):
                    return None
                found = {} if isinstance(steps[n + 1], str) else []
                _put(node, step, found)
            node = found
        return node if _fits(node, last) else None


def _own(value: Json) -> Json:
    """Return a copy, or the value itself where it is too deep to be copied."""
    copied = _copy(value)
    return value if copied is None else copied


def _copy(value: Json) -> Json:
    if not isinstance(value, dict | list):
        return value
    try:
        return _decode(_encode(value))
    except (RecursionError, ValueError):
        return None


def _fits(node: Any, step: str | int) -> bool:
    if isinstance(step, str):
        return isinstance(node, dict)
    return isinstance(node, list) and step <= len(node) + _MAX_GAP


def _is_far(steps: Path) -> bool:
    """Return whether a path points too far beyond the end of an array."""
    return any(isinstance(step, int) and step > _MAX_GAP for step in steps)


def _put(node: Any, step: str | int, value: Json) -> None:
    if isinstance(node, list) and isinstance(step, int):
        node.extend([None] * (step + 1 - len(node)))
    node[step] = value


def _path(value: Json) -> Path | None:
    if not isinstance(value, list) or len(value) > _MAX_STEPS:
        return None
    steps: list[str | int] = []
    for step in value:
        if isinstance(step, str) or (type(step) is int and step >= 0):
            steps.append(step)
        else:
            return None
    return tuple(steps)
