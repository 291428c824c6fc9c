"""Text made ready for the engine's plain tokenizer, vectorised over many documents at once.

The engine splits at everything that is not a letter or digit; its regular-expression tokenizer does the rest
of what is wanted at 4 MB/s, this does it at some 200 MB/s. Three things are prepared: camelCase is taken apart
by inserting a space, characters of scripts that write no spaces become words of their own, and all that JSON
would escape becomes a space, so that the text can be put into a JSON string as it is.

Identifiers that were taken apart by case are given whole besides, in lower case. Those in snake_case are not:
their parts stand side by side, so that a phrase finds them; indexing them twice cost a third more time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_TERM_BYTES = 64
"""Longer runs of letters and digits (base64, minified text) are not terms. A SHA-256 in hex still is one."""

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.intp]

_PASS_BYTES = 120_000
"""Texts of one pass together: larger temporaries leave the processor's cache (measured best of 30 KB to 2 MB)."""

_OTHER, _LOWER, _UPPER, _JOINS = range(4)
_CLASSES = bytes(
    _LOWER if 97 <= b <= 122 else _UPPER if 65 <= b <= 90 else _JOINS if 48 <= b <= 57 or b == 95 else _OTHER
    for b in range(256)
)
_TO_SPACE = bytes(0x20 if b < 0x20 or b in b'"\\\x7f' else b for b in range(256))
_ANSI = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
_LATIN_WORD = re.compile("[a-z\u00df-\u024f\u1e00-\u1eff]+")
_NO_MARK = dict.fromkeys(range(768, 880))


class Prepared(NamedTuple):
    """One prepared text: what goes into its field, safe inside a JSON string, and its identifiers in lower case."""

    text: bytes
    identifiers: bytes


def fold_accents(word: str) -> str:
    """Return the word with accents taken off Latin letters: `résumé` becomes `resume`."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", word).translate(_NO_MARK))


def clean(text: str) -> bytes:
    """Return the text as NFC UTF-8, with terminal colours and escaped line breaks (`\\n` as two characters) blanked.

    Where a Windows drive occurs, backslashes are left alone: `C:\\new` is a folder.
    """
    if not text.isascii() and not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    data = text.encode("utf-8", "replace")
    if b"\\" in data and b":\\" not in data:
        data = data.replace(b"\\n", b"  ").replace(b"\\t", b"  ").replace(b"\\r", b"  ")
    if b"\x1b" in data:
        data = _ANSI.sub(b" ", data)
    return data


def prepare(pieces: Sequence[bytes]) -> list[Prepared]:
    """Prepare many cleaned texts (see `clean`); one result a text, in order."""
    results: list[Prepared] = []
    first = size = 0
    for i, piece in enumerate(pieces):
        size += len(piece)
        if size >= _PASS_BYTES or i == len(pieces) - 1:
            results += _prepare_pass(pieces[first : i + 1])
            first, size = i + 1, 0
    return results


def prepare_one(text: str) -> Prepared:
    """Prepare one text, by the same rules; for queries and tests."""
    return prepare([clean(text)])[0]


def latin_folds(text: str) -> set[str]:
    """Return the accent-free form of every Latin word of the text that has an accent, in lower case."""
    chunks = {chunk for chunk in text.lower().split() if not chunk.isascii()}
    words = {word for chunk in chunks for word in _LATIN_WORD.findall(chunk) if not word.isascii()}
    return {fold for word in words if (fold := fold_accents(word)).isascii() and len(fold) <= MAX_TERM_BYTES}


def _prepare_pass(pieces: Sequence[bytes]) -> list[Prepared]:
    # A blank after each text keeps words apart; all positions are in this joined buffer.
    joined = b" ".join((*pieces, b""))
    ends = np.cumsum(np.fromiter((len(p) + 1 for p in pieces), np.intp, len(pieces)))
    classes = joined.translate(_CLASSES)
    breaks = _camel_breaks(np.frombuffer(classes, np.uint8))
    identifiers: dict[int, bytes] = {}
    if len(breaks):
        breaks, identifiers = _identifiers(joined, classes, breaks, ends)
    if not joined.isascii():
        breaks = np.union1d(breaks, _unspaced_breaks(np.frombuffer(joined, np.uint8)))
    spread = _insert_spaces(joined.translate(_TO_SPACE), breaks)
    stops = (ends + np.searchsorted(breaks, ends)).tolist()
    # The blank that follows each text is part of its range.
    bounds = enumerate(zip([0, *stops[:-1]], stops, strict=True))
    return [Prepared(spread[a : b - 1], identifiers.get(i, b"")) for i, (a, b) in bounds]


def _camel_breaks(classes: _Bytes) -> _Positions:
    """Positions of the capitals that begin a part of a camelCase word, ascending."""
    capitals = np.flatnonzero(classes == _UPPER)
    capitals = capitals[(capitals > 0) & (capitals < len(classes) - 1)]
    before, after = classes[capitals - 1], classes[capitals + 1]
    # HTTPServer: a capital after a capital and before a small letter begins a part.
    begins: _Positions = capitals[(before == _LOWER) | ((before == _UPPER) & (after == _LOWER))]
    return begins


def _identifiers(
    joined: bytes, classes: bytes, breaks: _Positions, ends: _Positions
) -> tuple[_Positions, dict[int, bytes]]:
    """Return the breaks that stand, and per text the identifiers they take apart: unique, lower case, by blanks.

    Breaks inside a run of letters and digits longer than a term are dropped.
    """
    others = np.flatnonzero(np.frombuffer(classes, np.uint8) == _OTHER)
    after = np.searchsorted(others, breaks)  # never past the end: the last byte is a blank
    starts = np.where(after > 0, others[after - 1] + 1, 0)
    stops = others[after]
    too_long = stops - starts > MAX_TERM_BYTES
    if too_long.any():
        stands = ~too_long
        for i in np.flatnonzero(too_long).tolist():
            place, first = int(breaks[i]), int(starts[i])
            run_start = joined.rfind(b"_", first, place) + 1 or first
            run_stop = joined.find(b"_", place, int(stops[i]))
            stands[i] = (int(stops[i]) if run_stop < 0 else run_stop) - run_start <= MAX_TERM_BYTES
        breaks = breaks[stands]
    starts, chosen = np.unique(starts[~too_long], return_index=True)
    stops = stops[~too_long][chosen]
    words = [joined[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
    owner = np.searchsorted(ends, starts, side="right")
    bounds = np.flatnonzero(np.diff(owner, prepend=-1)).tolist()
    found: dict[int, bytes] = {}
    if not words:
        return breaks, found
    for a, b in zip(bounds, [*bounds[1:], len(words)], strict=True):
        found[int(owner[a])] = b" ".join(dict.fromkeys(words[a:b])).lower()
    return breaks, found


def _unspaced_breaks(data: _Bytes) -> _Positions:
    """Breaks before and after every Han, kana and Hangul character (UTF-8 leads E3..E9, EA B0..ED 9E, F0 A0..)."""
    leads = np.flatnonzero(data >= 0xE3)
    leads = leads[leads + 2 < len(data)]
    first, second = data[leads], data[leads + 1]
    three = (first <= 0xE9) | ((first == 0xEA) & (second >= 0xB0)) | ((first > 0xEA) & (first <= 0xED))
    four = (first == 0xF0) & (second >= 0xA0)
    starts = leads[three | four]
    return np.concatenate((starts, leads[three] + 3, np.minimum(leads[four] + 4, len(data))))


def _insert_spaces(data: bytes, breaks: _Positions) -> bytes:
    if not len(breaks):
        return data
    places = breaks.tolist()
    return b" ".join([data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)])
