"""Many texts prepared at once, vectorised, at some 150 MB/s. What comes of them: `preparation`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recollect.index.text.preparation import PLAIN, Prepared, blank_long_terms, with_small_letters
from recollect.index.text.schema import MAX_TERM_BYTES

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.intp]

_PASS_BYTES = 200_000
"""Texts of one pass together: larger temporaries leave the processor's cache (measured best of 40 to 400 KB)."""

_BLANK = 0x20
_ASCII_ONLY = bytes(b if b < 0x80 else _BLANK for b in range(256))
_E2_CASED = np.isin(np.arange(256), (0x84, 0x85, 0x92, 0x93, 0xB0, 0xB1, 0xB2, 0xB3))


def prepare_many(pieces: Sequence[bytes]) -> list[Prepared]:
    """Prepare many cleaned texts; one result a text, in order."""
    results: list[Prepared] = []
    first = size = 0
    for i, piece in enumerate(pieces):
        size += len(piece)
        if size >= _PASS_BYTES or i == len(pieces) - 1:
            results += _prepare_pass(pieces[first : i + 1])
            first, size = i + 1, 0
    return results


def _prepare_pass(pieces: Sequence[bytes]) -> list[Prepared]:
    # A blank after each text keeps words apart; all positions are in this joined buffer.
    joined = b" ".join((*pieces, b""))
    ends = np.cumsum(np.fromiter((len(p) + 1 for p in pieces), np.intp, len(pieces)))
    plain = joined.translate(PLAIN)
    is_ascii = joined.isascii()
    breaks = _camel_breaks(np.frombuffer(joined, np.uint8))
    identifiers: dict[int, bytes] = {}
    if len(breaks):
        breaks, identifiers = _identifiers(joined, plain if is_ascii else plain.translate(_ASCII_ONLY), breaks, ends)
    with_case: set[int] = set()
    if not is_ascii:
        data = np.frombuffer(joined, np.uint8)
        with_case = set(np.searchsorted(ends, _cased(data), side="right").tolist())
        unspaced = _unspaced_breaks(data)
        breaks = np.union1d(breaks, unspaced) if len(unspaced) else breaks
    spread = _without_long_runs(_insert_spaces(plain, breaks))
    stops = (ends + np.searchsorted(breaks, ends)).tolist()
    results: list[Prepared] = []
    start = 0
    for i, stop in enumerate(stops):
        text = spread[start : stop - 1].decode("utf-8", "replace")  # the blank that follows it is part of its range
        names = identifiers.get(i, b"").decode()
        prepared = Prepared(text, names)
        results.append(with_small_letters(prepared, pieces[i]) if i in with_case else prepared)
        start = stop
    return results


def _camel_breaks(data: _Bytes) -> _Positions:
    """Positions of the capitals that begin a part of a camelCase word, ascending."""
    capitals = np.flatnonzero(_is_letter(data, "A"))
    capitals = capitals[(capitals > 0) & (capitals < len(data) - 1)]
    before, is_before_small = data[capitals - 1], _is_letter(data[capitals + 1], "a")
    # HTTPServer: a capital after a capital and before a small letter begins a part.
    begins: _Positions = capitals[_is_letter(before, "a") | (_is_letter(before, "A") & is_before_small)]
    return begins


def _is_letter(data: _Bytes, first: str) -> NDArray[np.bool_]:
    """Tell which bytes are ASCII letters of the case of `first`, "a" or "A". Smaller bytes wrap around."""
    return (data - np.uint8(ord(first))) < 26


def _identifiers(
    joined: bytes, runs: bytes, breaks: _Positions, ends: _Positions
) -> tuple[_Positions, dict[int, bytes]]:
    """Return the breaks that stand, and per text the identifiers they take apart: unique, lower case, by blanks.

    runs: the same text, blank where a run of ASCII letters, digits and underscores ends. Breaks inside a run of letters
    and digits longer than a term are dropped.
    """
    blanks = np.flatnonzero(np.frombuffer(runs, np.uint8) == _BLANK)
    after = np.searchsorted(blanks, breaks)  # never past the end: the last byte is a blank
    starts = np.where(after > 0, blanks[after - 1] + 1, 0)
    stops = blanks[after]
    is_word = stops - starts <= MAX_TERM_BYTES
    stands = is_word.copy()
    for i in np.flatnonzero(~is_word).tolist():
        place, start, stop = int(breaks[i]), int(starts[i]), int(stops[i])
        first = runs.rfind(b"_", start, place) + 1 or start
        last = runs.find(b"_", place, stop)
        stands[i] = (stop if last < 0 else last) - first <= MAX_TERM_BYTES
    is_word &= np.diff(starts, prepend=-1) > 0  # each once, however often it is broken
    starts, stops = starts[is_word], stops[is_word]
    words = [joined[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
    owner = np.searchsorted(ends, starts, side="right")
    bounds = np.flatnonzero(np.diff(owner, prepend=-1, append=len(ends))).tolist()
    found = {int(owner[a]): b" ".join(dict.fromkeys(words[a:b])).lower() for a, b in pairwise(bounds)}
    return breaks[stands], found


def _without_long_runs(text: bytes) -> bytes:
    """Return the text with every run of letters and digits blanked that is longer than a term."""
    # A run of more than 64 bytes has 7 whole words of 8 bytes without a blank.
    size = len(text) // 8 * 8
    full = ~(np.frombuffer(text, np.uint8, size) == _BLANK).view(np.uint64).astype(np.bool_)
    for step in (1, 2, 3):
        full = full[:-step] & full[step:]
    suspects = np.flatnonzero(full)
    if not len(suspects):
        return text
    found = bytearray(text)
    stop = 0
    for suspect in (suspects * 8).tolist():
        if suspect >= stop:
            start = text.rfind(b" ", 0, suspect) + 1
            stop = text.find(b" ", suspect)
            stop = len(text) if stop < 0 else stop
            found[start:stop] = blank_long_terms(text[start:stop])
    return bytes(found)


def _cased(data: _Bytes) -> _Positions:
    """Where letters beyond ASCII begin that may have a small form; few others share their first two bytes."""
    leads = np.flatnonzero(data >= 0xC3)
    first, second = data[leads], data[leads + 1]  # never past the end: the last byte is a blank
    found = (first <= 0xD6) | (first == 0xE1) | ((first == 0xEA) & (second < 0xB0))
    # Among the many symbols of these ranges: Roman numerals (not arrows), letters in circles, a few old scripts.
    found |= (first == 0xE2) & (_E2_CASED[second] | ((second == 0x86) & (data[leads + 2] < 0x90)))
    found |= ((first == 0xEF) & (second == 0xBC)) | ((first == 0xF0) & (second != 0x9F))
    places: _Positions = leads[found]
    return places


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
