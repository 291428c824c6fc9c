"""Makes the dictionary of the database's compressed values (`src/recollect/store/values.zdict`) from a home.

A value of a few hundred bytes is mostly the names of its fields, which a dictionary has once for all values. It must
hold no words of anybody: keys and values that many sessions have stay, every other string becomes random letters and
digits of its shape before training. Run it over the home of a generated corpus:

    python scripts/build_dictionary.py HOME

Values name the dictionary that they need by its number. One that was ever released stays in the package, and a new one
takes another number.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import string
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zstandard

from recollect.store.bodies import DICTIONARY_FILE, DICTIONARY_ID, decode_bodies_at_once, decompress
from recollect.store.connection import open_to_read

BYTES = 16 * 1024
LEVEL = 3
TABLES = ("node", "signal", "block")
SAMPLES = 4_000
"""Of each kind of value."""
COMMON_SHARE = 0.02
"""A string that stands in so many of the samples is no one's words."""
_HASH = re.compile(r"[0-9a-f]{8,}")
_PIECE = re.compile(r"[0-9a-f]{8,}|[A-Za-z]+|\d+")


def values(home: Path) -> Iterator[list[Any]]:
    """Yield the values of each kind, decoded."""
    with open_to_read(home) as db:
        nodes, signals, blocks = (list[Any](db.execute(f"SELECT data FROM {table}")) for table in TABLES)
    yield from ([json.loads(decompress(data)) for (data,) in rows] for rows in (nodes, signals))
    yield [json.loads(body.body) for (data,) in blocks for body in decode_bodies_at_once(data)]


def strings(value: Any) -> Iterator[str]:
    """Yield every string of a value that is no key."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def disguised(value: Any, common: frozenset[str], chance: random.Random) -> Any:
    """Return a value with everything random in its strings that is not common."""
    if isinstance(value, str):
        return value if value in common else _PIECE.sub(lambda piece: _other(piece[0], common, chance), value)
    if isinstance(value, dict):
        return {key: disguised(item, common, chance) for key, item in value.items()}
    if isinstance(value, list):
        return [disguised(item, common, chance) for item in value]
    return value


def _other(piece: str, common: frozenset[str], chance: random.Random) -> str:
    if len(piece) == 1 or piece in common:
        return piece
    letters = string.hexdigits[:16] if _HASH.fullmatch(piece) else string.ascii_lowercase
    return "".join(chance.choice(string.digits if piece.isdecimal() else letters) for _ in piece)


def main() -> None:
    """Train, and write the dictionary where the package has it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    home = parser.parse_args().home
    chance = random.Random(1)
    samples = [chance.sample(found, min(SAMPLES, len(found))) for found in values(home)]
    wholes = [whole for found in samples for value in found for whole in set(strings(value))]
    counted = Counter(text for whole in wholes for text in {whole, *whole.split(":")})
    least = COMMON_SHARE * min(map(len, samples))
    common = frozenset(
        text for text, count in counted.items() if count >= least and text.replace("_", "").replace(".", "").isalpha()
    )
    hidden = [disguised(value, common, chance) for found in samples for value in found]
    plain: list[Any] = [json.dumps(value, separators=(",", ":")).encode() for value in hidden]
    trained = zstandard.train_dictionary(BYTES, plain, level=LEVEL, dict_id=DICTIONARY_ID)
    DICTIONARY_FILE.write_bytes(trained.as_bytes())
    print(f"{len(plain)} values, kept as they are: {', '.join(sorted(common))}")


if __name__ == "__main__":
    main()
