"""Secrets in addresses, headers and arguments: passwords and signatures in URLs, credentials, cookies."""

from __future__ import annotations

from recollect.privacy.plausibility import (
    has_letter_and_digit,
    holds_login,
    holds_session,
    looks_random,
    plausible_password,
)
from recollect.privacy.shapes import LINE_END, Detector, raw_pattern, text_pattern

_TO_VALUE = r"""(?:: |\\{0,4}"\s{0,8}:\s{0,8}\\{0,4}")"""


def _is_basic_or_bearer(value: str) -> bool:
    return looks_random(value.rstrip("="))


_URL_PASSWORD = Detector(
    kind="url_password",
    literals=(b"://", rb":\/\/", rb":/\/", rb":\//"),
    pattern=text_pattern(
        r"://(?=[^\x00-\x20\"'`\\/@:<>(){}?#]{0,64}:([^\x00-\x20\"'`\\/@<>{}]{4,256})@[A-Za-z0-9\[_$-])"
    ),
    group=1,
    raw=raw_pattern(
        r":\\?/\\?/(?:[^\x00-\x20\"'`\\/@:<>(){}?#]|\\u[0-9A-Fa-f]{4}){0,256}+"
        r":(?:[^\x00-\x20\"'`\\/@<>{}]|\\u[0-9A-Fa-f]{4}){4,1024}+@"
    ),
    validate=plausible_password,
)
_URL_SIGNATURE = Detector(
    kind="url_signature",
    literals=(b"X-Amz-Signature=", b"X-Goog-Signature=", b"&sig=", b"?sig=", b"&Signature="),
    pattern=text_pattern(r"(?:X-Amz-Signature|X-Goog-Signature|[&?]sig|&Signature)=(?=([A-Za-z0-9%/+=_~-]{32,700}+))"),
    group=1,
    raw=raw_pattern(r"[A-Za-z&?-]{4,17}=(?:[A-Za-z0-9%+=_~-]|\\?/){32}"),
    validate=has_letter_and_digit,
)
_AUTHORIZATION = Detector(
    kind="authorization",
    literals=(b"Bearer ", b"bearer ", b"BEARER ", b"Basic ", b"basic ", b"FlyV1 "),
    pattern=text_pattern(r"(?:[Bb]earer|BEARER|[Bb]asic|FlyV1) {1,4}([A-Za-z0-9._~+/=-]{12,}+)"),
    group=1,
    raw=raw_pattern(r"[A-Za-z1]{5,6} {1,4}(?:[A-Za-z0-9._~+=-]|\\?/){12}"),
    validate=_is_basic_or_bearer,
)
# Of what a server sets the value; of what a client sends all of it, for one secret among many is not told apart.
_AUTHORIZATION_OF_A_KIND = Detector(
    kind="authorization",
    literals=(b"uthorization: ", b"UTHORIZATION: "),
    pattern=text_pattern(
        r"(?:uthorization|UTHORIZATION): (?:[A-Za-z][A-Za-z-]{1,24} {1,4})?([A-Za-z0-9._~+/=-]{12,}+)"
    ),
    group=1,
    raw=raw_pattern(r"[A-Za-z]{12}: (?:[A-Za-z][A-Za-z-]{1,24} {1,4})?(?:[A-Za-z0-9._~+=-]|\\?/){12}"),
    validate=_is_basic_or_bearer,
)
_COOKIE = Detector(
    kind="cookie",
    literals=tuple(f"{name}{mark}".encode() for name in ("Cookie", "cookie", "COOKIE") for mark in (": ", '"', "\\")),
    pattern=text_pattern(
        rf"(?<=[Ss]et-)[Cc]ookie{_TO_VALUE}[^\s=;,\"']{{1,128}}=([^;\s\"'\\]{{12,4096}}+)"
        rf"|(?<![Ss]et-)(?:[Cc]ookie|COOKIE){_TO_VALUE}([^\s=;,\"']{{1,128}}=[^\r\n\"'\\]{{8,4096}}+)"
    ),
    group=-1,
    raw=raw_pattern(r"[A-Za-z]{6}[\\\":\s]{1,40}(?:\\t)*[^\s=;,]{1,1600}="),
    validate=holds_session,
)
_CURL_USER = Detector(
    kind="password",
    literals=(b"-u ", b"--user ", b"--user=", b"--proxy-user "),
    pattern=text_pattern(
        r"(?:-u|--user|--proxy-user)[ =]['\"]?[A-Za-z0-9_.@+-]{1,64}:([^\s'\"\\:$]{6,200})(?=[\s'\"\\]|\Z)"
    ),
    group=1,
    raw=raw_pattern(r"-{1,2}[a-z-]{1,10}[ =](?:\\?[\"'])?[A-Za-z0-9_.@+-]{1,64}:"),
    validate=plausible_password,
)
_MYSQL_PASSWORD = Detector(
    kind="password",
    literals=(b"mysql", b"sshpass -p", b"mariadb"),
    pattern=text_pattern(
        r"(?:(?:mysql|mariadb)[a-z-]{0,12} (?:[^|;&\n]{0,200}? )?-p|sshpass -p ?)['\"]?([^\s'\"\\|;&$]{6,128})"
    ),
    group=1,
    raw=raw_pattern(r"(?:(?:mysql|mariadb)[a-z-]{0,12} |sshpass -p)"),
    validate=plausible_password,
)
_NETRC = Detector(
    kind="netrc_password",
    literals=(b"machine ", b"machine\t", b"machine\\t"),
    pattern=text_pattern(
        rf"machine[ \t]{{1,8}}[^\s\\]{{1,255}}{LINE_END}login[ \t]{{1,8}}[^\s\\]{{1,255}}{LINE_END}password[ \t]{{1,8}}"
        r"([^\s\"'\\]{4,256}+)"
    ),
    group=1,
    raw=raw_pattern(r"machine(?:\\t|[ \t]){1,16}[^\s\"]{1,1600}[\s\\]"),
)
_KEPT_LOGIN = Detector(
    kind="stored_login",
    literals=(b'"auth"', b'"auth\\', b"_auth=", b"_auth =", b"_auth:"),
    pattern=text_pattern(
        rf"(?:\"auth{_TO_VALUE}|_auth[ \t]{{0,4}}[=:][ \t]{{0,4}}\"?)"
        r"([A-Za-z0-9+/]{12,512}+={0,2})(?![A-Za-z0-9+/=])"
    ),
    group=1,
    raw=raw_pattern(r"[\"_]auth"),
    validate=holds_login,
)

ADDRESSES: tuple[Detector, ...] = (
    _URL_PASSWORD, _URL_SIGNATURE, _AUTHORIZATION, _AUTHORIZATION_OF_A_KIND,
    _COOKIE, _CURL_USER, _MYSQL_PASSWORD, _NETRC, _KEPT_LOGIN,
)  # fmt: skip
