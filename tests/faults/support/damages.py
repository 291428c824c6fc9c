"""The table of damage and repair in `docs/how-to/repair-damage.md`, read as what it promises; and the damage itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw

HEADING = "## Damage and repair"
_CODE = re.compile(r"`([^`]+)`")
_SAID = re.compile(r"`recollect ([^`]+)`: \"([^\"]+)\"")
_COMMAND = re.compile(r"`recollect ([^`]+)`")
PAGE = 4096


class Promise(NamedTuple):
    """One row of the table, for one kind of damage."""

    file: str
    damage: str
    said: tuple[tuple[str, str], ...]
    works: tuple[str, ...]
    repairs: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file} {self.damage}"


def promises(page: Path) -> list[Promise]:
    """Return what the table says, a promise for every kind of damage in a row."""
    text = page.read_text("utf-8").partition(HEADING)[2].partition("\n## ")[0]
    rows = [line.strip().strip("|").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    found = []
    for file, damages, says, *rest in rows:
        said = tuple((command, words) for command, words in _SAID.findall(says))
        works, repairs = (tuple(_COMMAND.findall(cell)) for cell in rest)
        name = _CODE.findall(file)[0]
        found += [Promise(name, damage.strip(), said, works, repairs) for damage in damages.split(", ")]
    return found


def flip(path: Path, at: int) -> None:
    """Flip a bit at a place; of a database in the header of a page, in its log in the first frame."""
    data = bytearray(path.read_bytes())
    if path.name == "memory.db":
        at = next(page * PAGE for page in range(1, len(data) // PAGE) if data[page * PAGE] in (5, 13))
    elif path.name.endswith("-wal"):
        at = 40
    data[at] ^= 0x80
    path.write_bytes(data)


def cut_short(path: Path, at: int) -> None:
    """Leave a file only up to a place."""
    path.write_bytes(path.read_bytes()[:at])


def empty(path: Path, _at: int) -> None:
    """Leave a file without bytes."""
    path.write_bytes(b"")


def delete(path: Path, _at: int) -> None:
    """Remove a file."""
    path.unlink()


DAMAGES: dict[str, Callable[[Path, int], None]] = {
    "a flipped byte": flip,
    "cut short": cut_short,
    "emptied": empty,
    "deleted": delete,
}
OLDER = "an older copy"


def settle(home: Path) -> None:
    """Bring everything into the database file itself, so that it is all there is of the database."""
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    for suffix in ("-wal", "-shm"):
        (home / f"memory.db{suffix}").unlink(missing_ok=True)
