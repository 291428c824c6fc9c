"""Secrets in addresses and headers: passwords and signatures in URLs, credentials, cookies, stored logins."""

from __future__ import annotations

import re

from recollect.late import late_pattern
from recollect.privacy.detector import ENCODED_RAW, LINE_END, Detector, literals, raw_pattern, text_pattern
from recollect.privacy.plausibility import (
    has_letter_and_digit,
    holds_login,
    holds_session,
    looks_random,
    plausible_token,
    plausible_word,
)

REVISION = 0
"""Raised whenever a change in this module can alter what is found, see `DETECTOR_VERSION`."""

_TO_VALUE = r"""(?:[ \t]{0,8}[:=][ \t]{0,8}|["']?[ \t]{0,8}(?::|=>?|,)[ \t]{0,8}["'])"""


def _is_basic_or_bearer(value: str) -> bool:
    return looks_random(value.rstrip("=")) or holds_login(value)


_PORT = late_pattern(r"[0-9]{1,5}(?:[/,?#]|\Z)", re.ASCII)


def _is_url_password(value: str) -> bool:
    return not _PORT.match(value) and plausible_word(value)


_SLASHES = (
    "://",
    *(":" + "\\" * count + "/" for count in range(1, 16)),
    ":%2F",
    ":%2f",
    "%3A%2F",
    "%3a%2f",
    "%3A\\",
    ":&#",
)
_URL_PASSWORD = Detector(
    kind="url_password",
    literals=tuple(literal.encode() for literal in _SLASHES),
    # To the last @ before the path: people forget to encode theirs.
    pattern=text_pattern(
        r":/?/(?=[^\x00-\x20\"'`\\/@:<>(){}?#]{0,64}:([^\x00-\x20\"'`\\/<>{}]{3,256})@[A-Za-z0-9\[_$-])"
    ),
    raw=raw_pattern(
        r"(?::|%3[Aa])(?:\\*/|%2[Ff]|\\*/|&#[x0-9A-Fa-f]{2,3};)[^\s\"/]{0,24}?(?:\\*/|%2[Ff]|&#[x0-9A-Fa-f]{2,3};)?"
        r"[^\s\"/<>{}]{3,2000}?(?:@|%(?:25){0,3}40|&#|%[\\&\x1b\[])"
    ),
    validate=_is_url_password,
)
_URL_TOKEN = Detector(
    kind="url_password",
    literals=_URL_PASSWORD.literals,
    pattern=text_pattern(r"://([A-Za-z0-9_~.=+-]{20,256}):?(?:x-oauth-basic)?@[A-Za-z0-9\[_$-]"),
    raw=_URL_PASSWORD.raw,
    validate=plausible_token,
)
_URL_SIGNATURE = Detector(
    kind="url_signature",
    literals=literals(
        "X-Amz-Signature=",
        "X-Goog-Signature=",
        "X-Amz-Security-Token=",
        "sig=",
        "Signature=",
    ),
    pattern=text_pattern(
        r"(?:X-(?:Amz|Goog)-(?:Signature|Security-Token)|(?<=[&?])sig|Signature)=\"?(?=([A-Za-z0-9%/+=_~-]{32,1500}+))"
    ),
    validate=has_letter_and_digit,
)
_AUTHORIZATION = Detector(
    kind="authorization",
    literals=literals("Bearer ", "bearer ", "BEARER ", "Basic ", "basic ", "FlyV1 ", "ApiKey ", "GenieKey ", "SSWS "),
    pattern=text_pattern(
        r"(?:[Bb]earer|BEARER|[Bb]asic|FlyV1|ApiKey|GenieKey|SSWS)[ \t+]{1,4}[\"']?([A-Za-z0-9._~+/=:|-]{8,}+)"
    ),
    raw=raw_pattern(
        rf"[A-Za-z1]{{4,8}}(?:[ \t+]{{1,4}}|\\+t|{ENCODED_RAW})[^\sA-Za-z0-9]{{0,24}}[0-9A-Fbm]{{0,12}}"
        rf"(?=[^\s\"]{{8}})(?:[A-Za-z._~+/=:|-]{{0,300}}+(?:[0-9]|{ENCODED_RAW})|(?:[a-z]{{0,20}}+[A-Z]{{1,20}}+){{4}})"
    ),
    validate=_is_basic_or_bearer,
)
# Of what a server sets the value; of what a client sends all of it, for one secret among many is not told apart.
_AUTHORIZATION_OF_A_KIND = Detector(
    kind="authorization",
    literals=literals(
        "uthorization:", "UTHORIZATION:", 'uthorization"', "uthorization'", "UTHORIZATION=", "uthorization="
    ),
    pattern=text_pattern(
        rf"(?:uthorization|UTHORIZATION){_TO_VALUE}[\"']?"
        r"(?:[A-Za-z][A-Za-z0-9-]{1,24} {1,4}(?:[a-z_]{1,16}=\"?)?)?([A-Za-z0-9._~+/=:|-]{8,}+)"
    ),
    validate=_is_basic_or_bearer,
)
_COOKIE = Detector(
    kind="cookie",
    literals=literals(*(f"{name}{mark}" for name in ("Cookie", "cookie", "COOKIE") for mark in ":\"'=")),
    pattern=text_pattern(
        rf"(?<=[Ss]et-)[Cc]ookie{_TO_VALUE}[^\s=;,\"']{{1,128}}=([^;\s\"'\\]{{12,4096}}+)"
        rf"|(?<![Ss]et-)(?:[Cc]ookie|COOKIE){_TO_VALUE}([^\s=;,\"']{{1,128}}=[^\r\n\"'\\]{{8,4096}}+)"
    ),
    group=-1,
    validate=holds_session,
)
_NETRC = Detector(
    kind="netrc_password",
    literals=literals("machine ", "machine\t", "default login "),
    pattern=text_pattern(
        rf"(?:machine[ \t]{{1,8}}[^\s\\]{{1,255}}|default){LINE_END}login[ \t]{{1,8}}[^\s\\]{{1,255}}{LINE_END}"
        r"password[ \t]{1,8}([^\s\"'\\]{4,256}+)"
    ),
    raw=raw_pattern(r"(?:machine|default)[ \t\\%&](?s:.){0,300}?login"),
    validate=plausible_word,
)
_PGPASS = Detector(
    kind="pgpass_password",
    literals=literals(":5432:", ":5433:", ":6432:", ":*:"),
    # Looks back for the host, and on for database and user: five fields in a line.
    pattern=text_pattern(
        r"(?:(?<=[\s\"'`|+>])|^)(?:[A-Za-z0-9.*_-]{1,255}|\[[0-9a-f:]{2,40}\]):(?:[0-9]{2,5}|\*):[A-Za-z0-9_*.-]{1,64}"
        r":[A-Za-z0-9_*.@-]{1,64}:([^\s:\"'`|]{4,128})(?=[\s\"'`|<]|\Z)"
    ),
    validate=plausible_word,
    anchored=False,
)
_KEPT_LOGIN = Detector(
    kind="stored_login",
    literals=literals('auth"', "auth'", "_auth=", "_auth =", "_auth:"),
    pattern=text_pattern(
        r"auth(?:[\"']?[ \t]{0,4}[=:][ \t]{0,4}[\"']?)([A-Za-z0-9+/]{12,512}+={0,2})(?![A-Za-z0-9+/=])"
    ),
    raw=raw_pattern(
        rf"_?auth[^A-Za-z0-9]{{0,40}}(?:[nrt]|u00..)?[^A-Za-z0-9]{{0,40}}(?:(?:[A-Za-z0-9+=]|\\*/){{12}}|{ENCODED_RAW})"
    ),
    validate=holds_login,
)

ADDRESSES: tuple[Detector, ...] = (
    _URL_PASSWORD, _URL_TOKEN, _URL_SIGNATURE, _AUTHORIZATION, _AUTHORIZATION_OF_A_KIND,
    _COOKIE, _NETRC, _PGPASS, _KEPT_LOGIN,
)  # fmt: skip
