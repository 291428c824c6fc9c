"""Secrets in session ids and source paths: these are keys and stay exact, but are never shown.

Which names contain one is found when they come in and kept in `meta`, with their redacted spelling. Whoever opens the
memory to read has `recollect.visible` write the redacted spelling instead, in whatever is shown.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recollect.config import PrivacyConfig
from recollect.model.marker import replaced_by_markers
from recollect.store.meta import NAME_KINDS, NameKind, names_above, names_of, read_mark, write_mark
from recollect.visible import hide

if TYPE_CHECKING:
    from recollect.store.rows import TextRedactor

_MARK = "secret_names"


class _Known(msgspec.Struct):
    """What was looked at. detectors: in force then; upto: the highest number, by kind; redacted: the spelling of names
    that contain a secret."""

    detectors: str = ""
    upto: dict[str, int] = {}
    redacted: list[tuple[NameKind, int, str]] = []


def note_secret_names(home: Path, redactor: TextRedactor, privacy: PrivacyConfig) -> None:
    """Look for secrets in the names that came since, or in all after a change of detectors. Raises RecollectError."""
    from recollect.privacy.redact import detectors_in_force

    known = _read(home)
    detectors = detectors_in_force(privacy)
    if known.detectors != detectors:
        known = _Known(detectors)
    new = names_above(home, known.upto)
    if not new:
        return
    for name in new:
        text, found = redactor.redact_text(name.text)
        if found:
            known.redacted.append((name.kind, name.number, text))
        known.upto[name.kind] = max(known.upto.get(name.kind, 0), name.number)
    write_mark(home, _MARK, msgspec.json.encode(known).decode())


def hide_secret_names(home: Path) -> None:
    """Show the secrets in known names as markers from now on. Raises RecollectError."""
    spelled = {(kind, number): text for kind, number, text in _read(home).redacted if kind in NAME_KINDS}
    if spelled:
        shown: dict[str, str] = {}
        for name in names_of(home, spelled):
            shown.update(replaced_by_markers(name.text, spelled[name.kind, name.number]))
        hide(shown)


def _read(home: Path) -> _Known:
    text = read_mark(home, _MARK)
    try:
        return msgspec.json.decode(text, type=_Known) if text else _Known()
    except msgspec.MsgspecError:
        return _Known()
