"""What a name says about the value beside it: `DB_PASSWORD`, `apiKey`, `X-Auth-Token`, `AWS Secret Access Key`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

Strength = Literal["password", "secret", "token", "key", ""]
"""What a name says: a password; a secret or a key that is one by its name; a token; some key; nothing."""

PASSWORD_WORDS: Final = (
    "password", "passwd", "passphrase", "passcode", "passwort", "pwd", "pass", "passw", "psk", "pw",
)  # fmt: skip
SECRET_WORDS: Final = (
    "secret", "token", "key", "credential", "credentials", "creds", "auth", "authorization", "jwt", "pat",
    "sas", "cookie", "mnemonic", "phrase", "salt", "secrets", "bearer",
    "private_key_id",
)  # fmt: skip
"""The last word of a name, before an ending such as `_BASE` or `_PROD`."""

TAIL: Final = (
    r"(?:[_-]?[0-9]{1,3}|[_-](?:base|BASE|data|DATA|value|prod|dev|test|staging|live|primary|secondary|old|new)"
    r"|Base|Data|Value|(?:_[A-Z0-9]{1,12}){1,2})?"
)
"""What may follow that word and still belong to the name."""

_PARTS = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NO_VALUE_TAILS = frozenset(
    """name file path id ids arn url uri type length len size count expiry expires expiration ttl policy min max regex
    header field env version limit hash digest prefix suffix format required enabled visible hint label placeholder
    reset change error errors message text input form page button link ref dir location alias rotation algorithm alg
    issuer audience scope scopes budget usage used per cost price rate total window cache store manager provider
    strength validator validation rules mode status created updated changed date time at in""".split()
)
_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "passwort", "pwd", "passw")
_NO_PASS = frozenset(
    "bypass compass encompass surpass trespass overpass underpass multipass singlepass firstpass onepass".split()
)
_PASSED = frozenset("first second third one two single multi render shader by test tests build sanity of all".split())
_KEY_OF = frozenset(
    """api access secret private priv auth authentication encryption encrypt signing sign master app application account
    admin client consumer deploy deployment hmac license licence recovery service session shared storage subscription
    webhook preshared integration write ingest ingestion server bot function functions host live test sandbox root
    personal user developer dev team org security crypto cipher aes rsa ssl tls jwt wallet seed host gateway payment
    merchant publish provider platform backend internal registry package management read readwrite sts decryption vault
    authtoken otp totp backup""".split()
)
_NO_KEYS = frozenset(
    """public pub publishable publickey cache primary foreign sort partition idempotency object unique index lookup row
    group dedupe dedup merge translation i18n event state config route query react item map dict sorting order column
    field hot short shortcut keyboard arrow any each parent child child key registry hkey page scroll search message
    msg prop props metric tag label name path file node edge entity record document doc session_id left right enter
    escape esc tab control ctrl alt meta shift space up down home end del delete insert return composite natural
    surrogate candidate super alternate""".split()
)
_NO_TOKENS = frozenset(
    """max min num count total input output prompt completion cached cache stop eos bos pad next page continuation sync
    resume start end pagination cancellation cancel special unk mask sep cls first last current prev previous each per
    reasoning thinking context budget line text word delimiter operator keyword punctuation identifier separator
    paging cursor skip delta change since position history watermark window request correlation idempotency
    public""".split()
)


@lru_cache(maxsize=4096)
def strength_of(name: str) -> Strength:
    """Return what a whole name says. It may have blanks, as in prose and prompts."""
    if " " in name:
        alone = strength_of(name.rsplit(" ", 1)[1])
        if alone:
            return alone
    parts = [part.lower() for part in _PARTS.findall(name)]
    while parts and (parts[-1].isdigit() or (len(parts) > 1 and parts[-1] in _ENVIRONMENTS)):
        parts.pop()
    if not parts:
        return ""
    if parts[-3:] == ["private", "key", "id"]:
        return "secret"
    upper = name.isupper() and "_" in name
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    if last in ("base", "data", "value") and before in ("key", "secret", "token", "password"):
        return "secret" if before != "password" else "password"
    found = _of_last(last, before, name)
    if found == "key" and " " in name:  # in prose many words stand before a key
        return ""
    if not found and upper and len(parts) > 1:  # SECRET_KEY_STRIPE, GITHUB_TOKEN_CI; of two words the second is a noun
        if any(part in _NO_VALUE_TAILS for part in parts[1:]):
            return ""
        found = next((s for i in range(1, len(parts)) if (s := _of_last(parts[-1 - i], "api", name))), "")
    return found


_ENVIRONMENTS = frozenset(
    "prod production dev development test staging live sandbox primary secondary old new local ci main backup".split()
)


def _of_last(last: str, before: str, name: str) -> Strength:
    if name == "PASS":  # what test runners print
        return ""
    if last in ("pass", "pw", "psk") or last.endswith(_PASSWORDS):
        return "" if last in _NO_PASS or (last == "pass" and before in _PASSED) else "password"
    if last.endswith("pass") and last not in _NO_PASS:
        return "password"
    if last.endswith(("key", "keys")):
        return _of_key(last.removesuffix("s").removesuffix("key"), before, upper=name.isupper() and "_" in name)
    if last.endswith(("token", "tokens")):
        qualifier = last.removesuffix("s").removesuffix("token") or before
        return "" if qualifier in _NO_TOKENS or last == "tokens" else "token"
    if last.endswith("secret") or last in ("secrets", "mnemonic"):
        return "secret"
    if last in ("credential", "credentials", "creds", "auth", "authorization", "jwt", "pat", "sas", "cookie", "bearer"):
        return "token"
    if last == "phrase":
        return "secret" if before in ("seed", "recovery", "mnemonic", "secret") else ""
    return "secret" if last == "salt" and name.isupper() else ""


def _of_key(qualifier: str, before: str, *, upper: bool) -> Strength:
    """Return what `…key` says: of the many kinds of keys only some are secret."""
    qualifier = qualifier or before
    if not qualifier or qualifier in _NO_KEYS:
        return ""
    if qualifier in _KEY_OF or qualifier.endswith(("api", "secret", "access", "auth", "private")):
        return "secret"
    return "secret" if upper else "key"
