"""Keys that their form alone reveals: private keys, signed tokens, password hashes.

Formats: RFC 7468 and RFC 4880 (armour), RFC 7519 (JWT), the age and BIP 32 specifications, crypt(5), and PHC's string
format for hashes.
"""

from __future__ import annotations

import re

from recollect.late import late_pattern
from recollect.privacy.detector import LINE_END, Detector, literals, prefixed, text_pattern
from recollect.privacy.plausibility import has_letter_and_digit

REVISION = 0
"""Raised whenever a change in this module can alter what is found, see `DETECTOR_VERSION`."""

_PEM_BODY = late_pattern(r"[A-Za-z0-9+/=]{32}", re.ASCII)
_PEM_HEADER_MAX_CHARS = 240


def _holds_key_material(block: str) -> bool:
    """Whether base64 follows soon after the header: prose that only names the header is no key."""
    return _PEM_BODY.search(block, 0, _PEM_HEADER_MAX_CHARS + 64) is not None


_PRIVATE_KEY = Detector(
    kind="private_key",
    literals=literals("-----BEGIN "),
    # To the footer; where that is missing, on through base64, armour headers, blanks and literal \n.
    pattern=text_pattern(
        r"(-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[^-]*+(?:-(?!----)[^-]*+)*+-----END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
        r"|[A-Za-z0-9+/=\s\\:,|\"'→]*+(?:-(?!----)[A-Za-z0-9+/=\s\\:,|\"'→]*+)*+))"
    ),
    validate=_holds_key_material,
)
_PUTTY_KEY = Detector(
    kind="private_key",
    literals=literals("Private-Lines: "),
    pattern=text_pattern(
        rf"Private-Lines: [0-9]{{1,3}}{LINE_END}([A-Za-z0-9+/=]{{32,}}+(?:{LINE_END}[A-Za-z0-9+/=]{{16,}}+)*+)"
    ),
)
_JWT = Detector(
    kind="jwt",
    literals=(b".eyJ",),
    pattern=text_pattern(r"(?<![A-Za-z0-9_-])(eyJ[A-Za-z0-9_-]{6,}+\.eyJ[A-Za-z0-9_-]{6,}+\.[A-Za-z0-9_-]{10,}+)"),
    anchored=False,
)
_PASSWORD_HASH = Detector(
    kind="password_hash",
    literals=literals(
        "$2a$",
        "$2b$",
        "$2x$",
        "$2y$",
        "$apr1$",
        "$1$",
        "$5$",
        "$6$",
        "$y$",
        "$argon2",
        "$pbkdf2",
        "pbkdf2_sha",
        "scrypt:",
        "$scrypt$",
        "{SSHA",
        "SCRAM-SHA-256$",
    ),
    pattern=text_pattern(
        r"(\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}|\$(?:apr1|1)\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}"
        r"|\$[56]\$(?:rounds=[0-9]{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43,86}+"
        r"|\$y\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}"
        r"|\$argon2(?:id|i|d)\$v=[0-9]{1,3}\$m=[0-9]{1,9},t=[0-9]{1,4},p=[0-9]{1,4}\$[A-Za-z0-9+/]{8,86}+\$[A-Za-z0-9+/]{16,172}+"
        r"|\{SSHA\}[A-Za-z0-9+/=]{28,}+)(?![./A-Za-z0-9])"
    ),
    validate=has_letter_and_digit,
)

KEYS: tuple[Detector, ...] = (
    _PRIVATE_KEY,
    _PUTTY_KEY,
    prefixed("age_key", ("AGE-SECRET-KEY-1",), r"[0-9A-Z]{58}"),
    prefixed("age_key", ("AGE-SECRET-KEY-PQ-1",), r"[0-9A-Z]{58,200}+"),
    prefixed("wallet_key", ("xprv", "yprv", "zprv"), r"[1-9A-HJ-NP-Za-km-z]{100,112}+"),
    prefixed("nostr_key", ("nsec1",), r"[02-9ac-hj-np-z]{58}"),
)
HASHES: tuple[Detector, ...] = (_PASSWORD_HASH,)
JWT: Detector = _JWT
