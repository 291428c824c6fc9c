"""Words by which sentences that tell a credential are known, in the eight languages. Data only."""

from __future__ import annotations

from typing import Final

NAMES: Final = {
    "password": (
        "password passwd passphrase passwort passwoert kennwort mot_de_passe mdp pw pwd contraseña contrasena senha"
        " wachtwoord hasło пароль 密码 密碼 口令 パスワード 비밀번호"
    ),
    "pin": (
        "pin pin-code pincode passcode zugangscode code_d'accès backup_code"
        " backup_codes recovery_code recovery_codes door_code gate_code 2fa_code mfa_code"
        " unlock_code access_code alarm_code security_code entry_code garage_code safe_code locker_code keypad_code"
        " wifi_code vault_code 暗証番号 пин-код"
    ),
    "account": "credentials creds zugangsdaten logindaten",
    "token": "token key secret schlüssel jeton clé clave chave токен ключ 令牌 トークン キー 토큰",
    "way": (
        "ssh_in ssh_into log_in logs_in logged_in log_into log_on logging_in sign_in signs_in unlock unlocks decrypt"
        " get_in get_into einloggen anmelden connecte-toi melde_dich connecter entra entre"
    ),
    "thing": "login logon pass auth encrypted wifi wi-fi wlan vpn sudo",
}
"""What names a credential, a way to get in, or a thing that has a credential."""
LOCKED: Final = frozenset(
    "wifi wi-fi fi wlan network router hotspot vpn vault safe door gate garage alarm locker house office".split()
)
"""What a person opens or joins with a key: there a key is a password, which needs not look drawn."""
COMPOUNDS: Final = ("passwort", "kennwort", "schlüssel")
"""German ties these to the word before."""
COPULAS: Final = frozenset(
    """ficou says goes being is are was were be been read reads equals remains stays ist sind war wäre lautet lauten
    heißt heisst bleibt est sont reste es son sigue siendo é são continua sendo luidt это""".split()
)
TIED_COPULAS: Final = frozenset("'s ’s it's it’s that's that’s here's here’s c'est c’est".split())
STILL: Final = frozenset(
    """übrigens halt eigentlich now still currently just always actually simply again probably both once jetzt noch
    immer aktuell nun wieder weiterhin toujours maintenant encore ahora aún todavía agora ainda sempre теперь
    сейчас пока""".split()
)
"""May stand between a copula and the value."""
INTO: Final = frozenset("to for auf en à a para na на".split())
CHANGED: Final = tuple("chang swap switch reset set updat rotat geänder gesetz cambi mud измен смен".split())
"""Beginnings of words with which these are a copula: changed to, auf … geändert."""
USED: Final = frozenset(
    """with use uses using type in enter try give answer say mit nimm nehme verwende nutze gib tippe avec utilise
    tape con usa pon com с введи используй""".split()
)
"""Stand before a value that is used."""
AND: Final = frozenset("and und et y e и".split())
AS: Final = frozenset("as als comme como как works gets".split())
"""Stand between a value and the name behind it."""
FUNCTION: Final = frozenset(
    """below ends nova nueva nuevo novo actual fürs beim ins d the a an of for on in at to from into by with and or
    but so if when then that which who what it this there here not no will would should could can must may might
    has have had does do did am i you we they he she please without until because after before too as my our your
    him me us them everywhere anywhere instead again today für auf im vom von zu zum zur bei aus mit und oder aber
    wenn dann das die der den dem des ein eine einen hat wird werden soll muss kann ich du wir er sie es bitte
    nicht als pour sur dans de le la les un une et ou mais si quand je tu il nous vous à au avec par n ne pas
    comme para en el los las del al una y o pero cuando yo con por se ha como da dos na nos nas em os um uma e mas
    quando eu com não от для на в и или но если с к не как""".split()
)
"""Words that go on after a name or value. Any other makes it part of a compound: the password field."""
PREDICATES: Final = frozenset(
    """yes yeah nope sure wrong good weak strong long short same different fine okay right gone there here stale
    fresh live dead ready done next last plain clear clean dirty rare safe secure insecure unsafe kept lost sent
    shown known unset back down enough valid invalid null none nil true false yours mine ours theirs his hers what
    this that these those which who when where why how nothing something anything everything required plaintext
    bcrypt argon scrypt json yaml uuid jwt base text data case-sensitive read-only mandatory necessary important
    free cheap simple easy hard funny weird odd bad ugly dangerous overkill broken legacy obsolete available
    unavailable sensitive insensitive local remote global root admin user login name names value token secret keys
    word words bytes chars characters digits less more most falsch leer kurz lang alt neu sicher unsicher schwach
    stark gleich weg da hier dort pflicht geheim korrekt richtig egal bekannt unbekannt abgelaufen gesperrt gültig
    ungültig zu noch nicht sehr einfach faux vide court longue bon mauvais trop bien vrai identique fausse unique
    salva salvo dans chez mala malo vacía vacío corta corto larga falsa falso clave única igual errada errado
    certa fraca forte vazia late early soon now later today tomorrow friday monday tuesday wednesday thursday
    saturday sunday time maybe also just only still never always often mostly already again once both each either
    neither some many much very too""".split()
)
"""What a password is, not which: wrong, empty, text."""
SAID: Final = frozenset(
    """anywhere everywhere else after before every then into over any all than so but because since until during
    within without per via read given taken written hidden error account key""".split()
)
"""Words that make a row of words a sentence rather than a passphrase."""
SOFTWARE: Final = frozenset(
    """python node nodejs java ruby rust golang php perl swift kotlin scala docker redis postgres postgresql pg mysql
    mariadb mongo mongodb sqlite oracle nginx apache kafka rabbit elastic vault keycloak auth oauth jose zxcvbn
    bcrypt argon scrypt sha md crypto ssl tls ssh http https web www api app apps db database server srv host
    build worker job jobs test tests testing spec prod production stage staging dev demo qa ci cd vm box machine
    user users admin client service svc config conf env utils util lib libs core base model models module page
    pages view views form forms field fields input output file files dir path key keys token tokens secret
    password passwd pwd pass login session sessions cookie cache hash id ids uid uuid num number count item items
    row rows col cols column table index line lines step steps phase part section level type types value values
    name names data list map dict set string str int integer uint float double char bool bytes byte bit bits error
    err warn info debug log logs event events issue ticket bug pr task story epic release version ver rev commit
    branch tag feature feat fix patch alpha beta rc pre post final draft copy backup old new tmp temp foo bar baz
    qux example sample mock dummy default main master slave primary replica shard cluster pod container image
    layer volume disk port slot queue topic channel stream batch chunk block group team org project repo package
    pkg plugin theme ubuntu debian alpine fedora centos windows win macos ios android iphone pixel ipad chrome
    firefox safari edge linux arm amd intel cpu gpu ram usb hdmi gpt llama mistral phi sonnet opus haiku turbo
    flash instruct chat rtx gtx cuda tcp udp ip vlan eth wlan wifi lan dns vpn smtp imap ftp sftp ldap saml jwt
    csrf xsrf xss sql html css js ts tsx jsx json xml yaml csv pdf png jpg svg mp sphinx pytest django flask react
    vue angular next nuxt vite webpack bootstrap tailwind jest mocha eslint mypy ruff numpy pandas torch
    tensorflow spacy tiktoken font inter h w x y z a b c d e f g k m n p q r s t u v i j l o day week month year
    hour min sec ms rel gen class func fn method var const arg args param params option options flag rule case
    state mode status code exit signal sigterm errno room floor area zone region eu us east west north south
    varchar zip force iwlwifi wireguard central utf ascii latin iso rfc cve gpio spi uart i2c pin led sensor door
    gate req res request response msg message agent tool call turn run runs trace span thread process proc pid
    round seed epoch fold checkpoint ckpt""".split()
)
"""Words that with a number are the name of a program, a machine, a file, a ticket: python311, web-04, Login-42."""
