"""Formats and parses counts, sizes and durations.

Sizes are shown in decimal units (1 kB is 1,000 bytes). Limits that the code sets are powers of two and are shown in
binary units (64 MiB). The parser reads both. Standard library only.
"""

from __future__ import annotations

import re

DURATION_UNITS = {
    "ms": 0.001, "s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800, "mo": 30 * 86_400, "y": 365 * 86_400,
}  # fmt: skip
"""Seconds in a unit of time. A month has 30 days and a year 365."""
DURATION_FORMS = "a number with a unit (ms, s, min, h, d, w, mo, y), such as 90 s, 2 h 5 min or 6 w"
SIZE_FORMS = "a number of bytes or one with a unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), such as 500 MB or 4 GiB"

_DECIMAL = ("B", "kB", "MB", "GB", "TB")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_SIZE_UNITS: dict[str, int] = {
    unit.lower(): base**power for base, units in ((1000, _DECIMAL), (1024, _BINARY)) for power, unit in enumerate(units)
}
_AMOUNT = r"((?:\d{1,3}(?:,\d{3}){1,5}|\d{1,18})(?:\.\d{1,9})?)"
# Compiled when first used: this is imported at every start, and few starts read a size or a length of time.
_SIZE = rf"{_AMOUNT}\s*([A-Za-z]*)"
_DURATION = rf"{_AMOUNT}\s*({'|'.join(DURATION_UNITS)})(?:\s+|\Z|(?=\d))"


def count(number: int) -> str:
    """Return `12,345`."""
    return f"{number:,}"


def plural(number: int, one: str, many: str = "") -> str:
    """Return `1 event`, `2 events`. many: the plural of a word that takes more than an `s` (`entry`, `entries`)."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def size(count_bytes: float, *, binary: bool = False) -> str:
    """Return `12.3 MB`. binary: return `64 MiB`, for a limit that is a power of two."""
    base, units = (1024, _BINARY) if binary else (1000, _DECIMAL)
    amount, unit = float(count_bytes), units[0]
    for unit in units:
        if abs(amount) < base - 0.5 or unit == units[-1]:
            break
        amount /= base
    text = f"{amount:.0f}" if unit == "B" or abs(amount) >= 99.95 else f"{amount:.1f}"
    return f"{text.removesuffix('.0') if binary else text} {unit}"


def usd(amount: float | None) -> str:
    """Return `$1.23`; a dash where no price is known."""
    if amount is None:
        return "-"
    return f"${amount:,.2f}" if amount >= 0.01 or amount == 0 else f"${amount:.4f}"


def short_count(number: float) -> str:
    """Return a number in three digits or so: `2.5M`."""
    for size_, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size_:
            return f"{number / size_:.3g}{letter}"
    return f"{number:.3g}"


def parse_size(text: str) -> int:
    """Return a number of bytes. Upper and lower case mean the same. Raises ValueError, which says what is accepted."""
    found = re.fullmatch(_SIZE, text.strip(), re.ASCII)
    unit = _SIZE_UNITS.get(found[2].lower() or "b") if found else None
    if found is None or unit is None:
        raise ValueError(f"{text!r} is not a size: write {SIZE_FORMS}")
    return round(_number(found[1]) * unit)


def duration(seconds: float) -> str:
    """Return `240 ms`, `3.2 s`, `12 min 5 s` or `2 h 5 min`."""
    milliseconds = round(seconds * 1000)
    if 0 < milliseconds < 1000:
        return f"{milliseconds} ms"
    if seconds < 59.95:
        return f"{f'{seconds:.1f}'.removesuffix('.0')} s"
    if round(seconds) < 3_600:
        return _pair(round(seconds), "min", "s")
    return _pair(round(seconds / 60), "h", "min")


def parse_duration(text: str, *, unit: str = "") -> float:
    """Return a number of seconds. unit: what a number without a unit counts. Raises ValueError, which says what is
    accepted."""
    word = text.strip()
    if unit and re.fullmatch(_AMOUNT, word, re.ASCII):
        word += unit
    at, total = 0, 0.0
    part = re.compile(_DURATION, re.ASCII)
    while found := part.match(word, at):
        total += _number(found[1]) * DURATION_UNITS[found[2]]
        at = found.end()
    if not word or at < len(word):
        raise ValueError(f"{text!r} is not a length of time: write {DURATION_FORMS}")
    return total


def _pair(amount: int, whole: str, rest: str) -> str:
    """Return sixtieths in two units, `2 h 5 min`; in one if nothing is left over."""
    return f"{amount // 60:,} {whole}" + (f" {amount % 60} {rest}" if amount % 60 else "")


def _number(text: str) -> float:
    digits = text.replace(",", "")
    return float(digits) if "." in digits else int(digits)
