"""Passwords in commands: program-specific options, pairs, SQL."""

from __future__ import annotations

import re

from recollect.privacy.detector import ENCODED_RAW, Detector, literals, raw_pattern, text_pattern
from recollect.privacy.plausibility import plausible_password, plausible_token, plausible_word

REVISION = 0
"""Raised whenever a change in this module can alter what is found, see `DETECTOR_VERSION`."""

_TO_OPTION = r"[^\n|;\"`]{0,200}?\s"
_WORD = r"""(?:"([^"\n]{4,128})"|'([^'\n]{4,128})'|([^\s"'`|;&$<>-][^\s"'`|;&<>]{3,127}))"""

# Program, and the option after which it takes a password or key. Attached: without a blank between them, too.
_OPTIONS = (
    (r"(?:mysql|mariadb)[a-z_]{0,12}", "-p", "attached only"),
    (r"sshpass|plink|pscp|putty", "-(?:p|pw)", "attached"),
    (r"7za?|7zz|rar|unrar", "-p", "attached only"),
    (r"redis-cli|redis-benchmark|valkey-cli", "-a", ""),
    (r"(?:docker|podman|nerdctl|buildah|skopeo|helm|crane|oras|regctl|oc|cf|az|ibmcloud|argocd)", "-p", ""),
    (r"mongo(?:sh|dump|restore|export|import)?|cqlsh|influx|arangosh|clickhouse-client", "-p", ""),
    (r"sqlcmd|isql|bcp|ipmitool|zip|unzip|mosquitto_(?:pub|sub)|vncviewer|osql", "-P", "attached"),
    (r"ldap(?:search|modify|add|delete|passwd|whoami)", "-w", "attached"),
    (r"openssl", "-(?:passin|passout|pass|k|K)", ""),
    (r"doctl|vercel|netlify|flyctl|fly|railway|surge|gh", "-t", ""),
    (r"wget|smbclient|rpcclient|snmpwalk|snmpget|hashcat|useradd|usermod|net", "-(?:p|A|X)", ""),
    (r"ssh-keygen", "-[NP]", ""),
    (r"evil-winrm|crackmapexec|netexec|nxc|hydra|xfreerdp|rdesktop|vault|consul|nomad|twine|npm|snowsql", "-p", ""),
)


def _option_pattern(program: str, option: str, attached: str) -> str:
    joint = {"attached only": "", "attached": "[ =]?", "": "[ =]{1,3}"}[attached]
    return rf"(?:{program})\b{_TO_OPTION}{option}{joint}{_WORD}"


def _is_given(match: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of the group that took part, if it may be a password: any word that a person would choose."""
    group = match.lastindex or 0
    last = match.end(group)
    value = match[group].removeprefix("pass:")
    return (last - len(value), last) if plausible_password(value, quoted=True) or _is_chosen(value) else None


def _is_chosen(value: str) -> bool:
    return len(value) >= 6 and plausible_word(value)


_PROGRAMS = (
    "mysql", "mariadb", "sshpass", "plink", "pscp", "7z ", "7za ", "redis-cli", "redis-benchmark", "valkey-cli",
    "docker ",
    "podman ", "nerdctl", "buildah", "skopeo", "helm ", "crane ", "oras ", "mongo", "cqlsh", "influx ", "arangosh",
    "clickhouse-client", "sqlcmd", "isql ", "bcp ", "ipmitool", "unzip ", "zip -", "mosquitto_", "osql ", "ldapsearch",
    "ldapmodify", "ldapadd", "ldapdelete", "ldappasswd", "ldapwhoami", "openssl ", "doctl ", "vercel ", "netlify ",
    "flyctl ", "smbclient", "snmpwalk", "snmpget", "useradd", "usermod", "ssh-keygen", "evil-winrm", "crackmapexec",
    "netexec", "hydra ", "xfreerdp", "oc login", "cf login", "az login", "argocd login", "twine ", "snowsql", "rar ",
)  # fmt: skip
_OPTION = Detector(
    kind="password",
    literals=literals(*_PROGRAMS),
    pattern=text_pattern("|".join(_option_pattern(*row) for row in _OPTIONS)),
    raw=raw_pattern(rf"[^\n\"]{{0,600}}?(?:-[a-zA-Z]{{1,7}}|pass|{ENCODED_RAW})"),
    judge=_is_given,
)
# Programs that take name and password as words of their own.
_ARGUMENTS = Detector(
    kind="password",
    literals=literals(
        "htpasswd",
        "rabbitmqctl ",
        "chpasswd",
        "wpa_passphrase ",
        "net user ",
        "mc alias set ",
        "mc config host add ",
        "configure set ",
        "authtoken ",
        "vault login ",
        "add-authtoken ",
        "requirepass ",
        "masterauth ",
        "AUTH ",
        "smbpasswd",
        "mysqladmin",
        "sqlplus ",
        "config set ",
        "sudo -S",
        "net use ",
        "--creds",
        "sentinel auth-pass ",
        "with-token",
        "password-stdin",
        "sudo --stdin",
        "lftp ",
        "setpassword ",
        "set-password ",
    ),
    pattern=text_pattern(
        r"htpasswd[ \t]+(?:-[A-Za-z]+[ \t]+)*?"
        rf"-(?:[A-Za-z]*n[A-Za-z]*b|[A-Za-z]*b[A-Za-z]*n)[A-Za-z]*[ \t]+\S+[ \t]+{_WORD}"
        r"|htpasswd[ \t]+(?:-[A-Za-z]+[ \t]+)*?"
        rf"-[A-Za-z]*b[A-Za-z]*[ \t]+(?:-[A-Za-z]+[ \t]+)*\S+[ \t]+\S+[ \t]+{_WORD}"
        rf"|rabbitmqctl[ \t]+(?:add_user|change_password|authenticate_user)[ \t]+\S+[ \t]+{_WORD}"
        rf"|wpa_passphrase[ \t]+\S+[ \t]+{_WORD}|net user[ \t]+\S+[ \t]+{_WORD}"
        rf"|net use[ \t]+[^\n]{{0,80}}?[ \t]/user:\S+[ \t]+{_WORD}"
        rf"|mc (?:alias set|config host add)[ \t]+\S+[ \t]+\S+[ \t]+\S+[ \t]+{_WORD}"
        rf"|configure set[ \t]+[a-z_.-]*(?:secret|token|password|key)[a-z_]*[ \t]+{_WORD}"
        rf"|config set[ \t]+[^\n]{{0,60}}?(?:secret|token|password|key|auth)[a-zA-Z_]*[ \t=]+{_WORD}"
        rf"|(?:add-)?authtoken[ \t]+{_WORD}|vault login[ \t]+(?:-[a-z-]+=?\S*[ \t]+)*{_WORD}"
        rf"|(?:requirepass|masterauth|sentinel auth-pass[ \t]+\S+)[ \t]+{_WORD}"
        rf"|(?:(?<=\s)|(?<=^)|(?<=[>\"']))AUTH[ \t]+(?:[a-z]\S*[ \t]+)?{_WORD}(?=\s*(?:\Z|[\n\"']))"
        rf"|mysqladmin[ \t][^\n]{{0,80}}?\bpassword[ \t]+{_WORD}"
        rf"|sqlplus[ \t]+(?:-\S+[ \t]+)*[A-Za-z0-9_]+/([^\s@\"']{{4,64}})@"
        rf"|lftp[ \t][^\n]{{0,80}}?-u[ \t]+[A-Za-z0-9_.@-]+,([^\s\"']{{4,64}})"
        r"|--creds[= \t]+[\"']?[A-Za-z0-9_.@-]+:([^\s\"']{4,128})"
        rf"|set-?password[ \t]+(?:\S+[ \t]+)?{_WORD}"
        r"|(?:with-token|password-stdin|chpasswd|sudo (?:-S|--stdin))[^\n|;]{0,60}?"
        rf"<<<?[ \t]*(?:[\"']?[a-z_]{{1,32}}:)?{_WORD}"
    ),
    judge=_is_given,
)
_PIPED = Detector(
    kind="password",
    literals=literals("echo ", "printf ", "echo -"),
    pattern=text_pattern(
        r"(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)*[\"']?(?:[a-z_][a-z0-9_-]{0,31}:)?"
        r"([^\s\"'|$]{6,128})[\"']?[ \t]*\|[ \t]*"
        r"(?:sudo[ \t]+)?(?:chpasswd|sudo[ \t]+(?:-S|--stdin|-[a-z]*S)|passwd"
        r"|[^\n|]{0,160}?--?(?:password-stdin|with-token|stdin))"
    ),
    raw=raw_pattern(
        rf"[a-z]{{4,6}}[^|\n]{{1,300}}?(?:\|[^\n]{{0,300}}?(?:chpasswd|sudo|passwd|stdin|with-token|{ENCODED_RAW})|{ENCODED_RAW})"
    ),
    validate=plausible_word,
)
_USER = Detector(
    kind="password",
    literals=literals("-u ", "--user ", "--user=", "--proxy-user ", "-U ", "--basic ", "-u'", '-u"', "--auth ", "-a "),
    pattern=text_pattern(
        r"(?:-u|--user|--proxy-user|--auth|-a|-U)(?:[ \t=]{1,4})?[\"']?[A-Za-z0-9_.@+-]{1,64}[:%]"
        r"([^\s'\"\\$][^\s'\"\\]{3,200})(?=[\s'\"\\]|\Z)"
    ),
    raw=raw_pattern(rf"-{{1,2}}[a-zA-Z-]{{1,10}}[^\n]{{0,12}}?(?:[A-Za-z0-9_.@+-]{{1,64}}[:%]|{ENCODED_RAW})"),
    validate=lambda value: plausible_password(value) or (value.isalpha() and _is_chosen(value)),
)


def _is_quoted(match: re.Match[str]) -> tuple[int, int] | None:
    group = match.lastindex or 0
    value = match[group]
    firm = match[0][:8].lower().startswith(("identifi", "password"))
    return match.span(group) if (plausible_word(value) if firm else plausible_token(value, quoted=True)) else None


_SQL = Detector(
    kind="password",
    literals=literals(
        "IDENTIFIED BY ",
        "identified by ",
        "Identified by ",
        "IDENTIFIED WITH ",
        "identified with ",
        "PASSWORD '",
        "password '",
        "Password '",
        "PASSWORD N'",
        "PASSWORD E'",
        'PASSWORD "',
        "PASSWORD = '",
        "PASSWORD='",
        "PASSWORD(",
        "PASSWORD = N'",
        "PASSWORD=N'",
        "CREDENTIALS '",
    ),
    pattern=text_pattern(
        r"(?:(?i:identified)[ \t\n]+(?i:with[ \t]+\S+[ \t]+(?:by|as)|by(?:[ \t]+values)?(?:[ \t]+password)?)[ \t]+"
        r"|(?i:password)[ \t]{0,4}(?:=[ \t]{0,4})?\(?[ \t]{0,4}|(?i:credentials)[ \t]{1,4})"
        r"(?:[NE]?'((?:[^'\n]|''){4,256})'|\"([^\"\n]{4,256})\"|(?<=IDENTIFIED BY )([^\s'\"`;,()]{4,128})(?=[;\s]|\Z))"
    ),
    raw=raw_pattern(rf"(?!(?i:password))|[A-Za-z]{{8}}(?:[ \t=(]|\\+t){{0,14}}+(?:[NE]?(?:'|\\*\")|{ENCODED_RAW})"),
    judge=_is_quoted,
)


# A call or a setting that takes a name and a password.
_PAIR = Detector(
    kind="password",
    literals=literals(
        "auth=(",
        "Auth(",
        "auth(",
        "ogin(",
        "redentials(",
        "http-basic.",
        "redentials:",
        "redentials =",
        "redentials=",
        "creds:",
        "creds=",
        "user/pass:",
        "username/password:",
        "ogin:",
    ),
    pattern=text_pattern(
        r"(?:auth[ \t]?=?[ \t]?|Auth|ogin|redentials)"
        r"\([ \t]*[\"'][^\"'\n]{1,80}[\"'][ \t]*,[ \t]*(?:[\"']([^\"'\n]{4,128})[\"'])"
        r"|http-basic\.\S{1,120}[ \t]+\S{1,80}[ \t]+([^\s\"'|;&]{4,128})"
        r"|(?:redentials|creds|user/pass|username/password|ogin)[ \t]?[:=][ \t]{0,4}"
        r"[\"'`]?[A-Za-z0-9_.@+-]{1,40}[ \t]?[:/][ \t]?"
        r"(?!/)([^\s\"'`]{6,128})(?=[\s\"'`]|\Z)"
    ),
    raw=raw_pattern(rf"[^\n]{{4,24}}?(?:[\"':=]|http-basic|{ENCODED_RAW})[^\n]{{0,100}}?(?:[,:/]|{ENCODED_RAW})"),
    judge=_is_given,
)

COMMANDS: tuple[Detector, ...] = (_OPTION, _ARGUMENTS, _PIPED, _USER, _PAIR, _SQL)
