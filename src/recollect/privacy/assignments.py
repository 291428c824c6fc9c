"""Judges by a name whether the value beside it is secret: `DB_PASSWORD`, `apiKey`, `X-Auth-Token`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from string import ascii_letters, digits
from typing import Any, Final, Literal

from recollect.late import LatePattern, late_pattern
from recollect.privacy.detector import AFTER_ENCODED, ENCODED_RAW, Detector, ended, raw_pattern, text_pattern
from recollect.privacy.plausibility import (
    VALUE_MAX_CHARS,
    holds_login,
    holds_session,
    is_phrase,
    plausible_password,
    plausible_secret,
    plausible_token,
    plausible_word,
    stands_for_itself,
)

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

_PARTS = late_pattern(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
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
KEY_OF = frozenset(
    """api access secret private priv auth authentication encryption encrypt signing sign master app application account
    admin client consumer deploy deployment hmac license licence recovery service session shared storage subscription
    webhook preshared integration write ingest ingestion server bot function functions host live test sandbox root
    personal user developer dev team org security crypto cipher aes rsa ssl tls jwt wallet seed host gateway payment
    merchant publish provider platform backend internal registry package management read readwrite sts decryption vault
    authtoken otp totp backup""".split()
)
NO_KEYS = frozenset(
    """public pub publishable publickey cache primary foreign sort partition idempotency object unique index lookup row
    group dedupe dedup merge translation i18n event state config route query react item map dict sorting order column
    field hot short shortcut keyboard arrow any each parent child child key registry hkey page scroll search message
    msg prop props metric tag label name path file node edge entity record document doc session_id left right enter
    escape esc tab control ctrl alt meta shift space up down home end del delete insert return composite natural
    surrogate candidate super alternate""".split()
)
NO_TOKENS = frozenset(
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
        return "" if qualifier in NO_TOKENS or last == "tokens" else "token"
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
    if not qualifier or qualifier in NO_KEYS:
        return ""
    if qualifier in KEY_OF or qualifier.endswith(("api", "secret", "access", "auth", "private")):
        return "secret"
    return "secret" if upper else "key"


AWS_SECRET_NAMES: Final = late_pattern(
    r"(?:secret[-_ ]?access[-_ ]?key|aws[-_ ]?secret(?:[-_ ]?key)?)\Z", re.IGNORECASE
)

# What may follow a name at once, in text or in JSON bytes.
_ENDINGS = (*"\"'`*)]}>=:|,< \t\n\r(-_0123456789", *AFTER_ENCODED, "Base", "Data", "Value")
_SHORT: Final = frozenset(("pw", "pat", "sas", "psk"))
"""Words of so few letters end many others: what may follow them is fewer."""
_SHORT_ENDINGS = ('"', "'", "`", "*", ")", "]", "}", ">", "<", "=", ":", "|", ",", " ", "\t", "\n", *AFTER_ENCODED)
_CLOSE = r"[\"'`*\])}]{0,5}"
_NAME_CHARS: Final = ascii_letters + digits + "-_.$@/"
_PLACES = late_pattern(
    rf"""
    (?P<assign> {_CLOSE}[ \t\xa0]{{0,40}}
        (?: :[ \t]?[A-Za-z][A-Za-z0-9_.\[\]<>|?]{{0,30}}[ \t]?={{1,3}} | :=|=>|[?+]?={{1,3}} | ::?(?![/:]) )
        \*{{0,2}}[ \t\xa0]{{0,40}} (?:\r?\n[ \t+|>]{{0,40}}(?:\r?\n[ \t+|>]{{0,40}})?(?P<below>))? )
  | (?P<xml> </[A-Za-z]{{1,12}}>[\s+|-]{{0,40}}<[A-Za-z]{{1,12}}>\s{{0,8}} )
  | (?P<pair> {_CLOSE}[ \t]{{0,8}}[,;]?[\s+|>-]{{0,60}}
        (?: [\"']?(?:type|sensitive|secure|secret|description|required|enabled)[\"']?\s?[:=]\s?
            [\"']?[A-Za-z]{{0,20}}[\"']?
            [,;]?\s{{1,60}} ){{0,2}}
        [\"'<]?(?:[Vv]alue|VALUE|val|[sS]ecretString|[sS]tringValue|plaintext|content)(?![A-Za-z])
        [\"'>]?[ \t]{{0,8}}[:=>]?[ \t]{{0,8}} )
  | (?P<tag> [\"']?(?:\s[A-Za-z:._-]{{1,24}}=[\"'][^\"'<>]{{0,80}}[\"']){{0,4}}\s?>\s{{0,20}}(?:<!\[CDATA\[)? )
  | (?P<prompt> [ ]?(?: \[[^\]\n\"]{{0,40}}\] | (?<=[ ])\([^()\n\"]{{0,60}}\)
        | (?:for|of|to|on)[ ](?: '[^'\n\"]{{1,120}}' | [^\n:\"]{{1,80}}? ) )[ ]?[:=][ \t]{{0,8}} )
  | (?P<cell> {_CLOSE}(?: [ \t]{{0,60}}[|│┃║][ \t]{{0,8}} | \t{{1,8}} | [ ]{{2,60}} ) )
  | (?P<prose> {_CLOSE}[ \t]+(?:is|was|=|→|->|to|as)(?:[ \t]+(?:now|set[ ]to|still))?:?[ \t]+ )
  | (?P<call> (?:[\"'][ \t]{{0,4}},[ \t]{{0,8}} | \([ \t]? )(?=[\"']) )
  | (?P<blank> [ \t]{{1,4}} )
    """,
    re.ASCII | re.VERBOSE,
)
_NO_MORE = r"(?![A-Za-z0-9_]|\([A-Za-z_)])"
"""After a name: neither more of it nor a call."""
_NO_WORD = (
    r"(?! (?!(?:is|was|were|to|as|now|will|should|for|of|on|in|from|here|there|field|value|val|type|sensitive|secure"
    r"|secret|description|required|enabled|string|content|plaintext)\b)[a-z_]{1,40}+(?:[\s,;.)]|\\[nrt]))"
)
"""After the name of a token: no plain word, which is what stands there most often."""
_OPEN = late_pattern(r"(?:[*_]{0,3}(?:[rbuRBU]{1,2}(?=[\"']))?([\"'`])|[*_]{0,3}(?:base64:)?)", re.ASCII)
_QUOTED = {quote: re.compile(rf"((?:[^{quote}\\\r\n]|\\[^\r\n]){{1,{VALUE_MAX_CHARS}}}+){quote}") for quote in "\"'`"}
_BARE = late_pattern(rf"[^\x00-\x20\x7f\xa0\"'`]{{1,{VALUE_MAX_CHARS}}}")
# Where a value without quotes ends though no blank does: at what begins the next one, in shells, addresses, lists,
# connection strings, tags; at a code for such a sign.
_NEXT = late_pattern(
    r"\\+[nrtu\"']|\\\Z|%(?:0[AaDd9]|2[026BbCc]|3[BbDdEe]|7[CcDd])|&(?:quot|lt|gt|apos|nbsp|amp|\#[0-9]{1,3});"
    r"|[&;,|](?=\Z|[&;|]|[A-Za-z_][A-Za-z0-9_. -]{0,40}[=:]|[{\[])|<(?=[/A-Za-z!]|\Z)|>(?=\Z|[>&]?[0-9&/.])|[│┃║]"
)
_TRAILING = late_pattern(r"[.,;:?)\]}>*_|]+\Z")
_OPEN_TAG = late_pattern(r"<(?![/!?])[^<>]*\Z")
_PLAIN = late_pattern(r"(?:.* )?[A-Za-z]?[a-z]+\Z")
_COMPOUND = late_pattern(r"[a-z](?:Password|Passphrase)\Z")
_SETTERS = frozenset(("requirepass", "masterauth", "storepass", "keypass", "authtoken"))


def _value_at(text: str, at: int) -> tuple[int, int, bool] | None:
    """Return the span of the value that begins at `at`, and whether it is in quotes; None if there is none."""
    opening = _OPEN.match(text, at)
    start = opening.end() if opening else at
    if opening and opening[1]:
        quoted = _QUOTED[opening[1]].match(text, start)
        if quoted:
            return start, quoted.end(1), True
    bare = _BARE.match(text, start)
    if bare is None:
        return None
    end = bare.end()
    cut = _NEXT.search(text, start, end)
    if cut:
        end = cut.start()
    trailing = _TRAILING.search(text, start, end)
    if trailing:
        end = _balanced(text, start, trailing.start(), end)
    return (start, end, False) if end > start else None


def _balanced(text: str, start: int, least: int, end: int) -> int:
    """Return where a value ends that has signs at its end: a bracket that the value opens belongs to it."""
    for opened, closed in ("()", "[]", "{}"):
        if text[least] == closed and opened in text[start:least]:
            return least + 1
    return least


def _name_start(text: str, at: int) -> int:
    """Return where the name begins whose last word begins at `at`: with its prefix, and in prose three words before."""
    rest = text[max(0, at - 110) : at]
    begun = rest.rstrip(_NAME_CHARS)
    for _ in range(3):
        if begun[-1:] != " ":
            break
        word = begun[:-1].rstrip(ascii_letters)
        if not 2 <= len(begun) - 1 - len(word) <= 16:
            break
        begun = word
    return at - len(rest) + len(begun)


def _judge(match: re.Match[str]) -> tuple[Strength, int, int] | None:
    """Return what a name and the place after it say of a value, and its span; None if it is no secret."""
    text = match.string
    place = _PLACES.match(text, match.end())
    if place is None:
        return None
    first = _name_start(text, match.start())
    name = text[first : match.end()]
    strength = strength_of(name)
    if name == "key" and text[first - 1 : first] in ("?", "&"):
        strength = "key"
    if not strength or name.endswith("publicKeyToken"):
        return None
    if match[0].lower() in _SHORT and text[match.start() - 1 : match.start()].isalnum():
        return None
    kind = place.lastgroup or ""
    if kind in ("blank", "cell") and "$" in name:
        return None
    if kind == "prose" and _PLAIN.match(name):  # of a word `password_sentences` judges
        return None
    if place["below"] is not None:
        if ":" not in place[0]:
            return None
        kind = "below"
    value = _value_at(text, place.end())
    if value is None or (kind == "tag" and not _OPEN_TAG.search(text, max(0, first - 120), match.start())):
        return None
    start, end, quoted = value
    secret = text[start:end]
    if _is_secret(secret, strength, kind, quoted, name):
        return strength, start, end
    if strength in ("password", "secret") and not quoted and _stands_alone(text, first, end, kind, place[0], name):
        least = 6 if strength == "password" else 10
        return (strength, start, end) if len(secret) >= least and _is_bare_word(secret) else None
    return None


def _is_bare_word(secret: str) -> bool:
    return stands_for_itself(secret) and plausible_word(secret)


def _stands_alone(text: str, first: int, end: int, kind: str, between: str, name: str) -> bool:
    """Whether a bare word is a value, not a name in code: a line of configuration, `a=b` in a list, an option."""
    following = text[end : end + 1]
    if following not in ("", " ", "\n", "\r", "\t", ";", "&", '"', "'", "|", "<", "`"):
        return False
    if kind == "blank":
        return name.rsplit(" ", 1)[-1].startswith("-")
    if kind != "assign":
        return False
    if between == "=":
        return True
    line = text[max(0, first - 40) : first].rpartition("\n")[2]
    return not line.strip(" \t+-|>") and following in ("", "\n", "\r") and between in (": ", " = ")


def _is_secret(value: str, strength: Strength, kind: str, quoted: bool, name: str) -> bool:
    word = name.rsplit(" ", 1)[-1]
    option = word.startswith("-")
    upper = (word.isupper() and "_" in word) or word.startswith("PG")
    firm = kind in ("assign", "pair", "tag", "xml") or (
        kind == "blank" and (option or upper or word in _SETTERS or _COMPOUND.search(word) is not None)
    )
    if strength == "password":
        return _is_password(value, kind, quoted, firm=firm, upper=upper, bare_name=word.lower() in ("pass", "pw"))
    if not firm and kind not in ("prompt", "call") and not (kind == "cell" and upper):
        return _stands_out(value)
    if strength == "secret" and (quoted or upper or option or kind in ("tag", "pair", "prompt")):
        return plausible_secret(value, quoted=quoted or upper) or (" " in value and is_phrase(value))
    if strength == "key":
        return len(value) >= 20 and _stands_out(value)
    return plausible_token(value, quoted=quoted)


def _is_password(value: str, kind: str, quoted: bool, *, firm: bool, upper: bool, bare_name: bool) -> bool:
    if firm and (quoted or kind in ("tag", "xml")):
        return plausible_word(value) or is_phrase(value)
    if kind == "pair" or (firm and upper):
        return plausible_word(value)
    if kind == "blank" and not firm:
        return plausible_token(value) or (quoted and plausible_password(value, quoted=True))
    return plausible_password(value, quoted=quoted) and not (bare_name and len(value) < 8)


def _stands_out(value: str) -> bool:
    """Whether a value is so clearly drawn by a machine that a blank between it and its name is enough."""
    return len(value) >= 16 and plausible_token(value) and not (value.islower() and "-" in value and len(value) < 30)


def _judged(wanted: Callable[[Strength, str, str], bool]) -> Callable[[re.Match[str]], tuple[int, int] | None]:
    def judge(match: re.Match[str]) -> tuple[int, int] | None:
        found = _judge(match)
        if found is None:
            return None
        strength, start, end = found
        text = match.string
        name = text[max(0, match.start() - 32) : match.end()]
        return (start, end) if wanted(strength, name, text[start:end]) else None

    return judge


def _is_aws(name: str, value: str) -> bool:
    return bool(AWS_SECRET_NAMES.search(name) and _AWS_VALUE.match(value)) and _is_aws_secret(value)


def _is_aws_secret(value: str) -> bool:
    return any(c.islower() for c in value) and any(c.isupper() for c in value) and any(c.isdigit() for c in value)


def _spelled(words: tuple[str, ...]) -> list[str]:
    return sorted({spelling for word in words for spelling in (word, word.upper(), word.capitalize())})


_RAW_CODE = (
    r"\\+(?:[t/]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|033|e)|%(?:25){0,4}(?!3[AaDdEe]|7[Cc]|25)[0-9A-Fa-f]{2}"
    r"|&(?:amp;){0,4}(?!gt;|#)[a-z]{2,5};|\x1b|\xc2[\x9b\xa0]"
)
_RAW_BESIDE = rf"(?:{_RAW_CODE}|\\+(?![nr])|[\"'`]\s?,|[\"'`*\])}}\t (_;<-]|\^?\[[0-9;]*[A-Za-z])"
_RAW_JUNK = rf"(?:\\+[nr]|{_RAW_CODE}|\\+|[\"'`*\])}}\s(,_;<+-]|\^?\[[0-9;]*[A-Za-z])"
"""What may stand between a name and its value but for the sign that assigns: on one line; on the next ones too."""
_RAW_NEAR = rf"(?:[^\\%&\x1b\[^\xc2]{{1,48}}+|(?!{ENCODED_RAW})[\s\S]){{0,10}}+{ENCODED_RAW}"
"""Something encoded soon after a name: what it hides is told from the decoded text."""
_RAW_ASSIGNED = r"(?:[:=|>]|%(?:25){0,4}3[AaDdEe]|&(?:amp;){0,4}gt;|\xe2\x94|\xe2\x86)"
_RAW_BETWEEN = (
    rf"(?:[ ]?[\[(][^\"\\\n\])]{{0,60}}[\])][ ]?[:=]|{_RAW_BESIDE}{{0,60}}+"
    rf"(?:(?:for|of|on|to)(?: '[^'\n\"]{{1,120}}'|(?![A-Za-z])[^\"\\\n:=]{{1,160}}+(?=[:=])))?"
    rf"(?:[ ]?{_RAW_ASSIGNED}|(?:is|was|to|as)(?![A-Za-z])(?:(?:[ \t]|\\+t)+(?:now|set to|still))?))"
    rf"(?:{_RAW_JUNK}|[:=>]){{0,200}}+"
)
"""What prose and prompts put between a name and its value."""
_RAW_PAIR = (
    rf"{_RAW_JUNK}{{0,200}}+(?:(?:type|sensitive|secure|secret|description|required|enabled)[\s\S]{{1,200}}?)?"
    r"(?:[Vv]alue|VALUE|val[^a-z]|[sS]ecretString|[sS]tringValue|plaintext|content)|(?:<|&(?:amp;){0,4}lt;|%(?:25){0,4}3[Cc])\\*(?:/|%(?:25){0,4}2[Ff])"
)
"""Leads to a value of its own name."""


_SIGNS = r"0-9\x80-\xff"
"""What no plain word has: a digit, or a letter beyond ASCII, which a value of letters alone may have."""
_SYMBOLS = _SIGNS + "!@#$%^&*+?~"
"""What makes a chosen value a secret where a sign assigns it."""


def _raw_value(least: int, signs: str) -> str:
    """Return a pattern of a value in bytes: so many characters: with a sign, a long run of letters or jumping case."""
    return (
        rf"(?=(?:[^\s\"\\]|\\+[^nrt\"\\]|\\+[\"']|\\{{2,}}[nrt]){{{least}}})(?:(?:[^\"\\\x00-\x20{signs}]|\\+/|\\{{2,}}[\s\S]){{0,300}}+(?:[{signs}]|{ENCODED_RAW})"
        r"|[^\s\"]{300}|[a-z]{16}|(?:[a-z]{0,20}+[A-Z]{1,20}+){3})"
    )


def _raw_words(least: int) -> str:
    """Return a pattern of what is a value only where a sign or an option assigns it: a word, a row of small words."""
    return rf"(?:[^\s\"\\A-Z0-9_.]{{{least}}}|(?<=[\"'`>])[a-z]{{2,12}}(?: [a-z]{{2,12}}){{3}})"


_RAW_NAME = rf"[A-Za-z]{{2,18}}+(?:_key_id|_KEY_ID)?{TAIL}{_NO_MORE}"


def _raw_option(value: str) -> str:
    """Return a pattern of an option and its value, from the last word of the option's name on."""
    return rf"(?<=-){_RAW_NAME}(?:[ \t]|\\+t){{1,8}}[\\\"']{{0,4}}{value}"


_RAW = raw_pattern(
    rf"{_RAW_NAME}{_NO_WORD}(?:{_RAW_JUNK}{{0,200}}+\??{_RAW_ASSIGNED}(?:{_RAW_JUNK}|[:=>]){{0,200}}+"
    rf"(?:[A-Za-z][A-Za-z0-9_.\[\]<>|?]{{0,30}}[ \t]?=(?:{_RAW_JUNK}|[:=>]){{0,200}}+)?"
    rf"(?:{_raw_words(10)}|{_raw_value(8, _SYMBOLS)})"
    rf"|{_RAW_BESIDE}{{0,200}}+{_raw_value(12, _SIGNS)}|{_RAW_PAIR}|{_RAW_BETWEEN}{_raw_value(8, _SIGNS)}|{_RAW_NEAR})"
    rf"|{_raw_option(_raw_words(10))}|{_raw_option(_raw_value(8, _SYMBOLS))}"
)
_RAW_OF_PASSWORD = raw_pattern(
    rf"{_RAW_NAME}(?:{_RAW_JUNK}{{0,200}}+\??{_RAW_ASSIGNED}"
    rf"|{_RAW_BESIDE}{{0,200}}+{_raw_value(4, _SIGNS + '!@#$^*+?~.-')}"
    rf"|{_RAW_PAIR}|{_RAW_BETWEEN}{_raw_value(6, _SIGNS + '!@#$^*+?~')}|{_RAW_NEAR})|{_raw_option(_raw_words(4))}"
)
_AWS_VALUE = late_pattern(r"[A-Za-z0-9/+]{40}\Z")


def _named(
    kind: str, words: tuple[str, ...], *, raw: LatePattern[bytes], wanted: Callable[[Strength, str, str], bool]
) -> Detector:
    spelled = _spelled(words)
    heads = "|".join(sorted(spelled, key=len, reverse=True))
    return Detector(
        kind=kind,
        literals=tuple(
            literal.encode()
            for word in spelled
            for literal in ended((word,), _SHORT_ENDINGS if word.lower() in _SHORT else _ENDINGS)
        ),
        pattern=text_pattern(rf"(?:{heads}){TAIL}{_NO_MORE}{_NO_WORD if kind == 'secret' else ''}"),
        raw=raw,
        judge=_judged(wanted),
    )


AWS_SECRET_KEY = Detector(
    kind="aws_secret_key",
    literals=tuple(
        f"{begin}{joint}{end}".encode()
        for begin, end in (("ccess", "key"), ("ccess", "Key"), ("CCESS", "KEY"), ("ws", "secret"), ("WS", "SECRET"))
        for joint in ("", "_", "-", " ")
    ),
    pattern=text_pattern(r"(?:ccess[-_ ]?[kK]ey|CCESS[-_ ]?KEY|(?i:ws[-_ ]?secret(?:[-_ ]?key)?))(?![A-Za-z0-9])"),
    judge=_judged(lambda _, name, value: _is_aws(name, value)),
)
ASSIGNED = (
    _named("password", PASSWORD_WORDS, raw=_RAW_OF_PASSWORD, wanted=lambda strength, *_: strength == "password"),
    _named("secret", SECRET_WORDS, raw=_RAW, wanted=lambda strength, *_: strength != "password"),
)

KEY_MAX_CHARS: Final = 64
JWK_MEMBERS: Final = frozenset(("d", "dp", "dq", "qi", "p", "q", "k"))
"""Keys of what only the owner of a JSON Web Key knows."""
VALUE_KEYS: Final = frozenset(
    ("value", "Value", "VALUE", "val", "stringValue", "secretString", "SecretString", "default")
)
"""Keys whose value is named by another member of the object, or by the key of the object itself."""
_NAMING_KEYS = ("name", "Name", "key", "Key", "keyName", "id", "variable", "parameter", "label", "field")


def name_of_pair(source: dict[Any, Any]) -> str:
    """Return the name that an object gives its own value (`{"name": "DB_PASSWORD", "value": "…"}`), or ""."""
    if source.keys().isdisjoint(VALUE_KEYS):
        return ""
    names = (source.get(key) for key in _NAMING_KEYS)
    return next((name for name in names if isinstance(name, str) and name and strength_of(name[:KEY_MAX_CHARS])), "")


def kind_by_key(key: str, value: str) -> str:
    """Return the kind of secret that a whole string is under a telling key of a JSON object, or "" if it is none."""
    if not 0 < len(key) <= KEY_MAX_CHARS:
        return ""
    strength = strength_of(key)
    if strength == "password":
        return "password" if plausible_word(value) or is_phrase(value) else ""
    if strength and _is_aws(key, value):
        return AWS_SECRET_KEY.kind
    if key == "auth" and holds_login(value):
        return "stored_login"
    if strength and _is_secret(_scheme.sub("", value), strength, "assign", quoted=True, name=key):
        return "secret"
    if key.lower() in ("cookie", "set-cookie") and holds_session(value):
        return "cookie"
    return ""


_scheme = late_pattern(r"\A(?:[A-Za-z][A-Za-z-]{1,24} +)(?=\S+\Z)")
