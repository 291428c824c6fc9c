"""Credentials told in a sentence are replaced where that is sure, and no such sentence teaches anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.privacy import Redactor
from recollect.privacy.password_sentences import tells_credential
from tests.recall.context.conftest import Shop, shop, world

__all__ = ["shop", "world"]

REDACTOR = Redactor(b"a key for tests")
REPLACED = {
    "the staging password is {}": "hunter2-xyz",
    "my API token is {}": "qT7rB2mZ9wLx4Kd1",
    "Das Passwort lautet {}": "Sommer2024!",
    "Passwort für den Testserver ist {}": "mondschein77",
    "Das Kennwort vom NAS lautet {}": "Birke!2020",
    "le mot de passe est {}": "Tournesol!22",
    "la contraseña es {}": "Girasol2024!",
    "a senha é {}": "Cachorro!77",
    "het wachtwoord is {}": "Tulp-2023",
    "log in as root with the password {}": "falcon-88",
    "the login is alice with password {}": "b3anst4lk",
    "use the password {} for the demo account": "s3cretPanda",
    "credentials are deploy / {}": "gR33nT3a!",
    "Die Zugangsdaten sind admin / {}": "Nordlicht!8",
    "Der API-Key lautet {}": "zK3mT9pQ1wX7vB5n",
    "Mein Token ist {}": "7hQ2mLw9Zt4RkXb8",
    'the password is "{}"': "open sesame 12",
    "Use {} as the password for staging.": "hunter2blue",
    "set '{}' as my password": "Tulp-2023",
    "The wifi password at the office is '{}'": "blue Falcon 77",
    "Remember the database password, it is {}.": "saffron-Lantern-66",
    "password for the replica would be {}": "pelican_Noon_12",
    "Use {} when it asks for the sudo password.": "hunterGreen#9",
    "You can sign in to the wiki as admin / {}.": "Tr0ubadour&3",
    "Log on to the drop box as export and the word they gave us on the phone is {}.": "tangerine-Moth-88",
    "For the sandbox (user anna, pw {}) check the invoices.": "quietRiver_7",
    "The wifi key at the lab reads {}, the lamps need it.": "Otter-Lagoon-19",
    "The vault unlocks with {}.": "Copper-Finch-203",
    "Das Passwort, das ich gestern vergeben habe: bitte {} nehmen.": "Regen!Wald9",
    "The new PIN for the door controller is {}.": "884213",
    "The passphrase for the signing key is {}.": "seven grey herons wading",
    "My password is {}": "correct horse battery staple",
    "You get into the wiki with editor / {}": "cedarlake4417",
    "vpn in the lab is Harbour, key is {}": "cormorant1875",
    "the passphrase of the backup key is '{}', without the quotes": "copper heron eleven",
    "the archive is encrypted, unlock it with {}": "walrus-41-slate",
    "le mot de passe du serveur c'est {}, le login c'est lecture": "Mouette_2031",
    "if the viewer wants a password type {}": "pR4lantern",
    "2fa backup code if you get locked out: {}": "7741-3390",
    "The queue has auth now, it's '{}'": "bramble-7-harbour",
    "the old one doesn't work, the password changed to {} on Friday": "Willow.31.Ridge",
    "the vault pin changed, now {}": "5529",
}
LINES = Path(__file__).with_name("told.txt").read_text("utf-8").splitlines()
SAID = [line.replace("\\n", "\n") for line in LINES]
TOLD = [tuple(line[2:].rsplit(" | ", 1)) for line in SAID if line.startswith("+ ")]
HARMLESS = [line[2:] for line in SAID if line.startswith("- ")]
ONLY_HELD_BACK = [
    "密码是 lotus_92a",
    "пароль: это kot-1999z",
    "hasło to Zielony!45",
    "la password è gatto_nero12",
    "Remember: the password is [REDACTED:password:0123abcd].",
]
NO_CREDENTIAL = [
    "please use pytest-8-plugin for the password tests",
    "The password is checked with zxcvbn2024 and the score is 3",
    "the cache key is user-1234-profile",
    "log in to server web-04-prod with our ssh keys",
    "The unlock code path is 4096 bytes long",
    "SEC1 and PKCS#8 keys can be encrypted",
    "password login fails with Keycloak24",
    "Use bootstrap5 for the login page",
    "the password is required",
    "the password is wrong",
    "password is hashed with argon2",
    "The password must be at least 12 characters",
    "the password was changed on 2024-05-01",
    "the token is read from GITHUB_TOKEN",
    "the token is refreshed every 15min",
    "the token limit is 8192",
    "the password is compared with hmac.compare_digest",
    "Das Passwort wird mit bcrypt gehasht",
    "le mot de passe est obligatoire",
    "use the password manager",
    "use 1Password as the password manager",
    "store argon2id as the password hash",
    "we use bcrypt as the password hash and oauth2 as a password replacement",
    "log in with password and email",
    "The API key is in `.env.local`",
    "The passphrase is never written anywhere else",
    "the passphrase for the key is asked for on every start",
    "The login page is in Auth-Form.tsx, ticket Login-42 has the sketch",
    "Log in to web-server-02 and restart the queue",
    "the password reset of issue repo#1234 is fixed in v2.1.0-rc1, see user@host2",
    "Sign in with Google needs OAuth2 and the R&D2 flag",
    "the PIN pad is on GPIO 17, its pins are 4 and 1024 wide",
    "unlock the Release_Candidate branch first",
]


@pytest.mark.parametrize(("sentence", "secret"), REPLACED.items())
def test_a_credential_told_in_a_sentence_is_replaced(sentence: str, secret: str) -> None:
    text = sentence.format(secret)
    assert secret not in REDACTOR.redact_text(text)[0]
    assert tells_credential(text)


def test_a_credential_is_replaced_in_whatever_words_it_is_told() -> None:
    assert len(TOLD) > 250
    assert [said for said, secret in TOLD if secret in REDACTOR.redact_text(said)[0]] == []
    assert [said for said, _ in TOLD if not tells_credential(said)] == []


def test_talk_about_credentials_is_left_alone() -> None:
    assert len(HARMLESS) > 550
    assert [said for said in HARMLESS if REDACTOR.redact_text(said) != (said, ())] == []
    assert [said for said in HARMLESS if tells_credential(said)] == []


def test_the_sieve_suspects_every_record_in_which_a_sentence_tells_a_credential() -> None:
    for said, _ in TOLD:
        for text in (said, json.dumps([said]), json.dumps([json.dumps(said)]), said.replace(" ", "\x1b[0m ")):
            for is_ascii in (True, False):
                raw = json.dumps({"text": text}, ensure_ascii=is_ascii).encode()
                if REDACTOR.redact_value({"text": text})[1]:
                    assert REDACTOR.suspects(raw, [len(raw)]) == [0], raw


@pytest.mark.parametrize("text", ONLY_HELD_BACK)
def test_a_sentence_that_only_seems_to_tell_one_is_known_too(text: str) -> None:
    assert tells_credential(text)


@pytest.mark.parametrize("text", NO_CREDENTIAL)
def test_a_sentence_about_credentials_is_left_alone(text: str) -> None:
    assert REDACTOR.redact_text(text) == (text, ())
    assert not tells_credential(text)


def test_nothing_is_learned_or_decided_from_a_sentence_that_tells_a_credential(shop: Shop) -> None:
    session = shop.session("one")
    for text in (
        "Remember: the staging password is swordfish. Also remember that deploys go through staging.",
        "From now on always use the API token qT7rB2mZ9wLx4Kd1 for staging, not the old one.",
        "Merk dir: das Passwort lautet Sommer2024! und wir nehmen immer pnpm.",
    ):
        session.user(text)
        session.assistant("ok")
    shop.memory.sync()
    assert [one.text for one in shop.memory.learn.learnings()] == ["deploys go through staging."]
    assert shop.memory.decisions().decisions == ()
