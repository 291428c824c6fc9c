"""Made-up secrets of every kind, put together at run time so that no scanner takes this file for a leak.

Each is (what is written, the part that must not be seen again). None was ever valid.
"""

from __future__ import annotations

_MIXED = "Ex4mp1eF4k3Va1ueN0tRea1QwZxCvBnM7uYtR5eWs2DfGhJk9LpOiU3aSdFgHjKl8ZxCvB6nMqWeRtYuIoP0aSdFgH1jKlZ"
_HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
_DASHES = "-" * 5


def _mixed(length: int) -> str:
    return (_MIXED * 2)[:length]


def _pem(label: str, line_end: str = "\n") -> str:
    body = line_end.join((_mixed(64), _mixed(60)[::-1] + "ABCD"))
    return f"{_DASHES}BEGIN {label}{_DASHES}{line_end}{body}{line_end}{_DASHES}END {label}{_DASHES}"


def _bare(secret: str) -> tuple[str, str]:
    return secret, secret


PLANTED: dict[str, tuple[str, str]] = {
    "aws_access_key": _bare("AK" + "IA" + "EXAMPLE" + "FAKE23456"),
    "aws_temporary_key": _bare("AS" + "IA" + "EXAMPLE" + "FAKE23456"),
    "aws_secret_key": ("aws_secret_access_key = " + _mixed(30) + "/fake+9/AB", _mixed(30) + "/fake+9/AB"),
    "github_classic": _bare("gh" + "p_" + _mixed(36)),
    "github_oauth": _bare("gh" + "o_" + _mixed(36)),
    "github_app": _bare("gh" + "s_" + _mixed(36)),
    "github_fine": _bare("github_" + "pat_" + _mixed(22) + "_" + _mixed(59)),
    "gitlab": _bare("gl" + "pat-" + _mixed(20)),
    "openai": _bare("sk-" + "proj-" + _mixed(48)),
    "openai_old": _bare("sk-" + _mixed(48)),
    "anthropic": _bare("sk-" + "ant-api03-" + _mixed(93) + "AA"),
    "slack_bot": _bare("xo" + "xb-" + "12345098761-123450987612-" + _mixed(24)),
    "slack_webhook": ("https://hooks." + "slack.com/services/T0FAKE000/B0FAKE000/" + _mixed(24), _mixed(24)),
    "google_api": _bare("AI" + "za" + _mixed(35)),
    "google_oauth": _bare("ya" + "29." + _mixed(60)),
    "google_client": _bare("GOC" + "SPX-" + _mixed(28)),
    "stripe": _bare("sk_" + "live_" + _mixed(24)),
    "stripe_test": _bare("sk_" + "test_" + _mixed(24)),
    "npm": _bare("np" + "m_" + _mixed(36)),
    "pypi": _bare("py" + "pi-AgEIcHlwaS5vcmc" + _mixed(60)),
    "huggingface": _bare("h" + "f_" + _mixed(34)),
    "sendgrid": _bare("S" + "G." + _mixed(22) + "." + _mixed(43)),
    "twilio": _bare("S" + "K" + _HEX[:32]),
    "digitalocean": _bare("do" + "p_v1_" + _HEX),
    "azure": (f"AccountName=fake;AccountKey={_mixed(60)}/{_mixed(25)}==", f"{_mixed(60)}/{_mixed(25)}=="),
    "pem": (_pem("RSA PRIVATE KEY"), _mixed(64)),
    "pem_in_a_string": (_pem("PRIVATE KEY", "\\n"), _mixed(64)),
    "jwt": _bare("ey" + "J" + _mixed(33) + ".ey" + "J" + _mixed(40) + "." + _mixed(43)),
    "url": ("postgres://svc:" + _mixed(16) + "@db.example.invalid:5432/app", _mixed(16)),
    "bearer": ("Authorization: Bearer " + _mixed(40), _mixed(40)),
    "basic": ("authorization: Basic " + _mixed(38) + "==", _mixed(38)),
    "env": ("API_KEY=" + _mixed(32), _mixed(32)),
    "assigned": ('db_password = "' + _mixed(18) + '"', _mixed(18)),
    "json_member": ('{"password": "' + _mixed(18) + '"}', _mixed(18)),
    "json_in_a_string": ('{\\"client_secret\\": \\"' + _mixed(24) + '\\"}', _mixed(24)),
    "yaml": ("password: " + _mixed(14), _mixed(14)),
    "camel_case": ("apiKey: '" + _mixed(32) + "'", _mixed(32)),
    "flag": ("deploy --password " + _mixed(14), _mixed(14)),
}
