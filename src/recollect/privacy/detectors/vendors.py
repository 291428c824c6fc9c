"""Tokens of other vendors, recognised by their prefix.

Formats: as facts, the rule lists of gitleaks, TruffleHog and detect-secrets, and the vendors' documentation.
Expressions are ours. Kinds in these lists that have no prefix are told by the names before them, see `assignments`.
"""

from __future__ import annotations

import re

from recollect.privacy.detector import ENCODED_RAW, Detector, literals, prefixed, raw_pattern, text_pattern
from recollect.privacy.plausibility import is_filled_in, is_varied, looks_random

REVISION = 0
"""Raised whenever a change in this module can alter what is found, see `DETECTOR_VERSION`."""

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_WIDE = r"[A-Za-z0-9_-]{20,400}+"
_ALNUM = r"[A-Za-z0-9]{20,200}+"

# Prefixes that nobody else writes, before letters and digits of any number.
_PLAIN = {
    "adafruit_key": (("aio_",), r"[A-Za-z0-9]{28}"),
    "adobe_secret": (("p8e-", "p8e_"), r"[A-Za-z0-9_-]{32}"),
    "adyen_key": (("AQE",), r"[A-Za-z0-9]{3,5}hmf[A-Za-z0-9+/=.-]{60,200}"),
    "aiven_token": (("aivenv1_",), _WIDE),
    "apify_token": (("apify_api_", "apify_proxy_"), r"[A-Za-z0-9]{30,50}"),
    "authress_key": (
        ("authress_", "scauth_"),
        r"[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}"),
    "axiom_token": (("xaat-", "xapt-"), _UUID),
    "castai_key": (("castai_v1_",), r"[A-Za-z0-9_-]{40,160}+"),
    "convex_key": (("prod:", "dev:", "preview:"), r"[a-z]{2,20}-[a-z]{2,20}-[0-9]{1,4}\|[A-Za-z0-9+/=_-]{40,200}"),
    "daytona_key": (("dtn_",), r"[0-9a-f]{60,70}"),
    "definednetworking_token": (("dnkey-",), r"[a-zA-Z0-9=_-]{26,32}-[A-Za-z0-9=_-]{30,60}"),
    "deno_token": (("ddp_", "ddw_", "ddo_", "ddt_"), r"[A-Za-z0-9]{36}"),
    "dropbox_token": (("sl.u.", "sl.B", "sl.A"), r"[A-Za-z0-9_-]{100,1500}+"),
    "duffel_token": (("duffel_live_", "duffel_test_"), r"[A-Za-z0-9_=-]{30,60}+"),
    "easypost_key": (("EZAK", "EZTK"), r"[A-Za-z0-9]{50,60}"),
    "endor_key": (("endr+",), r"[A-Za-z0-9-]{16}"),
    "facebook_token": (("EAAM", "EAAC", "EAAG", "EAAB", "EAAE", "EAAF", "EAAI", "EAAJ", "EAAD", "EAAL", "EAAX"),
        r"[A-Za-z0-9]{80,400}+"),
    "instagram_token": (("IGQV", "IGQW", "IGAA"), r"[A-Za-z0-9_-]{80,400}+"),
    "flutterwave_key": (("FLWSECK_TEST-", "FLWSECK-"), r"[A-Za-z0-9]{12,40}(?:-[A-Za-z0-9]{1,12})?"),
    "frameio_token": (("fio-u-",), r"[A-Za-z0-9_=-]{60,70}"),
    "gocardless_token": (("live_", "sandbox_"), r"[A-Za-z0-9_=-]{40}(?![A-Za-z0-9_-])"),
    "lob_key": (("live_", "test_"), r"[0-9a-f]{35}"),
    "google_fcm_key": (("AAAA",), r"[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{100,200}"),
    "harness_key": (("pat.", "sat."), r"[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    "helicone_key": (("sk-helicone-", "pk-helicone-"), r"[A-Za-z0-9-]{20,80}+"),
    "infracost_key": (("ico-",), r"[A-Za-z0-9]{32}"),
    "intra42_secret": (("s-s4t2ud-", "s-s4t2af-"), r"[0-9a-f]{64}"),
    "langfuse_key": (("sk-lf-", "pk-lf-"), _UUID),
    "launchdarkly_key": (("mob-", "rel-"), _UUID),
    "mailersend_key": (("mlsn.",), r"[0-9a-f]{60,70}"),
    "mercury_token": (("secret-token:",), r"[A-Za-z0-9_]{20,120}+"),
    "nightfall_key": (("NF-",), r"[A-Za-z0-9]{32}"),
    "octopus_key": (("API-",), r"[A-Z0-9]{25,31}"),
    "openshift_token": (("sha256~",), r"[A-Za-z0-9_-]{43}"),
    "paddle_key": (("pdl_live_apikey_", "pdl_sdbx_apikey_", "pdl_ntfset_"), r"[A-Za-z0-9_]{20,80}+"),
    "paypal_token": (("A21AA",), r"[A-Za-z0-9_-]{80,120}+"),
    "polar_token": (("polar_oat_", "polar_pat_", "polar_whs_", "polar_at_"), _ALNUM),
    "prefect_key": (("pnu_", "pnb_"), r"[A-Za-z0-9]{36}"),
    "razorpay_key": (("rzp_live_", "rzp_test_"), r"[A-Za-z0-9]{14,24}"),
    "readme_key": (("rdme_",), r"[a-z0-9]{70}"),
    "rootly_key": (("rootly_",), r"[0-9a-f]{64}"),
    "runpod_key": (("rpa_",), r"[A-Z0-9a-z]{40,60}"),
    "salad_key": (("salad_cloud_",), r"[A-Za-z0-9_]{20,120}+"),
    "samsara_token": (("samsara_api_",), _ALNUM),
    "scaleway_key": (("SCW",), r"[A-Z0-9]{17}"),
    "scalingo_token": (("tk-us-",), r"[A-Za-z0-9_-]{48}"),
    "sentry_token": (("sntryi_", "sntrya_"), r"[0-9a-f]{64}"),
    "settlemint_token": (("sm_aat_", "sm_pat_", "sm_sat_"), r"[A-Za-z0-9]{16,40}"),
    "shippo_key": (("shippo_live_", "shippo_test_"), r"[0-9a-f]{40}"),
    "tailscale_key": (("tskey-auth-", "tskey-api-", "tskey-client-", "tskey-scim-", "tskey-webhook-", "tskey-"),
        r"[A-Za-z0-9]{6,20}(?:CNTRL)?-[A-Za-z0-9]{16,60}|[A-Za-z0-9-]{20,80}"),
    "temporal_key": (("tmprl_",), r"[A-Za-z0-9_]{30,120}"),
    "teamcity_token": (("eyJ0eXAiOiAiVENWMiJ9.",), r"[A-Za-z0-9_.-]{30,200}"),
    "tinybird_token": (("p.eyJ",), r"[A-Za-z0-9_-]{30,200}\.[A-Za-z0-9_-]{20,80}"),
    "trigger_key": (("tr_dev_", "tr_prod_", "tr_stg_", "tr_pat_"), r"[A-Za-z0-9]{16,60}"),
    "twitter_token": (("AAAAAAAAAAAAAAAAAAAAA",), r"[A-Za-z0-9%]{60,120}"),
    "typeform_token": (("tfp_",), r"[A-Za-z0-9_.=-]{40,64}"),
    "ubidots_token": (("BBFF-", "BBUS-"), r"[A-Za-z0-9]{30}"),
    "vk_token": (("vk1.a.",), r"[A-Za-z0-9_-]{60,300}"),
    "voiceflow_key": (("VF.DM.", "VF.WS."), r"[0-9a-f]{24}\.[A-Za-z0-9]{16}"),
    "volcengine_key": (("AKLT",), r"[A-Za-z0-9_-]{40,60}"),
    "yandex_token": (("t1.", "y0_"), r"[A-Za-z0-9_-]{36,300}={0,2}(?:\.[A-Za-z0-9_-]{86}={0,2})?"),
    "mem0_key": (("m0-",), r"[A-Za-z0-9]{36,44}"),
    "brightdata_key": (("brd-customer-",), r"[A-Za-z0-9_-]{8,60}:[A-Za-z0-9]{8,40}"),
    "telnyx_key": (("KEY0",), r"[0-9A-F]{30,34}_[A-Za-z0-9]{20,24}"),
}  # fmt: skip
_AMBIGUOUS = frozenset(
    """adyen_key gocardless_token yandex_token octopus_key scaleway_key brave_key mem0_key convex_key
    nightfall_key facebook_token instagram_token harness_key mercury_token volcengine_key
    dropbox_token""".split()
)
"""Prefixes so short, or so like words, that what follows must look drawn by a machine as well."""

_PUBLIC = ("pk_", "sb_publishable", "phc_", "pub_", "public_")


def _is_drawn_after_role(token: str) -> bool:
    """Whether the part after the role is random; a key published with its program is no secret."""
    return not token.startswith(_PUBLIC) and looks_random(re.split(r"[_-]", token)[-1])


# Vendors that nobody listed yet: most of them name themselves and then what the token is for.
_BY_ROLE = Detector(
    kind="service_token",
    literals=tuple(
        f"{joint}{role}{joint}".encode()
        for role in (
            "live",
            "test",
            "prod",
            "sandbox",
            "pat",
            "sk",
            "secret",
            "api",
            "key",
            "token",
            "oauth",
            "sat",
            "tok",
        )
        for joint in "_-"
    ),
    pattern=text_pattern(
        r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]{26})"  # its least length: most words end at once
        r"([a-z][a-z0-9]{1,14}(?:[_-][a-z0-9]{1,8}){0,2}"
        r"[_-](?:live|test|prod|sandbox|pat|sk|secret|api|key|token|oauth|sat|tok)[_-](?:[a-z0-9]{1,6}[_-]){0,2}"
        r"[A-Za-z0-9]{20,200}+)(?![A-Za-z0-9_-])"
    ),
    raw=raw_pattern(rf"[_-][a-z]{{2,7}}[_-](?:[A-Za-z0-9_-]{{20}}|[A-Za-z0-9_-]{{0,200}}+{ENCODED_RAW})"),
    validate=_is_drawn_after_role,
    anchored=False,
)
_JWE = Detector(
    kind="jwt",
    literals=(b"eyJ",),
    pattern=text_pattern(
        r"(?<![A-Za-z0-9_-])(eyJ[A-Za-z0-9_-]{8,500}+\.[A-Za-z0-9_-]{0,4000}+\.[A-Za-z0-9_-]{10,2000}+"
        r"(?:\.[A-Za-z0-9_-]{10,8000}+\.[A-Za-z0-9_-]{10,2000}+)?)"
    ),
    raw=raw_pattern(rf"eyJ[A-Za-z0-9_-]{{8,500}}+(?:\.|{ENCODED_RAW})"),
)
_OKTA = Detector(
    kind="okta_token",
    literals=literals("SSWS ", "okta"),
    pattern=text_pattern(
        r"(?:SSWS|[Oo][Kk][Tt][Aa][A-Za-z0-9_. -]{0,40}[\"']?\s?[:=]\s?[\"']?)"
        r" ?(00[A-Za-z0-9_=-]{40})(?![A-Za-z0-9_=-])"
    ),
)
_TWILIO_PAIR = Detector(
    kind="twilio_key",
    literals=tuple(f"AC{digit}".encode() for digit in "0123456789abcdef"),
    pattern=text_pattern(r"(?<![A-Za-z0-9])AC[0-9a-f]{32}:([0-9a-f]{32})(?![A-Za-z0-9])"),
    raw=raw_pattern(r"AC[0-9a-f]{32}"),
)
# The private members of a JSON Web Key.
_JWK = Detector(
    kind="private_key",
    literals=literals('kty"', "kty'"),
    pattern=text_pattern(
        r"(?<![A-Za-z0-9])(?:d|dp|dq|qi)[\"'][ \t\n]{0,16}:[ \t\n]{0,16}[\"']([A-Za-z0-9_-]{32,1024}+)[\"']"
    ),
    validate=looks_random,
    anchored=False,
)

VENDORS: tuple[Detector, ...] = (
    *(
        prefixed(kind, prefixes, body, validate=is_varied if kind in _AMBIGUOUS else is_filled_in)
        for kind, (prefixes, body) in _PLAIN.items()
    ),
    _BY_ROLE,
    _JWE,
    _OKTA,
    _JWK,
    _TWILIO_PAIR,
)
