"""Finds credentials in sentences: "log in with password …", "Passwort lautet …".

Two readers with one vocabulary. The detectors replace what is told, and so must be sure: a value needs a digit or a
sign, and technical words that have one are none. How a person may put it has no end ("the database password, it is …",
"use … when it asks for the sudo password"), so a value that looks like a password wherever it stands is one in every
sentence that names a password or a way to log in. `tells_credential` only keeps a sentence from being learned, and
so asks for less: a wrongly held back sentence costs little, a wrongly learned password much.

English "password is …" is found by `assignments`. Words of scripts without ASCII letters cannot be looked for in
bytes: there only `tells_credential` knows them.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.late import late_pattern
from recollect.model.marker import names_marker
from recollect.privacy.chosen import TECHNICAL, chosen_near, reads_as_phrase
from recollect.privacy.detector import Detector, ended, literals, text_pattern
from recollect.privacy.plausibility import (
    plausible_password,
    plausible_token,
    plausible_word,
    stands_for_itself,
)

_COPULA: Final = (
    r"(?:is|are|was|were|will be|would be|should be|ist|sind|war|lautet|lauten|hei(?:ß|ss)t|est|sont|es|son|é|è|era|são"
    r"|sono|to|luidt|zijn)"
)
_STILL: Final = r"(?:now|still|currently|just|jetzt|aktuell|noch|immer noch|nun|toujours|maintenant|ahora|agora|nu)"
_OF_WHAT: Final = r"(?:[ \t]+[^\s.!?:;,\"'`]{1,24}){0,5}?"
_TOLD: Final = rf"{_OF_WHAT}[ \t]+{_COPULA}(?:[ \t]+{_STILL})?[ \t]*:?[ \t]+"
_VALUE: Final = r"[\"'`„“«]?([^\s\"'`„“”«»]{6,64}?)(?=[\"'`“”»\0\\]|[.,;:?)\]]{0,3}(?:\s|\Z))"
_WHOSE: Final = ("the ", "a ", "my ", "our ", "its ", "your ", "")
_AS: Final = (
    r"[\"'`”»]?[ ]as[ ](?:(?:the|a|my|our|its|your)[ ])?(?:[Pp]assword|passphrase)"
    r"(?=[.,;:!?)]|[ ](?:for|of|on|in|at|to|and|when|here|there|now|then)\b|\s*\Z)"
)
"""Behind a value that is used as a password; not behind "1Password as the password manager"."""


def _is_told(value: str) -> bool:
    return plausible_password(value) and TECHNICAL.match(value) is None


def _is_token_told(value: str) -> bool:
    return plausible_token(value) and TECHNICAL.match(value) is None


_PASSWORD = Detector(
    kind="password",
    literals=literals(
        "asswort ", "asswoert ", "ennwort ", "mot de passe ", "ot de passe ", "ontrase", "senha ", "Senha ",
        "achtwoord ",
    ),
    pattern=text_pattern(
        rf"(?:asswort|asswoert|ennwort|(?:m)?ot de passe|ontrase(?:ñ|n)a|[sS]enha|achtwoord){_TOLD}{_VALUE}"
    ),
    validate=_is_told,
)  # fmt: skip
_GIVEN = Detector(
    kind="password",
    literals=literals(*(
        f"{before} {article}{name} "
        for before in ("with", "and", "use", "using", "mit", "und", "avec", "con", ",")
        for article in ("", "the ", "dem ", "das ", "le ", "la ")
        for name in ("password", "Password", "passphrase", "pw")
    )),
    pattern=text_pattern(
        r"(?:with|and|use|using|mit|und|avec|con|,)[ ](?:the |dem |das |le |la )?(?:[Pp]assword|passphrase|pw)[ ]"
        rf"{_VALUE}"
    ),
    validate=_is_told,
)  # fmt: skip
_USED = Detector(
    kind="password",
    literals=literals(*(f" as {whose}{name}" for whose in _WHOSE for name in ("password", "Password", "passphrase"))),
    pattern=text_pattern(rf"(?<!\S){_VALUE}{_AS}"),
    validate=_is_told,
    anchored=False,
)
_NAMED = Detector(
    kind="password",
    literals=literals("assword's ", "assword is ", *(f"assword {of} " for of in ("for", "of", "at", "on", "to"))),
    pattern=text_pattern(
        rf"assword(?:'s|(?:[ ](?:for|of|at|on|to)(?:[ ][\w-]{{1,24}}){{1,4}}?)?[ ]is)[ \t]+(?:{_STILL}[ \t]+)?"
        r"(?:\"([^\"\n]{8,64})\"|'([^'\n]{8,64})'|`([^`\n]{8,64})`)"
    ),
    group=-1,
    validate=lambda value: " " in value and len(value.split()) <= 5 and any(c.isdigit() for c in value),
)
_LOGIN = Detector(
    kind="password",
    literals=literals("redentials are ", "reds are ", "ogin is ", "ugangsdaten sind ", "ogindaten sind "),
    pattern=text_pattern(
        r"(?:redentials are|reds are|ogin is|ugangsdaten sind|ogindaten sind)(?:[ \t]+still)?[ \t]*:?[ \t]+"
        rf"[\"'`]?[A-Za-z0-9_.@+-]{{1,40}}[\"'`]?[ \t]?[:/,][ \t]?{_VALUE}"
    ),
    validate=_is_told,
)
_TOKEN = Detector(
    kind="secret",
    literals=literals(*(
        f"{name} {copula} " for name in ("oken", "Key", "key", "ssel") for copula in ("ist", "lautet", "est", "es")
    )),
    pattern=text_pattern(
        r"(?:(?<=[Tt])oken|(?<=[Pp][Ii][ -])[Kk]ey|(?<=schlü)ssel)[ ](?:ist|lautet|est|es)[ ]"
        rf"(?:{_STILL}[ ])?{_VALUE}"
    ),
    validate=_is_token_told,
)  # fmt: skip
_PIN = Detector(
    kind="password",
    literals=literals("PIN ", "in code "),
    pattern=text_pattern(rf"(?:PIN(?: code)?|(?<=[Pp])in code){_TOLD}([0-9]{{4,8}})(?![0-9]|[.:,/-][0-9])"),
)

_NEAR = Detector(
    kind="password",
    literals=literals(
        *ended(("assword", "assphrase", "asscode", "asswort", "ennwort", "t de passe"), (" ", ",", ".", ")")),
        *ended(("wifi", "WiFi", "Wifi", "wi-fi", "Wi-Fi", "WLAN"), (" ",)),
        *ended(("ey", "ecret", "oken"), (" is ",)),
        "og in ", "og into ", "og on ", "ogs in ", "ogged in ", "ogin ", "ogon ", "ign in ", "igns in ", "nlock ",
        "nlocks ", "redentials ", "et into ", "ncrypted", " auth ", "ontrase", "senha ", "achtwoord ",
    ),
    pattern=text_pattern(
        r"(?:assword|assphrase|asscode|asswort|ennwort|t de passe|ontrase(?:ñ|n)a|senha|achtwoord)(?=[ ,.)])"
        r"|(?:(?<=[lL])(?<![A-Za-z][lL])og(?:s? in(?:to)?|ged in| on|in|on)|(?<=[sS])(?<![A-Za-z][sS])igns? in"
        r"|(?<=[uU])nlocks?|(?<=[cC])redentials|(?<=[gG])et into|(?<=[eE])ncrypted,?| auth|[Ww]i-?[fF]i|WLAN"
        r"|(?:(?<=k)ey|(?<=s)ecret|(?<=t)oken) is)(?= )"
    ),
    judge=chosen_near,
)  # fmt: skip
_CODE = Detector(
    kind="password",
    literals=literals(
        *ended(("p", "ry", "or", "te", "fa", "FA", "k"), (" code ", " codes ", " code:", " codes:")), " pin "
    ),
    pattern=text_pattern(
        r"(?:(?:(?<=backu)p|(?<=recove)ry|(?<=do)or|(?<=ga)te|(?<=2)(?:fa|FA)|(?<=M)FA|(?<=unloc)k) codes?| pin)"
        rf"(?:[ \t]+[^\s.!?:;,\"'`]{{1,24}}){{0,7}}?(?:[ \t]+{_COPULA}(?:[ \t]+{_STILL})?[ \t]*:?|[ \t]*:|,? now)"
        r"[ \t]+([0-9]{4,8}(?:-[0-9]{3,8}){0,3}#?)"
        r"(?=\s*\Z|[.,;!?)](?:\s|\Z)|\s*\n| (?:and|so|but|for|if|when|then|at|on|please)\b)"
    ),
)
_PHRASE = Detector(
    kind="password",
    literals=literals("assphrase ", "assword "),
    pattern=text_pattern(rf"ass(?:phrase|word){_TOLD}([a-z]{{3,12}}(?: [a-z]{{2,12}}){{3,9}})(?=[.,;!]?(?:\s|\Z))"),
    validate=reads_as_phrase,
)  # fmt: skip
SENTENCES: Final = (_PASSWORD, _GIVEN, _USED, _NAMED, _LOGIN, _TOKEN, _PIN, _CODE, _NEAR, _PHRASE)
_ANYWHERE: Final = (_PIN, _CODE, _NEAR, _PHRASE)

_LEAST: Final = 4
_ANY_NAME: Final = (
    r"(?:pass(?:word|wd|phrase|code|wort|woert)\w{0,2}|pwd?|kennwort|zugangsdaten|logindaten|api[ -]?(?:key|schlüssel)"
    r"|(?:access|auth|api|bearer|refresh|bot|deploy)?[ -]?token|(?:client|webhook|signing|shared|app)[ -]secret|secret"
    r"|credentials?|creds|login|pin(?:[ -]code)?|mot de passe|contrase(?:ñ|n)a|senha|wachtwoord|parola|hasło)"
)
_PIECES: Final = (
    "pass", "pw", "token", "secret", "api", "pin", "cred", "login", "kennwort", "zugangsdaten", "contrase", "senha",
    "wachtwoord", "parola", "log in", "log on", "logon", "logs in", "logged in", "sign in", "signs in", "unlock",
    "wifi", "wi-fi", "wlan", "get into", "encrypted", " auth ", "key is ", " code", "mot de passe",
)  # fmt: skip
"""One of these is in every name or way to log in, above, that is written in ASCII."""
_SPACED = late_pattern(
    rf"(?<![^\W_]){_ANY_NAME}(?![^\W_])"
    rf"(?:(?:{_OF_WHAT}[ \t]+{_COPULA}|['’]s|{_OF_WHAT}[ \t]*[:=])(?:[ \t]+(?:{_STILL}|it['’]s))?[ \t]*:?[ \t]*|[ \t]+)"
    r"(?:[\"'`„“«](?P<quoted>[^\"'`„“”«»\n]{4,64})[\"'`“”»]"
    r"|(?P<value>(?=[^\s\"'`„“”«»]*[\d!@#$%^&*+?~])[^\s\"'`„“”«»]{4,})"
    r"|[\w.@+-]{1,40}[ ]?/[ ]?(?P<after>[^\s/\"'`]{4,64})(?=[.,;!?)]*(?:\s|\Z)))",
    re.IGNORECASE,
)
_WORD = late_pattern(
    rf"(?<![^\W_])(?:password|passwd|passphrase|passcode|passwort|kennwort|mot de passe|contraseña|senha|wachtwoord)"
    rf"(?:{_OF_WHAT}[ \t]+{_COPULA}|['’]s)(?:[ \t]+{_STILL})?[ \t]+(?P<word>\w{{4,24}})(?=[ \t]*(?:[.,;!\n]|\Z))",
    re.IGNORECASE,
)
_USED_AS = late_pattern(rf"(?<!\S){_VALUE}{_AS}")
_UNSPACED = late_pattern(
    r"(?:パスワード|暗証番号|トークン|密码|密碼|口令|令牌|пароль|токен|비밀번호|토큰)[^。\n]{0,30}?[\x21-\x7e]{6,64}"
)
_ADJECTIVE = late_pattern(
    r"\w+(?:ed|en|able|ible|al|ful|less|ive|ent|ant|ous|ing|ly|ular|ic|t|ig|lich|bar|isch|iert|toire|orio|oria|do|da)\Z"
)


def tells_credential(text: str) -> bool:
    """Return whether words contain a credential's value, or did before redaction."""
    is_ascii = text.isascii()
    if names_marker(text) or (not is_ascii and _UNSPACED.search(text)):
        return True
    if " as " in text and any(_may_be_value(m[1], m[0]) and _is_told(m[1]) for m in _USED_AS.finditer(text)):
        return True
    if is_ascii and not any(map(text.lower().__contains__, _PIECES)):
        return False  # as of most words, in a tenth of the time
    if any(detector.confirm(match) for detector in _ANYWHERE for match in detector.pattern.finditer(text)):
        return True
    for match in _SPACED.finditer(text):
        if _may_be_value(match["quoted"] or (match["value"] or match["after"]).rstrip(".,;:?)]"), match[0]):
            return True
    words = (match["word"].lower() for match in _WORD.finditer(text))
    return any(plausible_word(word) and _ADJECTIVE.match(word) is None for word in words)


def _may_be_value(value: str, told: str) -> bool:
    if " " in value:  # in quotes
        return True
    if value.isdigit():
        return told[:3].lower() == "pin"
    is_name = value.isupper() or not stands_for_itself(value, quoted=True)
    return len(value) >= _LEAST and not is_name and TECHNICAL.match(value) is None
