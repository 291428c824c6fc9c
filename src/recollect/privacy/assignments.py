r"""Secrets that only their name gives away: `password = "…"`, `API_KEY=…`, `--token …`, JSON and YAML members.

A name ends in one of the telling words, spelled `api_key`, `api-key`, `apikey`, `apiKey`, `ApiKey`, `Api-Key`,
`API_KEY`, `API-KEY` or `APIKEY`; whatever stands before it (`DB_`, `my.`) does not matter. The value must then pass a
rule of `plausibility`, which is where false alarms are kept out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from recollect.privacy.plausibility import holds_login, holds_session, plausible_password, plausible_token
from recollect.privacy.shapes import Detector, raw_pattern, text_pattern

PASSWORD_NAMES = ("password", "passwd", "passphrase", "passcode", "pwd")
_SHORT_PASSWORD_NAMES = ("_pass", "_PASS", "-pass")
_SHORT_TOKEN_NAMES = ("_pat", "_PAT", "_jwt", "_JWT")
TOKEN_NAMES = (
    "secret",
    "token",
    "api key",
    "access key",
    "secret key",
    "private key",
    "auth key",
    "encryption key",
    "signing key",
    "master key",
    "credential",
    "credentials",
    "authorization",
)
_RARER_TOKEN_NAMES = (
    "app key",
    "application key",
    "account key",
    "admin key",
    "client key",
    "consumer key",
    "deploy key",
    "hmac key",
    "license key",
    "private key id",
    "recovery key",
    "service key",
    "session key",
    "shared key",
    "storage key",
    "subscription key",
    "webhook key",
)
AWS_SECRET_NAMES = ("secret access key", "aws secret key", "aws secret")
_FLAG_PREFIXES = ("--", "--db-", "--client-", "--auth-", "--access-", "--user-", "--admin-", "--root-", "--bot-")

# What may stand between a name and its value: closing quotes (also escaped), blanks, one separator, opening quotes.
_SEPARATOR = r"""[\\"'`]{0,8}\]?[ \t]{0,16}(?::=|=>|[:=])[ \t]{0,16}[\\"'`]{0,8}"""
# What follows the name at once in every such text; a literal is a spelled name and one of these.
_ENDINGS = ('"', "'", "\\", "`", "]", "=", ":", " =", " :", "  ", " \t", " \\", "\t")
_VALUE = (
    r"""((?<=")[^\x00-\x20"\\]{6,2048}+|(?<=')[^\x00-\x20"'\\]{6,2048}+|(?<=`)[^\x00-\x20"`\\]{6,2048}+"""
    r"""|[^\x00-\x20"'`\\,;&|<>(){}\[\]]{6,2048}+(?![(\[{<]))"""
)
# The same in JSON bytes: separators with their escapes, then a value; or a key of the record itself with
# its value. What both rules of `plausibility` ask of any value is asked here too: a digit or, in letters alone, humps.
# Five characters, not six: a value that begins with t may lose it to what looks like an escaped tab.
_RAW_VALUE = (
    r"""(?=(?:[^\x00-\x20"\\]|\\/|\\u[0-9A-Fa-f]{4}){5})"""
    r"""(?:(?:[^\x00-\x20"\\0-9]++|\\/|\\u[0-9A-Fa-f]{4})*+[0-9]|(?:[a-z]*+[A-Z]++){4})"""
)
_RAW_MEMBER = r"""(?:(?:[^"\\\x00-\x200-9]++|\\.)*+[0-9]|(?:[a-z]*+[A-Z]++){4})"""
_RAW_ASSIGNED = (
    r"[A-Za-z_-]{3,32}+(?:"
    rf"""(?:\\t|[\\"'`\] \t]){{0,64}}+(?::=|=>|[:=])(?:\\t|[\\"'` \t]){{0,64}}+{_RAW_VALUE}"""
    rf"""|"[ \t\r\n]{{0,64}}:[ \t\r\n]{{0,64}}"{_RAW_MEMBER})"""
)
_RAW_FLAG = rf"""--[A-Za-z_-]{{3,40}}+(?:\\t|[\\"'` \t]){{1,64}}+{_RAW_VALUE}"""


def spellings(name: str) -> tuple[str, ...]:
    """Return the ways a name of one or more words is written in code, sorted."""
    words = name.split()
    found = {words[0] + "".join(w.title() for w in words[1:])}
    for joint in ("", "_", "-"):
        found |= {joint.join(words), joint.join(words).upper(), joint.join(w.title() for w in words)}
    return tuple(sorted(found))


def _usual_spellings(name: str) -> tuple[str, ...]:
    """Return the ways most people write a name: every further one makes the matcher of each process slower to build."""
    words = name.split()
    snake = "_".join(words)
    return (words[0] + "".join(w.title() for w in words[1:]), snake, snake.upper(), "-".join(w.title() for w in words))


def _spelled(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({s for name in names for s in spellings(name)}))


def _any_of(names: Iterable[str]) -> str:
    return "(?:" + "|".join(re.escape(n) for n in sorted(names, key=lambda n: (-len(n), n))) + ")"


def _assigned(
    kind: str, names: tuple[str, ...], *, value: str = _VALUE, validate: Callable[[str], bool] | None = None
) -> Detector:
    return Detector(
        kind=kind,
        literals=tuple((name + ending).encode("ascii") for name in names for ending in _ENDINGS),
        pattern=text_pattern(rf"(?<!ublicKey){_any_of(names)}{_SEPARATOR}(?={value})"),
        group=1,
        raw=raw_pattern(_RAW_ASSIGNED),
        validate=validate,
    )


def _flagged(kind: str, names: tuple[str, ...], validate: Callable[[str], bool]) -> Detector:
    """Return the detector of `--password VALUE`: only whole options, because prose has blanks after names too."""
    words = {name.replace(" ", joint) for name in names for joint in ("-", "_", "")}
    options = tuple(sorted(prefix + word for prefix in _FLAG_PREFIXES for word in words))
    return Detector(
        kind=kind,
        literals=tuple((option + blank).encode("ascii") for option in options for blank in (" ", "\t", "\\")),
        pattern=text_pattern(rf"""{_any_of(options)}[ \t]{{1,4}}[\\"'`]{{0,8}}(?={_VALUE})"""),
        group=1,
        raw=raw_pattern(_RAW_FLAG),
        validate=validate,
    )


def _is_aws_secret(value: str) -> bool:
    return any(c.islower() for c in value) and any(c.isupper() for c in value) and any(c.isdigit() for c in value)


_PASSWORDS = _spelled(PASSWORD_NAMES) + _SHORT_PASSWORD_NAMES
_TOKENS = (
    *_spelled(TOKEN_NAMES),
    *(spelling for name in _RARER_TOKEN_NAMES for spelling in _usual_spellings(name)),
    *_SHORT_TOKEN_NAMES,
)

AWS_SECRET_KEY = _assigned(
    "aws_secret_key",
    _spelled(AWS_SECRET_NAMES),
    value=r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    validate=_is_aws_secret,
)
ASSIGNED = (
    _assigned("password", _PASSWORDS, validate=plausible_password),
    _flagged("password", PASSWORD_NAMES, plausible_password),
    _assigned("secret", _TOKENS, validate=plausible_token),
    _flagged("secret", TOKEN_NAMES, plausible_token),
)

_PASSWORD_KEY = text_pattern(_any_of(_PASSWORDS) + r"\Z")
_TOKEN_KEY = text_pattern(_any_of(_TOKENS) + r"\Z")
_AWS_KEY = text_pattern(_any_of(_spelled(AWS_SECRET_NAMES)) + r"\Z")
_AWS_VALUE = text_pattern(r"[A-Za-z0-9/+]{40}\Z")
KEY_MAX_CHARS = 64


def kind_by_key(key: str, value: str) -> str:
    """Return the kind of secret that a whole string is under a telling key of a JSON object, or "" if it is none."""
    if not 0 < len(key) <= KEY_MAX_CHARS:
        return ""
    if _AWS_KEY.search(key) and _AWS_VALUE.match(value) and _is_aws_secret(value):
        return AWS_SECRET_KEY.kind
    if _PASSWORD_KEY.search(key):
        return "password" if plausible_password(value) else ""
    if _TOKEN_KEY.search(key):
        return "secret" if plausible_token(value) else ""
    if key == "auth" and holds_login(value):
        return "stored_login"
    if key.lower() in ("cookie", "set-cookie") and holds_session(value):
        return "cookie"
    return ""
