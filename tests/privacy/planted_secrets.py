"""Made-up secrets of every kind, put together at run time so that no scanner takes this file for a leak.

Each is (what is written, the part that must not be seen again). None was ever valid.
"""

from __future__ import annotations

import base64
import html
import json
import random
import re
import string
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from recollect.model.marker import SECRET_MARKER, parts_of_marker

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


PASSWORD = "Tr0ub4" + "dor&3xyz"
"""A password that a person chose, with a sign that other rules take for its end."""
WORD = "sun" + "flower"
"""A password that is an ordinary word: told where nothing but a password can stand."""


def _headers(b: Body) -> Planted:
    """Headers of requests and answers."""
    return {
        "x_api_key": ("X-API-Key: " + b.mixed(32), b.mixed(32)),
        "x_auth_token": ("X-Auth-Token: " + b.hex[:40], b.hex[:40]),
        "private_token": ("PRIVATE-TOKEN: " + b.mixed(20), b.mixed(20)),
        "subscription_key": ("Ocp-Apim-Subscription-Key: " + b.hex[:32], b.hex[:32]),
        "dd_api_key": ("DD-API-KEY: " + b.hex[:32], b.hex[:32]),
        "apikey_header": ("apikey: " + b.mixed(36), b.mixed(36)),
        "authorization_of_any_scheme": ("Authorization: GenieKey " + b.mixed(36), b.mixed(36)),
        "authorization_bare": ("Authorization: " + b.mixed(40), b.mixed(40)),
        "proxy_authorization": ("Proxy-Authorization: Basic " + b.login, b.login),
        "security_token": ("x-amz-security-token: " + b.sts, b.sts),
        "x_auth_key": ("X-Auth-Key: " + b.hex[:37], b.hex[:37]),
    }


def _assignments(b: Body) -> Planted:
    """Names and values in configuration, code and environments."""
    short, key = b.mixed(14), b.mixed(32)
    return {
        "stripe_key_env": ("STRIPE_KEY=" + key, key),
        "secret_key_base": ("SECRET_KEY_BASE=" + b.hex, b.hex),
        "laravel": ("APP_KEY=base64:" + b.mixed(43) + "=", b.mixed(43)),
        "exported": ("export SLACK_SIGNING_SECRET=" + b.hex[:32], b.hex[:32]),
        "some_pass": ("SMTP_PASS=" + PASSWORD, PASSWORD),
        "some_pwd": ("ADMIN_PWD=" + short, short),
        "api_key_of_two_words": ("API key: " + key, key),
        "apikey_member": ('"APIKey": "' + key + '"', key),
        "pass_member": ("pass: " + PASSWORD, PASSWORD),
        "password_with_signs": ("password=" + PASSWORD, PASSWORD),
        "password_word_in_json": ('{"password": "' + WORD + '"}', WORD),
        "password_word_in_yaml": ('db:\n  password: "' + WORD + '"', WORD),
        "told_in_german": ("Das Kennwort lautet " + PASSWORD, PASSWORD),
        "told_with_a_name": ("log in with password " + PASSWORD, PASSWORD),
        "told_as_a_pair": ("The credentials are fay / " + PASSWORD, PASSWORD),
        "token_told_in_german": ("Mein Token ist " + key, key),
        "kubernetes_env": ("- name: DB_PASSWORD\n  value: " + PASSWORD, PASSWORD),
        "kubernetes_env_json": ('{"name": "API_TOKEN", "value": "' + key + '"}', key),
        "xml_element": ("<password>" + WORD + "</password>", WORD),
        "xml_attribute": ('<add key="ApiKey" value="' + key + '" />', key),
        "xml_own_attribute": ('<user name="fay" password="' + WORD + '"/>', WORD),
        "plist": ("<key>password</key>\n<string>" + WORD + "</string>", WORD),
        "kubeconfig": ("client-key-data: " + b.mixed(96) * 2, b.mixed(96)),
        "jwk": ('{"kty": "EC", "crv": "P-256", "d": "' + b.mixed(43) + '"}', b.mixed(43)),
        "ruby_hash": (":api_key => '" + key + "'", key),
        "typed_code": ('password: str = "' + short + '"', short),
        "define": ("define('DB_PASSWORD', '" + short + "');", short),
        "subscript": ('os.environ["API_TOKEN"] = "' + key + '"', key),
        "dockerfile": ("ENV ACCESS_TOKEN " + key, key),
        "java_properties": ("spring.datasource.password=" + short, short),
        "terraform": ('db_password = "' + PASSWORD + '"', PASSWORD),
        "odbc": ("Driver={x};Server=h;Uid=fay;Pwd=" + short + ";", short),
        "wp_salt": ("define('AUTH_SALT', '" + key + "');", key),
        "ini_secret": ("client_secret = " + key, key),
        "args_in_json": ('["serve", "--api-key", "' + key + '"]', key),
        "yaml_next_line": ("Your token:\n\n  " + b.mixed(40), b.mixed(40)),
        "environment_suffix": ("GITHUB_TOKEN_CI=" + b.hex[:40], b.hex[:40]),
        "gradle": ("signing.keyPassword=" + short, short),
        "passphrase": ('passphrase: "copper lantern drift meadow"', "copper lantern drift meadow"),
    }


def _statements(b: Body) -> Planted:
    """SQL and configuration of servers."""
    short = b.mixed(14)
    return {
        "sql_identified": ("CREATE USER 'fay'@'%' IDENTIFIED BY '" + WORD + "';", WORD),
        "sql_password": ("ALTER ROLE fay WITH LOGIN PASSWORD '" + WORD + "';", WORD),
        "sql_server": ("CREATE LOGIN fay WITH PASSWORD = N'" + PASSWORD + "';", PASSWORD),
        "redis_conf": ("requirepass " + short, short),
        "pgpass": ("db.example.invalid:5432:shop:fay:" + short, short),
        "wireguard_psk": ("PresharedKey = " + b.mixed(43) + "=", b.mixed(43)),
    }


def _commands(b: Body) -> Planted:
    """Options and arguments of programs, and what they print."""
    short, key = b.mixed(14), b.mixed(40)
    return {
        "redis_cli": ("redis-cli -h h -a " + short + " ping", short),
        "docker_login": ("docker login -u fay -p " + short + " r.example.invalid", short),
        "mysql_word": ("mysql -u fay -p" + WORD + " shop", WORD),
        "htpasswd_b": ("htpasswd -b /etc/pw fay " + short, short),
        "aws_configure": ("aws configure set aws_secret_access_key " + b.mixed(40), b.mixed(40)),
        "aws_prompt": ("AWS Secret Access Key [None]: " + b.mixed(30) + "/fake+9/AB", b.mixed(30) + "/fake+9/AB"),
        "from_literal": ("kubectl create secret generic x --from-literal=password=" + short, short),
        "curl_signs": ("curl -u fay:" + PASSWORD + " https://h.example.invalid", PASSWORD),
        "curl_token": ("curl -H 'X-Token: " + key + "' h", key),
        "long_option": ("tool --client-secret=" + key, key),
        "openssl": ("openssl rsa -passin pass:" + short + " -in k", short),
        "mongo": ("mongosh -u fay -p " + short, short),
        "chpasswd": ("echo 'fay:" + short + "' | chpasswd", short),
        "sudo": ("echo " + short + " | sudo -S id", short),
        "prompt": ("Password for user fay: " + short, short),
        "kubeadm": ("kubeadm join h:6443 --token 4f9q2z." + b.hex[:16], b.hex[:16]),
        "ngrok": ("ngrok config add-authtoken " + key, key),
        "minio": ("mc alias set store https://h.example.invalid fay " + short, short),
        "sqlcmd": ("sqlcmd -S h -U fay -P " + short, short),
        "ldap": ("ldapsearch -D cn=fay -w " + short + " x", short),
    }


def _told(b: Body) -> Planted:
    """What people and tables say."""
    short, key = b.mixed(14), b.mixed(32)
    return {
        "prose_password": ("the staging password is hunter2-" + b.mixed(5), "hunter2-" + b.mixed(5)),
        "prose_token": ("my token is " + key + " for now", key),
        "prose_markdown": ("**Password:** `" + short + "`", short),
        "cell": ("| DB_PASSWORD | " + short + " |", short),
        "columns": ("API_TOKEN        " + key, key),
        "any_scheme": ("amqp+ssl://fay:" + WORD + "@mq.example.invalid/x", WORD),
        "url_password_with_at": ("smtp://fay:p@ss" + short + "@mail.example.invalid", short),
        "url_token": ("https://" + b.hex[:40] + "@git.example.invalid/x.git", b.hex[:40]),
        "query": ("https://h.example.invalid/x?access_token=" + key + "&page=2", key),
    }


def _more_vendors(b: Body) -> Planted:
    """More tokens that a prefix tells."""
    letters = "".join(c for c in b.mixed(96) if c.isalpha())[:24].lower().ljust(24, "k")
    return {
        "stripe_of_letters": _bare("sk_" + "live_" + letters),
        "webhook_secret": _bare("wh" + "sec_" + letters),
        "adafruit": _bare("ai" + "o_" + b.mixed(28)),
        "tailscale": _bare("ts" + "key-auth-" + b.mixed(11) + "-" + b.mixed(32)),
        "razorpay": _bare("rz" + "p_live_" + b.mixed(14)),
        "octopus": _bare("AP" + "I-" + b.mixed(27).upper()),
        "openshift": _bare("sha" + "256~" + b.mixed(43)),
        "prefect": _bare("pn" + "u_" + b.mixed(36)),
        "readme": _bare("rd" + "me_" + b.hex + b.hex[:6]),
        "easypost": _bare("EZ" + "AK" + b.mixed(54)),
        "shippo": _bare("shippo_" + "live_" + b.hex[:40]),
        "langfuse": _bare("sk-" + "lf-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"),
        "apify": _bare("apify_" + "api_" + b.mixed(36)),
        "dropbox": _bare("s" + "l.u." + b.mixed(96) + b.mixed(40)),
        "flutterwave": _bare("FLW" + "SECK-" + b.hex[:32] + "-X"),
        "duffel": _bare("duffel_" + "live_" + b.mixed(43)),
        "unlisted_live": _bare("zorb" + "_live_" + b.mixed(32)),
        "unlisted_pat": _bare("quux" + "-pat-" + b.mixed(28)),
        "facebook": _bare("EA" + "AG" + b.mixed(96) + b.mixed(60)),
        "mailersend": _bare("ml" + "sn." + b.hex),
        "polar": _bare("polar_" + "oat_" + b.mixed(43)),
        "runpod": _bare("rp" + "a_" + b.mixed(42).upper()),
    }


def planted(b: Body) -> Planted:
    """Return a secret of every kind."""
    groups = (
        _first, _clouds, _models, _services, _forms, _places,
        _headers, _assignments, _statements, _commands, _told, _more_vendors,
    )  # fmt: skip
    return {kind: written for group in groups for kind, written in group(b).items()}


PLANTED = planted(FIXED)


def _coloured(written: str) -> str:
    return f"\x1b[1;32m{written}\x1b[0m"


def _escaped(written: str) -> str:
    return json.dumps({"output": f"first\n{written}\nlast"})


def _commented(mark: str, written: str) -> str:
    return "\n".join(f"{mark}{line}" for line in written.split("\n"))


SURROUNDINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda written: f"before {written} after",
    "shell": lambda written: f"$ {written}\n$ echo done",
    "JSON string": _escaped,
    "JSON string in a JSON string": lambda written: json.dumps(_escaped(written)),
    "coloured": _coloured,
    "coloured in JSON": lambda written: json.dumps({"text": _coloured(written)}),
    "URL-encoded": lambda written: "q=" + quote(f" {written} ", safe=""),
    "HTML": lambda written: f"<pre>{html.escape(written)}</pre>",
    "YAML": lambda written: "script: |\n" + _commented("    ", written) + "\n",
    "diff line": lambda written: "@@ -1 +1 @@\n" + _commented("+", written) + "\n",
    "log line": lambda written: f"2026-07-29T10:00:00Z INFO app[12]: {written}",
    "table": lambda written: f"| 1 | {written} | yes |",
    "Markdown": lambda written: f"- run `{written}` first",
    "SQL": lambda written: f"-- {written}\nSELECT 1;",
    ".env": lambda written: f"A=1\n{written}\nB=2",
    "header": lambda written: f"HTTP/1.1 200 OK\r\n{written}\r\nX-B: 2\r\n",
}
"""What stands around a secret: where agents see one."""


NEAR_MISSES = ("${SECRET_1}", "<your-secret-1>", "********", "xxxxxxxxxxxxxxxxxxxxxxxx", "your_key_here", "[...]")
"""What stands for a secret in documentation and code."""


_PREFIX = re.compile(r"(?:[A-Za-z]{1,8}[0-9]{0,2}[-_.~$|:]+){1,3}|[A-Z]{4}(?![a-z])")


def near_misses(kind: str) -> list[str]:
    """Return what is written where a secret of the kind would be, without one."""
    written, secret = PLANTED[kind]
    if _DASHES in written:  # of a private key only the header
        return [written[: written.index("\n" if "\n" in written else "\\")] + f" {miss}" for miss in NEAR_MISSES]
    prefix = _PREFIX.match(secret) if written == secret else None
    return [written.replace(secret, (prefix[0] if prefix else "") + miss) for miss in NEAR_MISSES]


FORMS_IN_TEXT: tuple[Callable[[str], str], ...] = (
    lambda secret: secret,
    lambda secret: quote(secret, safe=""),
    html.escape,
    lambda secret: json.dumps(secret)[1:-1],
    lambda secret: json.dumps(json.dumps(secret)[1:-1])[1:-1],
)


def is_readable(secret: str, text: str) -> bool:
    """Whether a secret can be read in a text, also from one of the ways in which surroundings write it."""
    return any(form(secret) in text for form in FORMS_IN_TEXT)


def kinds_in(text: str) -> set[str]:
    """Return the kinds of secrets that the markers of a text name."""
    return {parts_of_marker(marker)[0] for marker in SECRET_MARKER.findall(text)}
