"""Keys of cloud providers: hosting, databases, infrastructure.

Formats: the vendors' documentation and, as facts, the lists of GitHub's secret scanning (docs.github.com, "Supported
secret scanning patterns") and of gitleaks (github.com/gitleaks/gitleaks, config/gitleaks.toml). Expressions are ours.
"""

from __future__ import annotations

from recollect.privacy.assignments import AWS_SECRET_KEY
from recollect.privacy.detector import Detector, literals, prefixed, text_pattern
from recollect.privacy.plausibility import is_varied, looks_random

REVISION = 0
"""Raised whenever a change in this module can alter what is found, see `DETECTOR_VERSION`."""

_AZURE_CONNECTION = Detector(
    kind="azure_key",
    literals=literals("AccountKey=", "SharedAccessKey=", "SharedAccessSignature="),
    pattern=text_pattern(r"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=(?=([A-Za-z0-9+/%=&.-]{32,512}+))"),
    validate=is_varied,
)
_ENTRA_SECRET = Detector(
    kind="azure_key",
    literals=(b"Q~",),
    pattern=text_pattern(r"(?<![A-Za-z0-9_~.-])([A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})(?![A-Za-z0-9_~.-])"),
    validate=is_varied,
    anchored=False,
)
# Keys with a signature of their own inside: Azure DevOps, container registries, Functions, AI Search, storage.
_AZURE_SIGNED = Detector(
    kind="azure_key",
    literals=(b"AZDO", b"+ACR", b"AzFu", b"AzSe", b"+ASt", b"ACDb"),
    pattern=text_pattern(
        r"(?<![A-Za-z0-9/])([A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9+/]{42}\+ACR[A-Za-z0-9]{6}"
        r"|[A-Za-z0-9_+/-]{44}AzFu[A-Za-z0-9_+/-]{5,8}={0,2}|[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}"
        r"|[A-Za-z0-9+/]{76}(?:\+ASt|ACDb)[A-Za-z0-9+/]{5,8}={0,2})(?![A-Za-z0-9+/])"
    ),
    validate=is_varied,
    anchored=False,
)
_TERRAFORM = Detector(
    kind="terraform_token",
    literals=(b".atlasv1.",),
    pattern=text_pattern(r"(?<![A-Za-z0-9])([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70})"),
    anchored=False,
)
_GOOGLE_REFRESH = Detector(
    kind="google_oauth",
    literals=(b"1//0", b"1\\/", b"1/\\/", b"1%2F%2F0", b"1%2f%2f0"),
    pattern=text_pattern(r"(?<![A-Za-z0-9])(1//0[A-Za-z0-9_-]{30,300}+)"),
    validate=is_varied,
)
_SLASHED = r"[A-Za-z0-9/+=%]"

CLOUDS: tuple[Detector, ...] = (
    prefixed("aws_access_key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z0-9]{16}"),
    AWS_SECRET_KEY,
    prefixed(
        "aws_session_token",
        ("FwoGZXIvYXdzE", "FQoGZXIvYXdzE", "FQoDYXdzE", "IQoJb3JpZ2luX2Vj"),
        _SLASHED + r"{60,4000}+",
        closed=False,
    ),
    prefixed("aws_bedrock_key", ("ABSK",), _SLASHED + r"{100,280}+", validate=is_varied),
    prefixed("aws_bedrock_key", ("bedrock-api-key-",), r"[A-Za-z0-9+=]{60,4000}+", validate=is_varied),
    prefixed("google_api_key", ("AIza",), r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])", closed=False),
    prefixed("google_api_key", ("AQ.Ab",), r"[A-Za-z0-9_-]{40,120}+"),
    prefixed("google_oauth", ("ya29.", "GOCSPX-"), r"[A-Za-z0-9_-]{20,300}+"),
    _GOOGLE_REFRESH,
    _AZURE_CONNECTION,
    _ENTRA_SECRET,
    _AZURE_SIGNED,
    prefixed("alibaba_key", ("LTAI",), r"[A-Za-z0-9]{12,20}", validate=is_varied),
    prefixed("tencent_key", ("AKID",), r"[A-Za-z0-9]{32}", validate=is_varied),
    prefixed("yandex_key", ("AQVN",), r"[A-Za-z0-9_-]{35,38}", validate=is_varied),
    prefixed("digitalocean_token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{64}"),
    prefixed("heroku_key", ("HRKU-",), r"[A-Za-z0-9_-]{36,80}+"),
    prefixed(
        "fly_token",
        ("fm1_", "fm1a_", "fm1r_", "fm2_", "fo1_"),
        r"[A-Za-z0-9+/=_-]{40,4000}+",
    ),
    prefixed("render_key", ("rnd_",), r"[A-Za-z0-9]{28,40}", validate=looks_random),
    prefixed("vercel_token", ("vcp_", "vci_", "vca_", "vcr_", "vck_"), r"[A-Za-z0-9_-]{24,100}+"),
    prefixed("vercel_token", ("vercel_blob_rw_",), r"[A-Za-z0-9]{12,24}_[A-Za-z0-9]{24,64}+"),
    prefixed("netlify_token", ("nfp_", "nfo_", "nfc_", "nfu_", "nfb_"), r"[A-Za-z0-9_]{36}"),
    prefixed("cloudflare_key", ("v1.0-",), r"[0-9a-f]{24}-[0-9a-f]{146}"),
    prefixed("cloudflare_key", ("cfut_", "cfat_", "cfk_"), r"[A-Za-z0-9_-]{32,80}+"),
    prefixed("supabase_key", ("sbp_", "sbp_oauth_", "sbp_v0_"), r"[0-9a-f]{40}"),
    prefixed("supabase_key", ("sb_secret_",), r"[A-Za-z0-9_-]{20,80}+"),
    prefixed(
        "planetscale_key", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), r"[A-Za-z0-9_=.-]{32,64}", closed=False
    ),
    prefixed("neon_key", ("napi_",), r"[a-z0-9]{48,80}+"),
    prefixed("mongodb_atlas_key", ("mdb_sa_sk_",), r"[A-Za-z0-9_-]{32,64}+"),
    prefixed("databricks_token", ("dapi", "dkea", "dose", "dsapi"), r"[0-9a-f]{32}(?:-[0-9])?"),
    _TERRAFORM,
    prefixed("vault_token", ("hvs.", "hvb.", "hvr."), r"[A-Za-z0-9_-]{24,300}+"),
    prefixed("pulumi_token", ("pul-",), r"[0-9a-f]{40}"),
    prefixed(
        "doppler_token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), r"[A-Za-z0-9_.-]{40,64}"
    ),
    prefixed("onepassword_token", ("ops_eyJ",), r"[A-Za-z0-9+/]{200,}+"),
    prefixed(
        "onepassword_key",
        ("A3-",),
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
        validate=is_varied,
    ),
    prefixed("clickhouse_key", ("4b1d",), r"[A-Za-z0-9]{38}", validate=lambda value: any(c.isupper() for c in value)),
)
