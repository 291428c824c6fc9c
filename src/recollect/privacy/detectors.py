"""The secrets that are found, most specific first: where two claim the same text, the earlier one names it."""

from __future__ import annotations

import re

from recollect.privacy.assignments import ASSIGNED, AWS_SECRET_KEY
from recollect.privacy.plausibility import entropy_bits, has_letter_and_digit, looks_random, plausible_password
from recollect.privacy.shapes import Detector, prefixed, raw_pattern, text_pattern

DETECTOR_VERSION = 1
"""Raised whenever a change here can alter what is found: derived data of an older version is re-derived."""

_PEM_BODY = re.compile(r"[A-Za-z0-9+/=]{32}", re.ASCII)
_PEM_HEADER_MAX_CHARS = 240


def _holds_key_material(block: str) -> bool:
    """Whether base64 follows soon after the header: prose that only names the header is no key."""
    return _PEM_BODY.search(block, 0, _PEM_HEADER_MAX_CHARS + 64) is not None


def _is_mixed(value: str) -> bool:
    return has_letter_and_digit(value) and entropy_bits(value) >= 3.0


def _is_sk_key(value: str) -> bool:
    """Keys beginning with sk- share their prefix with kebab-case names."""
    return looks_random(value) and sum(c.isdigit() for c in value) >= 2


def _is_basic_or_bearer(value: str) -> bool:
    return looks_random(value.rstrip("="))


_PRIVATE_KEY = Detector(
    kind="private_key",
    literals=(b"-----BEGIN ",),
    # To the footer; where that is missing, on through base64, armour headers, blanks and literal \n.
    pattern=text_pattern(
        r"(-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[^-]*+(?:-(?!----)[^-]*+)*+-----END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
        r"|[A-Za-z0-9+/=\s\\:,|\"'→]*+(?:-(?!----)[A-Za-z0-9+/=\s\\:,|\"'→]*+)*+))"
    ),
    group=1,
    raw=raw_pattern(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY"),
    validate=_holds_key_material,
)
_JWT = Detector(
    kind="jwt",
    literals=(b".eyJ",),
    pattern=text_pattern(r"(?<![A-Za-z0-9_-])(eyJ[A-Za-z0-9_-]{6,}+\.eyJ[A-Za-z0-9_-]{6,}+\.[A-Za-z0-9_-]{10,}+)"),
    group=1,
    raw=raw_pattern(r"\.eyJ[A-Za-z0-9_-]{6}"),
    anchored=False,
)
_SLACK_WEBHOOK = Detector(
    kind="slack_webhook",
    literals=(b"hooks.slack.com",),
    pattern=text_pattern(
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_]{6,20}/[A-Za-z0-9_/]{16,200}+)"
    ),
    group=1,
    raw=raw_pattern(r"hooks\.slack\.com\\?/(?:services|workflows|triggers)\\?/[A-Za-z0-9_]{6}"),
    validate=has_letter_and_digit,
)
_AZURE_KEY = Detector(
    kind="azure_key",
    literals=(b"AccountKey=", b"SharedAccessKey=", b"SharedAccessSignature="),
    pattern=text_pattern(r"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=(?=([A-Za-z0-9+/%=&.-]{32,512}+))"),
    group=1,
    raw=raw_pattern(r"[A-Za-z]{10,24}=(?:[A-Za-z0-9+%=&.-]|\\?/){32}"),
    validate=_is_mixed,
)
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
_AUTHORIZATION = Detector(
    kind="authorization",
    literals=(b"Bearer ", b"bearer ", b"BEARER ", b"Basic ", b"basic "),
    pattern=text_pattern(r"(?:[Bb]earer|BEARER|[Bb]asic) {1,4}([A-Za-z0-9._~+/=-]{12,}+)"),
    group=1,
    raw=raw_pattern(r"[A-Za-z]{5,6} {1,4}(?:[A-Za-z0-9._~+=-]|\\?/){12}"),
    validate=_is_basic_or_bearer,
)

DEFAULT: tuple[Detector, ...] = (
    _PRIVATE_KEY,
    prefixed("aws_access_key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z0-9]{16}"),
    AWS_SECRET_KEY,
    prefixed("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{36,255}+"),
    prefixed("github_token", ("github_pat_",), r"[A-Za-z0-9]{22}_[A-Za-z0-9]{40,400}+"),
    prefixed(
        "gitlab_token",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "gloas-", "glsoat-", "glft-"),
        r"[A-Za-z0-9_.-]{20,300}+",
        validate=has_letter_and_digit,
    ),
    prefixed("anthropic_key", ("sk-ant-",), r"[A-Za-z0-9_-]{20,300}+", validate=has_letter_and_digit),
    prefixed("openai_key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), r"[A-Za-z0-9_-]{20,300}+", validate=_is_mixed),
    prefixed("sk_key", ("sk-",), r"[A-Za-z0-9_-]{20,300}+", validate=_is_sk_key),
    prefixed(
        "slack_token",
        ("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xapp-"),
        r"[A-Za-z0-9%-]{16,300}+",
        validate=_is_mixed,
    ),
    _SLACK_WEBHOOK,
    prefixed("google_api_key", ("AIza",), r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])", closed=False),
    prefixed("google_oauth", ("ya29.", "GOCSPX-"), r"[A-Za-z0-9_-]{20,300}+", validate=has_letter_and_digit),
    prefixed(
        "stripe_key",
        ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"),
        r"[A-Za-z0-9]{16,300}+",
        validate=has_letter_and_digit,
    ),
    prefixed("npm_token", ("npm_",), r"[A-Za-z0-9]{36}"),
    prefixed("pypi_token", ("pypi-AgEI", "pypi-AgEN"), r"[A-Za-z0-9_-]{40,400}+"),
    prefixed("huggingface_token", ("hf_", "api_org_"), r"[A-Za-z0-9]{30,48}"),
    prefixed("sendgrid_key", ("SG.",), r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}", validate=has_letter_and_digit),
    prefixed(
        "twilio_key",
        tuple(f"SK{digit}" for digit in "0123456789abcdef"),
        r"[0-9a-f]{31}",
        validate=_is_mixed,
    ),
    prefixed("digitalocean_token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{64}"),
    prefixed(
        "vendor_key",
        ("xai-", "gsk_", "pplx-", "hvs.", "lin_api_", "ntn_", "sbp_", "dapi", "glsa_", "shpat_", "r8_", "sntrys_"),
        r"[A-Za-z0-9_-]{32,300}+",
        validate=looks_random,
    ),
    _JWT,
    _AZURE_KEY,
    _URL_PASSWORD,
    _AUTHORIZATION,
    *ASSIGNED,
)
