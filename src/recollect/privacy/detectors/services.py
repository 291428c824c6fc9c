"""Tokens of developer services: code hosting, packages, messaging, payment, monitoring, planning.

Formats: the vendors' documentation and, as facts, the lists named in `clouds`. Expressions are ours.
"""

from __future__ import annotations

import base64
import string

from recollect.privacy.detector import ENCODED_RAW, Detector, prefixed, raw_pattern, text_pattern
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
