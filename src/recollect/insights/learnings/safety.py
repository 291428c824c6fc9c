"""Decides what may be learned from whom: tool and web text is quoted; instructions to agents are held back.

A learning is given to agents of later sessions. So a preference or an action must rest on what the user or the
assistant wrote; text is cleaned of whatever a harness or a model could take for more than text; and what orders
something together with an address, a credential or a command is quarantined: kept, shown on demand, never given.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from recollect.insights.learnings.identity import bounded
from recollect.late import late_pattern
from recollect.model.learnings.learnings import Author, LearningKind
from recollect.model.own import SERVER, without_own_blocks
from recollect.privacy.password_sentences import tells_credential

STEERING: Final = frozenset(("preference", "action"))
"""Kinds that tell an agent what to do."""
TRUSTED: Final = frozenset(("user", "assistant"))
"""Authors of whom such a kind may come."""

_INVISIBLE: Final = late_pattern(
    # Control characters, terminal sequences, and what Unicode shows as nothing (Default_Ignorable_Code_Point).
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\\\)?|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
_CONTROL_TAG: Final = late_pattern(
    r"[<＜﹤]\s{0,4}[/\\]?\s{0,4}(?:[^\W_]{1,40}[-_:.]{1,3}){0,6}"
    rf"(?:{SERVER}|system\w{{0,16}}|reminders?|instructions?|assistant|human|user|developer|prompts?|antml|tools?"
    r"|functions?|function_calls|invoke|parameters?|commands?|hooks?|notifications?|think\w{0,3}|reasoning|context"
    r"|memory)"
    r"(?:[-_:.][^\W_]{1,40}){0,4}(?![^\W_])[^<>＜＞﹤﹥\n]{0,200}[>＞﹥]"
    r"|[<＜﹤]\s{0,4}[|｜][^\n|｜<>]{1,64}[|｜]\s{0,4}[>＞﹥]|\[/?\s?(?:INST|SYS|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS)\]",
    re.IGNORECASE,
)
_ROLE: Final = late_pattern(
    r"(?:^|(?<=\n)|(?<=[.!?] ))[^\w\[\n]{0,8}(?:human|assistant|system|user|developer|ai)[*_\"'`]{0,4}["
    r" \t]{0,4}[:：][ \t]*",
    re.IGNORECASE,
)
_OVERRIDE: Final = late_pattern(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|any|your"
    r"|the)\b.{0,30}"
    r"\b(?:instructions?|rules?|prompts?|guidelines?|polic(?:y|ies)|safety|restrictions?|context)\b"
    r"|\b(?:ignoriere?|vergiss|missachte)\b.{0,40}\b(?:anweisung\w*|regeln?|vorgaben?|instruktion\w*)\b"
    r"|\b(?:new|updated) (?:system )?(?:instructions?|prompt)\s*[:：]|\byou are now\b|\bact as\b.{0,30}\b(?:root"
    r"|admin|system)"
    r"|\bdo not (?:tell|inform|mention|show|reveal)\b.{0,40}\buser\b|\bwithout (?:telling|asking|informing) (?:the"
    r" )?user\b"
    r"|\b(?:sag|zeig|verrate?)\w*\b.{0,30}\b(?:dem )?(?:benutzer|nutzer)\b.{0,20}\bnicht",
    re.IGNORECASE,
)
_ADDRESS: Final = late_pattern(
    r"(?:https?|wss?|ftp|ssh|git|data|javascript|file)://?[^\s)\"'`>]+|\bwww\.[\w.-]+|\b(?:\d{1,3}\.){3}\d{1,3}\b"
    r"|\b[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{2,64}\b",
    re.IGNORECASE,
)
_HERE: Final = late_pattern(
    r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal)(?![\w.-])", re.IGNORECASE
)
_CREDENTIAL: Final = late_pattern(
    r"\b(?:passwords?|passwd|passphrases?|secrets?|tokens?|api[ _-]?keys?|access[ _-]?keys?|private[ _-]?keys?"
    r"|credentials?"
    r"|cookies?|ssh[ _-]?keys?|\.env|id_rsa|\.netrc|\.aws|\.ssh|\.npmrc|\.pypirc|keychain|kennw[oö]rt\w*|passw[oö]rt\w*"
    r"|zugangsdaten|geheimnis\w*)(?![\w-])",
    re.IGNORECASE,
)
_SENDING: Final = late_pattern(
    r"\b(?:send|post|upload|exfiltrat\w+|email|mail|transmit|leak|share|publish|paste|forward|report|echo|print"
    r"|dump|cat|copy"
    r"|add|append|include|write|put|schick\w*|sende\w*|lade\w*|poste\w*|kopier\w*|teile\w*|gib)\b",
    re.IGNORECASE,
)
_FETCHING: Final = late_pattern(
    r"\b(?:fetch|download|curl|wget|visit|open|browse|load|install|clone|pull|import|run|execute|eval|call|request"
    r"|get|use"
    r"|follow|read|besuch\w*|öffne\w*|lade\w*|installier\w*|rufe?|führe?)\b",
    re.IGNORECASE,
)
_DANGEROUS: Final = late_pattern(
    r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^|\n]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da|fi)?sh\b"
    r"|\brm\s+-\w*[rf]\w*\s+(?:-\w+\s+)*[/~*$.]"
    r"|\bbase64\s+(?:-d|--decode)|\beval\s*[($\"]|\bchmod\s+(?:-R\s+)?777|\bdd\s+if=|\bmkfs\b|\bnc\s+-\w*[el]"
    r"|\b/dev/tcp/"
    r"|--no-verify\b|--dangerously[\w-]*|\bsudo\s+(?:rm|chmod|chown|bash|sh)\b|\bgit\s+push\s+(?:-f|--force)\b"
    r"|\bdisabl\w+\b.{0,30}\b(?:security|auth\w*|firewall|sandbox\w*|verification|tls|ssl|certificates?|antivirus"
    r"|2fa)\b"
    r"|\bdrop\s+(?:table|database)\b|\bauthorized_keys\b|\bcrontab\b|>\s*/etc/",
    re.IGNORECASE,
)
_COMMAND: Final = late_pattern(
    r"`[^`\n]{1,200}`|(?:^|\s)(?:sudo|curl|wget|npm|npx|pnpm|yarn|pip3?|uvx?|brew|apt(?:-get)?|git|docker|kubectl"
    r"|ssh|scp"
    r"|bash|sh|zsh|python3?|node|powershell|make|cargo|go|chmod|rm|mv|cp)\s+[\w./@-]+",
    re.IGNORECASE,
)
_ORDER: Final = late_pattern(
    r"(?:^|[.!?:;,]\s+|\b(?:please|then|now|always|must|should|you|to|and|bitte|immer|dann|jetzt)\s+)(?:always\s+"
    r"|never\s+"
    r"|immediately\s+|first\s+|also\s+|silently\s+)*(?:run|execute|install|use|download|fetch|open|visit|send|post"
    r"|upload|add"
    r"|append|write|create|delete|remove|disable|enable|set|change|call|read|print|copy|paste|commit|push|merge|do"
    r"|don't"
    r"|make|include|follow|ignore|import|load|export|approve|accept|grant|allow|reply|respond|answer|tell|say|remember"
    r"|führe?|nutze?|verwende?|installiere?|öffne|lade|sende|schicke?|schreibe?|lösche?|entferne?|setze?|rufe?)\b",
    re.IGNORECASE,
)


class Judgement(NamedTuple):
    """A text as it may be kept. held_back: why it is quarantined, "" where it may be given. May be empty: not kept."""

    text: str
    held_back: str = ""


def may_become(kind: LearningKind, authors: Collection[Author]) -> bool:
    """Return whether evidence of these authors may become a learning of this kind: an instruction needs words of the
    user or the assistant, and anything needs some evidence.
    """
    return bool(authors) and (kind not in STEERING or bool(TRUSTED.intersection(authors)))


def cleaned(text: str) -> str:
    """Return a text that is nothing but text, on one line of at most 300 characters.

    Blocks of recalled text, terminal sequences, invisible and control characters go; control tags, tokens of chat
    templates and role markers go with their signs. Idempotent.
    """
    before, said = None, without_own_blocks(text)
    while said != before:  # what is taken out may bring the halves of another together
        before = said
        said = _ROLE.sub("", _CONTROL_TAG.sub(" ", _INVISIBLE.sub("", said.replace("\r", "\n"))))
        said = without_own_blocks(said)
    return bounded(said)


def reason_against(text: str, author: Author) -> str:
    """Return why a text is not to be given to agents, "" for nothing against it.

    Whoever wrote it: orders to ignore instructions or to keep something from the user, commands that destroy or disable
    protection or run what they download, and sending credentials. Of the user, beyond that, only an order to send
    something to an address that is not on this machine; of everybody else any order together with such an address, a
    credential or a command.
    """
    if _OVERRIDE.search(text):
        return "overrides instructions"
    if _DANGEROUS.search(text):
        return "a dangerous command"
    has_address = any(not _HERE.search(found[0]) for found in _ADDRESS.finditer(text))
    has_credential = _CREDENTIAL.search(text) is not None
    if has_credential and (has_address or (_SENDING.search(text) and author != "user")):
        return "a credential is sent"
    if author == "user":
        return "an order with an address" if has_address and _SENDING.search(text) and _ORDER.search(text) else ""
    if not _ORDER.search(text):
        return ""
    if has_address or (_FETCHING.search(text) and has_credential):
        return "an order with an address" if has_address else "an order with a credential"
    if has_credential:
        return "an order with a credential"
    return "an order with a command" if author != "assistant" and _COMMAND.search(text) else ""


def judged(text: str, author: Author) -> Judgement:
    """Return a text cleaned, and whether it is held back. Looks at the text before and after cleaning: an order that is
    hidden by invisible characters or a tag is one all the same. Of what tells a credential, or did before it was
    replaced, nothing is kept."""
    said = cleaned(text)
    if not said or tells_credential(said):
        return Judgement("")
    if _CONTROL_TAG.search(_INVISIBLE.sub("", text)) and author not in TRUSTED:
        return Judgement(said, "a control tag")
    return Judgement(said, reason_against(said, author))
