"""Tells whether what a statement says is changed in the same breath: "we keep it in localStorage, move it to a cookie".

Then the statement only says how things are; what is decided stands behind it.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.late import late_pattern

_HOW_IT_IS: Final = late_pattern(
    r"\W*(?:(?:currently|today|(?:right )?now|so far|at the moment|bisher|derzeit|momentan|aktuell|actuellement|hoy"
    r"|actualmente)\W+)?(?:we|wir|on|nous)\b"
    r"(?!['’]ll|\W*(?:will|should|must|want|need|are going|sollten|wollen|müssen))"
    r"|[^.!?;:,\n]{1,80}?\b(?:is|are|lives?|sits?|goe?s?|stays?|belongs?) (?:now |still |currently )?"
    r"(?:(?:stored|kept|saved|put|written|defined) )?(?:in|into|on|under|at)\b"
    r"|[^.!?;:,\n]{1,80}?\b(?:liegt|liegen|steht|stehen|ist|sind) (?:\w+ )?(?:in|im|auf|unter)\b"
    r"|[^.!?;:,\n]{1,80}?\b(?:est|sont|se guardan?|está|están)\b",
    re.IGNORECASE,
)
_THEM: Final = r"(?:it|that|this|them|those|these)"
_CHANGED: Final = late_pattern(
    r"[^.!?;:\n]{0,60}?(?:[.!?;:,–—-]|\band\b|\bund\b|\bet\b|\by\b)\s*"
    r"(?:(?:no|wait|please|so|but|and|now|then|actually|just|let['’]s|can you|could you|i want you to|nein|bitte|aber"
    r"|also|jetzt|dann|mais|alors|pero|por favor)[\s,]+){0,4}"
    rf"(?:(?:move|switch|change|migrate|convert|turn|port|shift) {_THEM} (?:over )?(?:to|into|onto)\b"
    rf"|(?:replace|swap) {_THEM} (?:with|for|by)\b|put {_THEM} (?:in|into|on)\b.{{2,40}}\binstead\b"
    r"|(?:verschieb|änder|stell|leg|pack|zieh|wechsel|ersetz)\w* (?:ihn|sie|es|das|die|den)\b"
    r"|[^.!?;\n]{3,50} (?:verschieben|umstellen|umziehen|auslagern)\b"
    r"|(?:déplace|mets|change|remplace|passe)[\w-]*-l(?:e|a|es)\b"
    r"|(?:muéve|cámbia|pón|pása|mígra|reemplaza)\w*l[oa]s?\b)",
    re.IGNORECASE,
)


def is_changed_next(text: str, start: int, end: int) -> bool:
    """Return whether the words from `start` on say how something is, and those behind `end` order to change it."""
    return _HOW_IT_IS.match(text, start) is not None and _CHANGED.match(text, end) is not None
