"""Tokens of services: code hosting, packages, messaging, payment, monitoring, planning, and others by their prefix.

Formats: the vendors' documentation and, as facts, the lists named in `clouds`, of TruffleHog and of detect-secrets.
Expressions are ours. Kinds in these lists without a prefix are recognised by the name before them, see `assignments`.
"""

from __future__ import annotations

import base64
import re
import string

from recollect.privacy.detector import ENCODED_RAW, Detector, literals, prefixed, raw_pattern, text_pattern
from recollect.privacy.plausibility import is_filled_in, is_varied, looks_random

REVISION = 0
"""Raised whenever a change in this module can alter what is found, see `DETECTOR_VERSION`."""

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

CODE: tuple[Detector, ...] = (
    prefixed("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{36,255}+"),
    prefixed("github_token", ("github_pat_",), r"[A-Za-z0-9]{22}_[A-Za-z0-9]{40,400}+"),
    prefixed(
        "gitlab_token",
        (
            "glpat-",
            "gldt-",
            "glrt-",
            "glrtr-",
            "glptt-",
            "glcbt-",
            "gloas-",
            "glsoat-",
            "glft-",
            "glimt-",
            "glagent-",
            "glwt-",
            "glffct-",
            "GR1348941",
        ),
        r"[A-Za-z0-9_.-]{20,300}+",
    ),
    prefixed("bitbucket_token", ("ATBB", "BBDC-"), r"[A-Za-z0-9_=+-]{24,80}+", validate=is_varied),
    prefixed("npm_token", ("npm_",), r"[A-Za-z0-9]{36}"),
    prefixed("pypi_token", ("pypi-AgEI", "pypi-AgEN"), r"[A-Za-z0-9_-]{40,400}+"),
    prefixed("docker_token", ("dckr_pat_", "dckr_oat_"), r"[A-Za-z0-9_-]{24,80}+"),
    prefixed("rubygems_key", ("rubygems_",), r"[0-9a-f]{48}"),
    prefixed("crates_token", ("cio",), r"[A-Za-z0-9]{32}", validate=is_varied),
    prefixed("nuget_key", ("oy2",), r"[a-z0-9]{43}", validate=is_varied),
    prefixed("clojars_token", ("CLOJARS_",), r"[0-9a-f]{60}"),
    prefixed("packagist_token", ("packagist_uut_", "packagist_ort_", "packagist_out_"), r"[0-9a-f]{68}"),
    prefixed("artifactory_key", ("AKCp",), r"[A-Za-z0-9]{65,75}", validate=is_varied),
    prefixed("artifactory_key", ("cmVmdGtuOj",), r"[A-Za-z0-9]{50,60}", validate=is_varied),
    prefixed("circleci_token", ("CCIPAT_", "CCIPRJ_"), r"[A-Za-z0-9]{18,26}_[0-9a-f]{40}"),
    prefixed("buildkite_token", ("bkua_", "bkaj_", "bkct_", "bkrc_"), r"[A-Za-z0-9]{32,48}+"),
    prefixed("sonar_token", ("squ_", "sqp_", "sqa_"), r"[0-9a-f]{40}"),
    prefixed("snyk_token", ("snyk_uat.", "snyk_sat."), r"[A-Za-z0-9_.-]{40,300}+"),
    prefixed("postman_key", ("PMAK-",), r"[0-9a-f]{24}-[0-9a-f]{34}"),
    prefixed("launchdarkly_key", ("api-", "sdk-"), _UUID),
    prefixed("huggingface_oauth", ("hf_oauth_",), r"[A-Za-z0-9_-]{30,200}+"),
)

_TELEGRAM = Detector(
    kind="telegram_token",
    literals=(b":AA", b"%3AAA", b"%3aAA"),
    pattern=text_pattern(r"(?<![A-Za-z0-9])((?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{32,35})(?![A-Za-z0-9_-])"),
    validate=is_varied,
    anchored=False,
)
# A bot's token begins with its number in base64: four characters for its first three digits.
_DISCORD_BEGINNINGS = tuple(base64.b64encode(b"%d" % number) for number in range(100, 1000))
_DISCORD = Detector(
    kind="discord_token",
    literals=_DISCORD_BEGINNINGS,
    pattern=text_pattern(
        r"(?<![A-Za-z0-9_-])([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})(?![A-Za-z0-9_-])"
    ),
    raw=raw_pattern(rf"[MNO][A-Za-z0-9_-]{{3,27}}+(?:\.|{ENCODED_RAW})"),
    validate=is_varied,
)
_MAILCHIMP = Detector(
    kind="mailchimp_key",
    literals=tuple(b"-us%d" % digit for digit in range(10)),
    pattern=text_pattern(r"(?<![A-Za-z0-9])([0-9a-f]{32}-us[0-9]{1,2})(?![A-Za-z0-9])"),
    anchored=False,
)
_WEBHOOK = Detector(
    kind="webhook",
    literals=(
        b"hooks.slack.com",
        b"api/webhooks/",
        b"api\\",
        b"api%2Fwebhooks",
        b"webhook.office.com",
        b".logic.azure.com",
        b"hooks.zapier.com",
        b"maker.ifttt.com",
        b"open-apis",
        b"webhook/send",
        b"webhook\\",
        b"webhook%2Fsend",
    ),
    pattern=text_pattern(
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_]{3,20}/[A-Za-z0-9_/]{16,200}+)"
        r"|api/webhooks/([0-9]{15,21}/[A-Za-z0-9_-]{40,100}+)"
        r"|webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{60,300}+)"
        r"|\.logic\.azure\.com[:0-9]{0,5}/workflows/([A-Za-z0-9]{20,60}/[^\x00-\x20\"'<>]{10,400}+)"
        r"|hooks\.zapier\.com/hooks/catch/([0-9]{4,12}/[A-Za-z0-9]{5,40}+)"
        r"|maker\.ifttt\.com/trigger/[A-Za-z0-9_-]{1,80}/(?:json/)?with/key/([A-Za-z0-9_-]{16,64}+)"
        r"|open-apis/bot/v2/hook/([A-Za-z0-9-]{20,60}+)|webhook/send\?key=([A-Za-z0-9-]{20,60}+))"
    ),
    raw=raw_pattern(rf"(?!(?:api|webhook)\\)|[a-z]{{3,7}}{ENCODED_RAW}"),
    group=-1,
    validate=lambda value: is_varied(value) and is_filled_in(value),
)

MESSAGES: tuple[Detector, ...] = (
    prefixed(
        "slack_token",
        ("xoxa-", "xoxb-", "xoxe-", "xoxe.xoxb-", "xoxe.xoxp-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xapp-"),
        r"[A-Za-z0-9%-]{16,300}+",
    ),
    _WEBHOOK,
    _TELEGRAM,
    _DISCORD,
    _MAILCHIMP,
    prefixed("sendgrid_key", ("SG.",), r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    prefixed("twilio_key", tuple(f"SK{digit}" for digit in "0123456789abcdef"), r"[0-9a-f]{31}", validate=is_varied),
    prefixed("mailgun_key", ("key-",), r"[0-9a-f]{32}", validate=is_varied),
    prefixed("brevo_key", ("xkeysib-", "xsmtpsib-"), r"[0-9a-f]{64}-[A-Za-z0-9]{12,20}"),
    prefixed("resend_key", ("re_",), r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}", validate=looks_random),
)
PAYMENT: tuple[Detector, ...] = (
    prefixed(
        "stripe_key",
        ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_org_live_", "sk_org_test_", "whsec_"),
        r"[A-Za-z0-9]{16,300}+",
    ),
    prefixed("square_token", ("EAAA",), r"[A-Za-z0-9_-]{60}", validate=is_varied),
    prefixed("square_token", ("sq0csp-", "sq0atp-", "sq0idp-"), r"[A-Za-z0-9_-]{22,60}+"),
    prefixed("paypal_token", ("access_token$production$", "access_token$sandbox$"), r"[a-z0-9]{16}\$[0-9a-f]{32}"),
    prefixed("plaid_token", ("access-sandbox-", "access-development-", "access-production-"), _UUID),
    prefixed("shopify_token", ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_"), r"[0-9a-fA-F]{32}"),
)
WATCHING: tuple[Detector, ...] = (
    prefixed("newrelic_key", ("NRAK-", "NRII-", "NRJS-", "NRRA-", "NRIQ-", "NRSP-"), r"[A-Za-z0-9_-]{19,48}+"),
    Detector(
        kind="newrelic_key",
        literals=(b"NRAL",),
        pattern=text_pattern(r"(?<![A-Za-z0-9])([0-9a-zA-Z]{34,36}(?:FFFF)?NRAL)(?![A-Za-z0-9])"),
        validate=is_varied,
        anchored=False,
    ),
    prefixed("sentry_token", ("sntryu_",), r"[0-9a-f]{64}"),
    prefixed("sentry_token", ("sntrys_",), r"[A-Za-z0-9+/=_-]{40,400}+"),
    prefixed("grafana_token", ("glsa_",), r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    prefixed(
        "grafana_token",
        ("glc_",),
        r"[A-Za-z0-9+/=]{32,400}+",
    ),
    prefixed("honeycomb_key", ("hcaik_", "hcxik_", "hcamk_", "hcxlk_"), r"[A-Za-z0-9]{40,80}+"),
    prefixed("posthog_key", ("phx_",), r"[A-Za-z0-9]{40,50}"),
    prefixed("dynatrace_token", ("dt0c01.", "dt0s01.", "dt0s02."), r"[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    prefixed("datadog_key", ("ddapp_", "ddpat_"), r"[A-Za-z0-9_-]{32,80}+"),
)
_LETTERS_AND_DIGITS = string.ascii_letters + string.digits
_COMMON_AFTER_PAT = "ceht"
"""Words such as `path` are everywhere: tokens that begin like them and go on in small letters are not told."""
_AIRTABLE_BEGINNINGS = tuple(f"pat{c}" for c in _LETTERS_AND_DIGITS if c not in _COMMON_AFTER_PAT) + tuple(
    f"pat{c}{d}" for c in _COMMON_AFTER_PAT for d in string.ascii_uppercase + string.digits
)
PLANNING: tuple[Detector, ...] = (
    prefixed("linear_key", ("lin_api_", "lin_oauth_"), r"[A-Za-z0-9]{32,80}+"),
    prefixed("notion_token", ("ntn_",), r"[A-Za-z0-9]{40,60}+"),
    prefixed("notion_token", ("secret_",), r"[A-Za-z0-9]{43}"),
    prefixed("atlassian_token", ("ATATT3", "ATCTT3", "ATSTT3", "ATOATT"), r"[A-Za-z0-9_=-]{40,400}+"),
    prefixed("figma_token", ("figd_", "figo_", "figu_", "figor_"), r"[A-Za-z0-9_-]{36,60}+"),
    prefixed("airtable_token", _AIRTABLE_BEGINNINGS, r"[A-Za-z0-9]{9,13}\.[0-9a-f]{64}"),
    prefixed("asana_token", ("ATA",), r"[0-9]/[0-9]{14,20}:[0-9a-f]{32}"),
    prefixed("trello_token", ("ATTA",), r"[0-9a-fA-F]{64}[A-Za-z0-9]{0,12}", validate=is_varied),
    prefixed("clickup_token", ("pk_",), r"[0-9]{5,12}_[A-Z0-9]{32}"),
    prefixed("contentful_token", ("CFPAT-",), r"[A-Za-z0-9_-]{40,46}"),
    prefixed("hubspot_token", ("pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-"), _UUID),
    prefixed("mapbox_token", ("sk.eyJ",), r"[A-Za-z0-9_-]{40,300}\.[A-Za-z0-9_-]{16,32}"),
    prefixed("salesforce_token", ("00D",), r"[A-Za-z0-9]{12,15}![A-Za-z0-9_.]{60,120}+", validate=is_varied),
)
SERVICES: tuple[Detector, ...] = (*CODE, *MESSAGES, *PAYMENT, *WATCHING, *PLANNING)


_ANY_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
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
    "axiom_token": (("xaat-", "xapt-"), _ANY_UUID),
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
    "langfuse_key": (("sk-lf-", "pk-lf-"), _ANY_UUID),
    "launchdarkly_key": (("mob-", "rel-"), _ANY_UUID),
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
