"""Made-up secrets of every kind, put together at run time so that no scanner takes this file for a leak.

Each is (what is written, the part that must not be seen again). None was ever valid.
"""

from __future__ import annotations

import base64
import random
import string
from typing import NamedTuple

Planted = dict[str, tuple[str, str]]
_DASHES = "-" * 5


class Body(NamedTuple):
    """What secrets are made of: letters and digits, and hexadecimal digits."""

    source: str
    hex: str

    def mixed(self, length: int) -> str:
        return (self.source * 8)[:length]

    @property
    def sts(self) -> str:
        return "IQoJb3Jp" + "Z2luX2Vj" + self.mixed(96) + "/" + self.mixed(96) + "=="

    @property
    def login(self) -> str:
        return base64.b64encode(f"fay:{self.mixed(18)}".encode()).decode()


FIXED = Body(
    "Ex4mp1eF4k3Va1ueN0tRea1QwZxCvBnM7uYtR5eWs2DfGhJk9LpOiU3aSdFgHjKl8ZxCvB6nMqWeRtYuIoP0aSdFgH1jKlZ",
    "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
)


def drawn(seed: int) -> Body:
    """Return what a machine would draw."""
    chance = random.Random(seed)
    return Body(
        "".join(chance.choices(string.ascii_letters + string.digits, k=96)),
        "".join(chance.choices("0123456789abcdef", k=64)),
    )


def _pem(b: Body, label: str, line_end: str = "\n") -> str:
    body = line_end.join((b.mixed(64), b.mixed(60)[::-1] + "ABCD"))
    return f"{_DASHES}BEGIN {label}{_DASHES}{line_end}{body}{line_end}{_DASHES}END {label}{_DASHES}"


def _bare(secret: str) -> tuple[str, str]:
    return secret, secret


def _first(b: Body) -> Planted:
    """The first kinds, in the ways in which they are written."""
    return {
        "aws_access_key": _bare("AK" + "IA" + "EXAMPLE" + "FAKE23456"),
        "aws_temporary_key": _bare("AS" + "IA" + "EXAMPLE" + "FAKE23456"),
        "aws_secret_key": ("aws_secret_access_key = " + b.mixed(30) + "/fake+9/AB", b.mixed(30) + "/fake+9/AB"),
        "github_classic": _bare("gh" + "p_" + b.mixed(36)),
        "github_oauth": _bare("gh" + "o_" + b.mixed(36)),
        "github_app": _bare("gh" + "s_" + b.mixed(36)),
        "github_fine": _bare("github_" + "pat_" + b.mixed(22) + "_" + b.mixed(59)),
        "gitlab": _bare("gl" + "pat-" + b.mixed(20)),
        "openai": _bare("sk-" + "proj-" + b.mixed(48)),
        "openai_old": _bare("sk-" + b.mixed(48)),
        "anthropic": _bare("sk-" + "ant-api03-" + b.mixed(93) + "AA"),
        "slack_bot": _bare("xo" + "xb-" + "12345098761-123450987612-" + b.mixed(24)),
        "slack_webhook": ("https://hooks." + "slack.com/services/T0FAKE000/B0FAKE000/" + b.mixed(24), b.mixed(24)),
        "google_api": _bare("AI" + "za" + b.mixed(35)),
        "google_oauth": _bare("ya" + "29." + b.mixed(60)),
        "google_client": _bare("GOC" + "SPX-" + b.mixed(28)),
        "stripe": _bare("sk_" + "live_" + b.mixed(24)),
        "stripe_test": _bare("sk_" + "test_" + b.mixed(24)),
        "npm": _bare("np" + "m_" + b.mixed(36)),
        "pypi": _bare("py" + "pi-AgEIcHlwaS5vcmc" + b.mixed(60)),
        "huggingface": _bare("h" + "f_" + b.mixed(34)),
        "sendgrid": _bare("S" + "G." + b.mixed(22) + "." + b.mixed(43)),
        "twilio": _bare("S" + "K" + b.hex[:32]),
        "digitalocean": _bare("do" + "p_v1_" + b.hex),
        "azure": (f"AccountName=fake;AccountKey={b.mixed(60)}/{b.mixed(25)}==", f"{b.mixed(60)}/{b.mixed(25)}=="),
        "pem": (_pem(b, "RSA PRIVATE KEY"), b.mixed(64)),
        "pem_in_a_string": (_pem(b, "PRIVATE KEY", "\\n"), b.mixed(64)),
        "jwt": _bare("ey" + "J" + b.mixed(33) + ".ey" + "J" + b.mixed(40) + "." + b.mixed(43)),
        "url": ("postgres://svc:" + b.mixed(16) + "@db.example.invalid:5432/app", b.mixed(16)),
        "bearer": ("Authorization: Bearer " + b.mixed(40), b.mixed(40)),
        "basic": ("authorization: Basic " + b.mixed(38) + "==", b.mixed(38)),
        "env": ("API_KEY=" + b.mixed(32), b.mixed(32)),
        "assigned": ('db_password = "' + b.mixed(18) + '"', b.mixed(18)),
        "json_member": ('{"password": "' + b.mixed(18) + '"}', b.mixed(18)),
        "json_in_a_string": ('{\\"client_secret\\": \\"' + b.mixed(24) + '\\"}', b.mixed(24)),
        "yaml": ("password: " + b.mixed(14), b.mixed(14)),
        "camel_case": ("apiKey: '" + b.mixed(32) + "'", b.mixed(32)),
        "flag": ("deploy --password " + b.mixed(14), b.mixed(14)),
    }


def _clouds(b: Body) -> Planted:
    """Clouds."""
    return {
        "aws_session": ("aws_session_token=" + b.sts, b.sts),
        "aws_session_bare": _bare(b.sts),
        "aws_bedrock": _bare("AB" + "SK" + b.mixed(120)),
        "gcp_refresh": _bare("1/" + "/0" + b.mixed(60)),
        "gcp_key_id": ('"private_key_id": "' + b.hex[:40] + '"', b.hex[:40]),
        "gemini": _bare("AQ" + ".Ab" + b.mixed(50)),
        "entra": _bare("Ex4" + "8Q~" + b.mixed(33)),
        "azure_devops": _bare(b.mixed(76) + "AZ" + "DO" + "x9K2"),
        "azure_sas": ("https://acct.example.invalid/c?sv=2026&sig=" + b.mixed(43) + "%3D", b.mixed(43) + "%3D"),
        "alibaba": _bare("LT" + "AI" + b.mixed(20)),
        "heroku": _bare("HR" + "KU-" + b.mixed(60)),
        "fly": _bare("fm" + "2_" + b.mixed(120)),
        "render": _bare("rn" + "d_" + b.mixed(32)),
        "vercel": _bare("vc" + "p_" + b.mixed(40)),
        "netlify": _bare("nf" + "p_" + b.mixed(36)),
        "cloudflare_origin": _bare("v1" + ".0-" + b.hex[:24] + "-" + (b.hex * 3)[:146]),
        "supabase": _bare("sb" + "p_" + b.hex[:40]),
        "supabase_secret": _bare("sb_" + "secret_" + b.mixed(31)),
        "planetscale": _bare("pscale_" + "tkn_" + b.mixed(43)),
        "neon": _bare("na" + "pi_" + b.hex[:62]),
        "databricks": _bare("da" + "pi" + b.hex[:32]),
        "terraform": _bare(b.mixed(14) + ".atlas" + "v1." + b.mixed(64)),
        "vault": _bare("hv" + "s." + b.mixed(90)),
        "pulumi": _bare("pu" + "l-" + b.hex[:40]),
        "doppler": _bare("dp" + ".pt." + b.mixed(43)),
        "onepassword": _bare("op" + "s_eyJ" + (b.mixed(96) * 3)),
    }


def _models(b: Body) -> Planted:
    """Models and the tools of agents."""
    return {
        "openrouter": _bare("sk-" + "or-v1-" + b.hex),
        "xai": _bare("xa" + "i-" + b.mixed(80)),
        "groq": _bare("gs" + "k_" + b.mixed(52)),
        "perplexity": _bare("pp" + "lx-" + b.mixed(48)),
        "replicate": _bare("r" + "8_" + b.mixed(37)),
        "nvidia": _bare("nv" + "api-" + b.mixed(64)),
        "together": _bare("tgp_" + "v1_" + b.mixed(43)),
        "fireworks": _bare("f" + "w_" + b.mixed(24)),
        "voyage": _bare("p" + "a-" + b.mixed(43)),
        "jina": _bare("ji" + "na_" + b.hex[:32] + b.mixed(28)),
        "elevenlabs": _bare("s" + "k_" + b.hex[:48]),
        "tavily": _bare("tv" + "ly-dev-" + b.mixed(32)),
        "firecrawl": _bare("f" + "c-" + b.hex[:32]),
        "e2b": _bare("e2" + "b_" + b.hex[:40]),
        "pinecone": _bare("pc" + "sk_" + b.mixed(6) + "_" + b.mixed(63)),
        "langsmith": _bare("lsv2_" + "pt_" + b.hex[:32] + "_" + b.hex[:10]),
        "cerebras": _bare("cs" + "k-" + b.hex[:48]),
        "mistral_by_name": ("MISTRAL_API_KEY=" + b.mixed(32), b.mixed(32)),
        "cohere_by_name": ('co_api_key: "' + b.mixed(40) + '"', b.mixed(40)),
    }


def _services(b: Body) -> Planted:
    """Services."""
    return {
        "bitbucket": _bare("AT" + "BB" + b.mixed(32)),
        "docker": _bare("dckr_" + "pat_" + b.mixed(27)),
        "rubygems": _bare("ruby" + "gems_" + b.hex[:48]),
        "crates": _bare("ci" + "o" + b.mixed(32)),
        "circleci": _bare("CCI" + "PAT_" + b.mixed(22) + "_" + b.hex[:40]),
        "sonar": _bare("sq" + "p_" + b.hex[:40]),
        "postman": _bare("PM" + "AK-" + b.hex[:24] + "-" + b.hex[:34]),
        "telegram": _bare("123456" + "7890:AA" + b.mixed(33)),
        "discord": _bare("MTIz" + b.mixed(20) + "." + b.mixed(6) + "." + b.mixed(38)),
        "discord_webhook": ("https://discord.com/api/" + "webhooks/123456789012345678/" + b.mixed(68), b.mixed(68)),
        "teams_webhook": ("https://x.webhook." + "office.com/webhookb2/" + b.hex + "@x/y", b.hex),
        "mailchimp": _bare(b.hex[:32] + "-u" + "s12"),
        "mailgun": _bare("ke" + "y-" + b.hex[:32]),
        "brevo": _bare("xkey" + "sib-" + b.hex + "-" + b.mixed(16)),
        "resend": _bare("r" + "e_" + b.mixed(8) + "_" + b.mixed(24)),
        "square": _bare("EA" + "AA" + b.mixed(60)),
        "paypal": _bare("access_token$" + "production$" + b.hex[:16] + "$" + b.hex[:32]),
        "plaid": _bare("access-" + "sandbox-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"),
        "shopify": _bare("shp" + "at_" + b.hex[:32]),
        "newrelic": _bare("NR" + "AK-" + b.mixed(27).upper()),
        "newrelic_license": _bare(b.hex[:36] + "NR" + "AL"),
        "sentry": _bare("sn" + "tryu_" + b.hex),
        "grafana": _bare("gl" + "sa_" + b.mixed(32) + "_" + b.hex[:8]),
        "grafana_cloud": _bare("gl" + "c_" + b.mixed(90)),
        "honeycomb": _bare("hc" + "aik_" + b.hex[:58]),
        "posthog": _bare("ph" + "x_" + b.mixed(43)),
        "dynatrace": _bare("dt0" + "c01." + b.mixed(24).upper() + "." + b.mixed(64).upper()),
        "datadog_by_name": ("DD_APP_KEY=" + b.hex[:40], b.hex[:40]),
        "linear": _bare("lin_" + "api_" + b.mixed(40)),
        "notion": _bare("nt" + "n_" + "12345678901" + b.mixed(35)),
        "atlassian": _bare("AT" + "ATT3" + b.mixed(96) + "=" + "8A1B2C3D"),
        "figma": _bare("fi" + "gd_" + b.mixed(40)),
        "airtable": _bare("pa" + "tX" + b.mixed(13) + "." + b.hex),
        "airtable_like_a_word": _bare("pa" + "tH" + b.mixed(13) + "." + b.hex),
        "trello": _bare("AT" + "TA" + b.hex + "8A1B2C3D"),
        "hubspot": _bare("pat-" + "na1-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"),
        "mapbox": _bare("sk." + "eyJ" + b.mixed(60) + "." + b.mixed(22)),
        "salesforce": _bare("00" + "D" + b.mixed(12) + "!" + b.mixed(96)),
    }


def _forms(b: Body) -> Planted:
    """Keys by their form."""
    return {
        "age": _bare("AGE-SECRET-" + "KEY-1" + b.mixed(58).upper()),
        "putty": ("Private-" + "Lines: 1\n" + b.mixed(64), b.mixed(64)),
        "pgp": (_pem(b, "PGP PRIVATE KEY BLOCK"), b.mixed(64)),
        "openssh": (_pem(b, "OPENSSH PRIVATE KEY"), b.mixed(64)),
        "nostr": _bare("ns" + "ec1" + b.hex[:58].replace("1", "2").replace("b", "c")),
        "wallet": _bare(
            "xp" + "rv" + b.mixed(107).replace("0", "2").replace("I", "J").replace("O", "P").replace("l", "m")
        ),
        "bcrypt": _bare("$2b" + "$12$" + b.mixed(53)),
        "htpasswd": ("fay:$apr" + "1$x9K2abCd$" + b.mixed(22), b.mixed(22)),
        "shadow": ("fay:$6" + "$x9K2abCd$" + b.mixed(86) + ":19000:0", b.mixed(86)),
        "argon2": _bare("$argon" + "2id$v=19$m=65536,t=3,p=4$" + b.mixed(22) + "$" + b.mixed(43)),
    }


def _places(b: Body) -> Planted:
    """Addresses, headers, files."""
    return {
        "redis_url": ("redis://:" + b.mixed(16) + "@cache.example.invalid:6379/0", b.mixed(16)),
        "basic_auth_url": ("https://fay:" + b.mixed(18) + "@git.example.invalid/x.git", b.mixed(18)),
        "jdbc": ("jdbc:postgresql://h/db?user=fay&password=" + b.mixed(18), b.mixed(18)),
        "ado": ("Server=h;User Id=fay;Password=" + b.mixed(18) + ";Encrypt=true", b.mixed(18)),
        "presigned": ("https://b.example.invalid/o?X-Amz-Date=1&X-Amz-Signature=" + b.hex, b.hex),
        "authorization_token": ("Authorization: token " + b.mixed(40), b.mixed(40)),
        "api_key_header": ("X-Api-Key: " + b.mixed(32), b.mixed(32)),
        "set_cookie": ("Set-Cookie: sid=" + b.mixed(40) + "; Path=/; HttpOnly", b.mixed(40)),
        "cookie": ("Cookie: lang=en; sid=" + b.mixed(40) + "\n", b.mixed(40)),
        "cookie_member": ('{"cookie": "lang=en; sid=' + b.mixed(40) + '"}', b.mixed(40)),
        "curl_user": ("curl -u fay:" + b.mixed(14) + " https://h.example.invalid", b.mixed(14)),
        "mysql": ("mysql -u fay -p" + b.mixed(14) + " shop", b.mixed(14)),
        "sshpass": ("sshpass -p '" + b.mixed(14) + "' ssh h", b.mixed(14)),
        "netrc": ("machine h.example.invalid login fay password " + b.mixed(14), b.mixed(14)),
        "netrc_lines": ("machine h.example.invalid\n  login fay\n  password " + b.mixed(14), b.mixed(14)),
        "docker_auth": ('{"auths": {"h": {"auth": "' + b.login + '"}}}', b.login),
        "npmrc_auth": ("//r.example.invalid/:_auth=" + b.login, b.login),
        "pgpassword": ("PGPASSWORD=" + b.mixed(14) + " psql -h h", b.mixed(14)),
        "wireguard": ("PrivateKey = " + b.mixed(43) + "=", b.mixed(43)),
        "long_value": ("session_token: " + b.mixed(96) * 8, b.mixed(96)),
    }


def planted(b: Body) -> Planted:
    """Return a secret of every kind."""
    return {**_first(b), **_clouds(b), **_models(b), **_services(b), **_forms(b), **_places(b)}


PLANTED = planted(FIXED)
