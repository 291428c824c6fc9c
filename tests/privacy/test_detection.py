"""What is found and, as important, what is left alone."""

from __future__ import annotations

import json
import re

import pytest

from recollect.model.marker import parts_of_marker
from recollect.privacy import DEFAULT, Redactor
from recollect.privacy.plausibility import plausible_password, plausible_token
from tests.examples import IS_THOROUGH
from tests.privacy.planted_secrets import PASSWORD, PLANTED, SURROUNDINGS, is_readable, near_misses

REDACTOR = Redactor(b"a key for tests")


def test_a_secret_of_every_kind_is_replaced() -> None:
    for kind, (written, secret) in PLANTED.items():
        text, findings = REDACTOR.redact_text(f"before {written} after")
        assert findings, kind
        assert secret not in text, kind
        assert text.startswith("before "), kind
        assert text.endswith(" after"), kind


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_a_secret_of_every_kind_is_replaced_in_these_surroundings(name: str) -> None:
    surrounded = {kind: (SURROUNDINGS[name](written), secret) for kind, (written, secret) in PLANTED.items()}
    redacted = {kind: REDACTOR.redact_text(text)[0] for kind, (text, _) in surrounded.items()}
    assert [kind for kind, (_, secret) in surrounded.items() if is_readable(secret, redacted[kind])] == []


def test_what_stands_for_a_secret_of_any_kind_is_left_alone() -> None:
    misses = [miss for kind in PLANTED for miss in near_misses(kind)]
    assert [(miss, text) for miss in misses if (text := REDACTOR.redact_text(miss)[0]) != miss] == []


@pytest.mark.parametrize(
    "code", ["\x1b[1;32m", "\\n", "\\t", "%22", "%3D", "\\u003d", "&quot;", '\\"', "[32m", "^[[32m"]
)
def test_a_vendors_token_is_found_directly_after_what_is_encoded(code: str) -> None:
    tokens = [secret for kind, (written, secret) in PLANTED.items() if written == secret and "\n" not in secret]
    assert len(tokens) > 100
    readable = [token for token in tokens if token in REDACTOR.redact_text(f"x{code}{token}{code}y")[0]]
    assert readable == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"password={PASSWORD} user=fay", "password={} user=fay"),
        (f'password="{PASSWORD}" user', 'password="{}" user'),
        ("https://h.example.invalid/?password=Zx9Kq7Wv5&page=2", "https://h.example.invalid/?password={}&page=2"),
        ("export PASSWORD=Zx9Kq7Wv5; make", "export PASSWORD={}; make"),
        ("PASSWORD=Zx9Kq7Wv5&& make", "PASSWORD={}&& make"),
        ("Server=h;Password=Zx9Kq7Wv5;Encrypt=true", "Server=h;Password={};Encrypt=true"),
        ("(password=Zx9Kq7Wv5)", "(password={})"),
        ("the password is Zx9Kq7Wv5.", "the password is {}."),
        ("password: Zx9Kq7Wv5, user: fay", "password: {}, user: fay"),
        ("<password>Zx9Kq7Wv5</password>", "<password>{}</password>"),
        (r"password=Zx9Kq7Wv5\nuser=fay", r"password={}\nuser=fay"),
        (r"{\"password\": \"a\\\"Zx9Kq7\"}", r"{\"password\": \"{}\"}"),
    ],
)
def test_a_password_goes_to_its_end_and_no_further(text: str, left: str) -> None:
    redacted, (finding,) = REDACTOR.redact_text(text)
    assert redacted == left.replace("{}", finding.marker)


@pytest.mark.parametrize(
    "path",
    ["src/auth/token_store.py", "feature/rotate-api-key", "/home/fay/.ssh/id_ed25519", "claude:5f0c#12", "", "é"],
)
def test_identifiers_and_paths_are_left_alone(path: str) -> None:
    assert REDACTOR.redact_text(path) == (path, ())


def test_a_secret_in_a_path_or_a_branch_is_replaced() -> None:
    token = PLANTED["github_classic"][0]
    assert token not in REDACTOR.redact_text(f"/home/fay/{token}/x.jsonl")[0]
    assert token not in REDACTOR.redact_text(f"fix/{token}")[0]


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ({"name": "DB_PASSWORD", "value": "sunflower"}, "sunflower"),
        ({"db_password": {"sensitive": True, "value": "sunflower"}}, "sunflower"),
        ({"args": ["--api-key", PLANTED["env"][1]]}, PLANTED["env"][1]),
        ({"kty": "EC", "d": PLANTED["jwk"][1]}, PLANTED["jwk"][1]),
        ({"headers": {"Authorization": "Token " + PLANTED["x_auth_token"][1]}}, PLANTED["x_auth_token"][1]),
    ],
)
def test_what_an_object_names_is_replaced(value: object, secret: str) -> None:
    assert secret in json.dumps(value)
    assert secret not in json.dumps(REDACTOR.redact_value(value)[0])


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password()",
        "password: str = field(default='')",
        "token: str",
        'password = "<password>"',
        "PASSWORD=${DB_PASSWORD2}",
        "password=$PASSWORD1",
        'api_key = os.environ["API_KEY_2"]',
        "apiKey: process.env.API_KEY1",
        "password: ********",
        "password=changeme1",
        'password = "password123"',
        '"token": "your-token-here-123"',
        "token=self.token2",
        "secret: my-secret-key-2",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "input_tokens: 1234567890",
        '"max_token": 128000',
        "postgres://user:password@localhost/app",
        "https://example.invalid:8443/path@v2",
        "the secret is a long story, 2026",
        "task-runner-with-a-long-kebab-name-12",
        "-----BEGIN PRIVATE KEY----- is the header to look for",
        "Basic understanding1",
        "publicKeyToken='b77a5c561934e089'",
        "password = password",
        '<input type="password" name="q">',
        '{"type": "password", "label": "Password"}',
        '{"password": "Password", "token": "Token"}',
        '{"password": "required"}',
        "connect(user=user, password=secret)",
        "password: string;",
        "  -p, --password string   the password to use",
        "PASSWORD '<password>'",
        "IDENTIFIED BY 'your_password'",
        "identified by strategy in metadata",
        "https://user:pass@h.example.invalid",
        "http://h.example.invalid:8080/a@b",
        "--- PASS: TestGetOrCreateSession1 (0.05s)",
        "docker run -p 8080:80 image && docker login",
        "no cache found for key: setup-uv-1-x86_64-0.7.13-f6c65b29c82e4981",
        "next_page_token: 9f3c1a7e5b2d8046c7e1f9a3",
        '{"key": "repo1:2bef70455df841d4b0f6418478f5911e"}',
        "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx",
        "pk_live_Zx9Kq7Wv5Bn3Mm2Ll8Pp4Rr6",
        "the password is wrong; the token is expired",
        "redis-cli -a $REDIS_PASSWORD ping",
        "mypassword: ${VAULT}/x%20y%2Fz",
    ],
)
def test_placeholders_references_and_prose_are_left_alone(text: str) -> None:
    assert REDACTOR.redact_text(text) == (text, ())


def test_a_private_key_that_is_cut_off_is_replaced_to_its_last_line() -> None:
    written, secret = PLANTED["pem"]
    text, findings = REDACTOR.redact_text(written[: written.index(secret) + 80])
    assert [f.kind for f in findings] == ["private_key"]
    assert text == findings[0].marker


def test_the_most_specific_kind_names_a_secret() -> None:
    _, findings = REDACTOR.redact_text("API_KEY=" + PLANTED["github_classic"][0])
    assert [f.kind for f in findings] == ["github_token"]


def test_overlapping_secrets_leave_no_tail() -> None:
    text, findings = REDACTOR.redact_text("password='" + PLANTED["github_classic"][0] + "-tail9'")
    assert len(findings) == 1
    assert text == f"password='{findings[0].marker}'"


def test_equal_secrets_have_equal_fingerprints_under_one_key_only() -> None:
    written = PLANTED["npm"][0]
    _, (first, second) = REDACTOR.redact_text(f"{written} {written}")
    _, (other,) = Redactor(b"another key").redact_text(written)
    assert first == second
    assert first.fingerprint != other.fingerprint
    assert parts_of_marker(first.marker) == ("npm_token", first.fingerprint)


def test_a_password_chosen_by_a_person_is_plausible_and_a_word_is_none() -> None:
    assert plausible_password("Tr0ub4dor&3")
    assert not plausible_password("required")
    assert not plausible_token("session_token_12")


def test_kinds_are_slugs_and_literals_are_found_as_json_writes_them() -> None:
    for detector in DEFAULT:
        assert re.fullmatch(r"[a-z0-9_]{1,40}", detector.kind)
        assert detector.literals
        for literal in detector.literals:
            escaped = json.dumps(literal.decode())[1:-1].encode()
            assert literal.isascii() or any(other in escaped for other in detector.literals if other.isascii())


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "=",
        "/",
        "@",
        "eyJ",
        "-----BEGIN",
        "-----BEGIN PRIVATE KEY-----",
        "-eyJaaaaaaaa",
        "://",
        "://a:",
        "sk-",
        "SK0",
    ],
)
def test_megabytes_of_one_thing_are_read_in_bounded_time(unit: str) -> None:
    text = unit * ((5_000_000 if IS_THOROUGH else 1_000_000) // len(unit))
    REDACTOR.suspects(text.encode(), [len(text)])
    REDACTOR.redact_text(text)


@pytest.mark.parametrize("unit", ["password=", "token='", "password\\", "Bearer ", "--password ", "secret=Aa"])
def test_names_without_end_are_read_in_bounded_time(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    REDACTOR.suspects(text.encode(), [len(text)])
    REDACTOR.redact_text(text)
