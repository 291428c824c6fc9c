"""What looks like a secret and is none: hashes, ids, images, lock files, code that handles secrets, minified code."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import uuid

import pytest

from recollect.privacy import Redactor

REDACTOR = Redactor(b"a key for tests")
RANDOM = random.Random(20260729)


def sha(name: str, *, of: str = "sha256") -> str:
    return hashlib.new(of, name.encode()).hexdigest()


def sha_base64(name: str, *, of: str = "sha512") -> str:
    return base64.b64encode(hashlib.new(of, name.encode()).digest()).decode()


def uid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


LOCK_FILES = (
    f'"node_modules/x": {{"version": "1.2.3", "integrity": "sha512-{sha_base64("a")}"}}',
    f'x@^1.0.0:\n  resolved "https://registry.example.invalid/x/-/x-1.0.0.tgz#{sha("b", of="sha1")}"',
    f"github.com/a/b v1.2.3 h1:{sha_base64('c', of='sha256')}",
    f'checksum = "{sha("d")}"',
    f'{{ url = "https://files.example.invalid/{sha("e")[:60]}/x.whl", hash = "sha256:{sha("e")}", size = 12345 }}',
    f"image: registry.example.invalid/app@sha256:{sha('f')}",
)
IDS = (
    f"commit {sha('g', of='sha1')}\nAuthor: Fay <fay@example.invalid>",
    json.dumps(
        {"sessionId": uid("h"), "uuid": uid("i"), "parentUuid": uid("j"), "requestId": "req_011CSHoEeqs5C35K2UU"}
    ),
    json.dumps(
        {
            "session_id": uid("k"),
            "cache_key": sha("l"),
            "etag": f'W/"{sha("m")}"',
            "id": "toolu_01A09q90qw90lq917835lq9",
        }
    ),
    json.dumps(
        {"dedupe_key": "msg_e7180c12_7:req_7", "primary_key": 42, "sort_key": sha("n"), "public_key": sha_base64("o")}
    ),
    f"arn:aws:iam::123456789012:role/deploy and x-request-id: {uid('p')}",
    f"trace {uid('q').replace('-', '')} span {sha('r')[:16]} call_{sha('s')[:24]}",
    "chatcmpl-9f8e7d6c5b4a39281706f5e4d3c2b1a0 and resp_0f1e2d3c4b5a69788796a5b4c3d2e1f0",
    f"Set-Cookie: theme=dark; Path=/ and Cookie: lang=en-GB; consent=yes-all-of-it; etag {sha('t')[:20]}",
)
CODE = (
    "const token = await getToken({ audience: API_AUDIENCE_V2 });",
    "def authorize(token: OAuth2Token, secret_key: Ed25519PrivateKey) -> None: ...",
    "private_key: serialization.Ed25519PrivateKey = load(path)",
    'API_KEY = os.environ["OPENAI_API_KEY_2"]; password = getpass.getpass("Password 2: ")',
    "if (passwordInput1.value !== passwordInput2.value) return",
    'headers = {"Authorization": f"Bearer {token2}"}',
    "Authorization: Bearer ${{ secrets.DEPLOY_TOKEN_2 }}",
    "-H 'Authorization: token <your-token-1>'",
    "curl -u $USER1:$PASS1 https://h.example.invalid && docker run -u 1000:1000 x",
    "mysql -u root -p shop && mysqldump -p$MYSQL_PWD_2 shop",
    "the machine learning login and the password policy are in docs/login2.md",
    'd={apiKey:e.apiKey,token:t.token2,secret:n.secretOrKey,password:r.pass1||""}',
    "!function(e,t){e.password=t.password1,e.token=n(t),e.secretKey=o.get(1)}(a,b);",
    "SELECT password_hash, token_hash2 FROM users WHERE token_id = $1 AND password = $2",
    "password: ^2.0.1\ntoken-lib: ~1.4.22\nsecret-agent: 12.3.4",
    "sk-learn-contrib-0.24.1-and-friends sk-some-kebab-case-name-of-a-branch-2",
    "re_compile_pattern_2 fw_version_string_12 pk_12_and pat_matching_path_1234 key-value-store-backend-2",
    "replace(/$1/g, '$2a$') and printf '$6$%s' and '{SSHA}' and $argon2id$",
    "the EAAA AKIA ghp_ sk-ant- and xoxb- beginnings are what scanners look for",
)


@pytest.mark.parametrize("text", [*LOCK_FILES, *IDS, *CODE])
def test_it_is_left_as_it_is(text: str) -> None:
    assert REDACTOR.redact_text(text) == (text, ())
    assert REDACTOR.redact_value({"text": [text]}) == ({"text": [text]}, ())


def test_an_image_is_left_as_it_is() -> None:
    for _ in range(20):
        image = base64.b64encode(RANDOM.randbytes(100_000)).decode()
        value = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}}
        assert REDACTOR.redact_value(value) == (value, ())
        assert REDACTOR.redact_text(f"data:image/png;base64,{image}") == (f"data:image/png;base64,{image}", ())


def test_a_thousand_hashes_and_ids_are_left_as_they_are() -> None:
    lines = [f"{sha(str(i))}  {uid(str(i))} {sha(str(i), of='sha1')} {sha_base64(str(i))}" for i in range(1000)]
    text = "\n".join(lines)
    assert REDACTOR.redact_text(text) == (text, ())
