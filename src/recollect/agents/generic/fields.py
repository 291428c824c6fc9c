"""The fields of one record by dotted paths, and what is left when all that is described was used."""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.values import text
from recollect.model.payloads import Json

Path = tuple[str, ...]


def path_of(written: str) -> Path:
    """Return a dotted path as its names; empty for none."""
    return tuple(written.split(".")) if written else ()


def value_at(value: Json, path: Path) -> Json:
    """Return what stands at a path, None where there is nothing."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value if path else None


def text_at(value: Json, path: Path) -> str:
    """Return the text at a path, "" where there is none."""
    return text(value_at(value, path))


class Fields:
    """A record whose fields are taken one by one; `left` is the rest."""

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value
        self._used: set[Path] = set()

    def value(self, path: Path) -> Json:
        """Take what stands at a path, None where there is nothing."""
        found = value_at(self._value, path)
        if found is not None:
            self._used.add(path)
        return found

    def text(self, path: Path) -> str:
        """Take the text at a path. What is no text is left."""
        found = text_at(self._value, path)
        if found:
            self._used.add(path)
        return found

    def use(self, path: Path) -> None:
        """Leave out what stands at a path."""
        self._used.add(path)

    def give_back(self, path: Path) -> None:
        """Leave what was taken after all."""
        self._used.discard(path)

    def left(self) -> dict[str, Json]:
        """Return the fields that were not taken, those inside objects by dotted names."""
        return dict(self._left(self._value, ()))

    def _left(self, value: dict[str, Any], above: Path) -> list[tuple[str, Json]]:
        out: list[tuple[str, Json]] = []
        for key, item in value.items():
            path = (*above, key)
            if path in self._used:
                continue
            if isinstance(item, dict) and any(used[: len(path)] == path for used in self._used):
                out += self._left(item, path)
            else:
                out.append((".".join(path), item))
        return out
