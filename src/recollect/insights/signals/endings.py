"""How requests and sessions ended: completed, or in the middle of the work."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.insights.signals.turns import Turn
from recollect.insights.subjects import code_in, identifiers_in, paths_in
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.insights.signals import Abandoned, Completion
from recollect.model.payloads import UserMessage

_GREETING = late_pattern(
    r"(?:hi+|hello+|hey+|yo|hola|hallo|moin|bonjour|salut|olá|oi|ping|test(?:ing)?|warm-?up|привет|你好|こんにちは)"
    r"(?:[ ,]+(?:there|all|again|world|claude|codex|gemini|agent))?[.! ]*",
    re.IGNORECASE,
)
_TURNED_AWAY = late_pattern(
    r"(?:no,?\s+)?(?:never ?mind|nvm|forget (?:it|about it|that)|(?:please )?(?:stop|cancel|abort)"
    r"(?: (?:it|that|this|here))?|leave it|don't bother|no need(?: any ?more)?|vergiss es|abbrechen|laisse"
    r" tomber|déjalo"
    r"|deixa pra lá|забудь|算了|やめて)(?:[\s.,!].{0,40})?|(?:no|nope|nah)[.! ]*",
    re.IGNORECASE,
)
_ACCEPTED = late_pattern(
    r"(?:(?:ok(?:ay)?|great|cool|nice|perfect|awesome|yes|yep|super|ja|gut|good|fine)[,. !]{1,3}){0,4}"
    r"(?:thanks|thank you|thx|ty|cheers|great|perfect|awesome|nice|cool|excellent|good (?:job|work)|well done"
    r"|lgtm|ok(?:ay)?"
    r"|looks (?:good|great|fine)|works(?: (?:now|great|fine|perfectly))?|it works|that works|that's it|done|danke|merci"
    r"|gracias|obrigad[oa]|спасибо|谢谢|ありがとう"
    r"|(?:(?:(?:that|this|it|all)(?:'s| is| looks)? |very |sounds |sehr |alles )?(?:good|fine|gut|prima|perfekt|super)"
    r"|(?:good|fine|gut) (?:enough(?: for now)?|for now|by me|with me|so)|alright|all right|passt(?: so| schon)?"
    r"|in ordnung|alles klar)(?=\s*(?:[.,!]|$)))(?:[\s.,!].*)?",
    re.IGNORECASE | re.DOTALL,
)
"""Words after which a person may say anything but a request. Those in the last group also begin requests ("fine tune
it"): they end where a clause ends."""
_ASKS_MORE = late_pattern(
    r"(?:^|[.,!;\n]\s*)(?:(?:and |und )?(?:now|next(?! (?:week|sprint|month|time|year|release))|please"
    r"|go (?:on|ahead)|proceed|jetzt|bitte|(?:mach )?weiter(?! so))|but|aber)\b",
    re.IGNORECASE,
)
_UNDOES = late_pattern(r"/(?:undo|rewind|revert|rollback)\b", re.IGNORECASE)
_SENTENCE = late_pattern(r"(?<=[.!?。！？])\s+|\n+")
_ANNOUNCES = late_pattern(
    r"(?:(?:ok(?:ay)?|sure|great|good|perfect|alright|now|next|first|then|so)[,.! ]{1,3}){0,3}"
    r"(?:let me|let's|i(?:'ll| will|'m going to| am going to| need to| should)(?! be\b| wait| leave| stop| not\b| keep)"
    r"|now (?:i|let)|next,? i)\b",
    re.IGNORECASE,
)
_LATER = late_pattern(
    r"\b(?:if you|once you|when you|after you|let me know|tell me|want me|would you|you can|please)\b", re.I
)
_LAST_CHARS = 1200
_LONGEST_ACCEPTANCE = 800


def completions_of(turns: Sequence[Turn]) -> list[Completion]:
    """Return the replies that closed a request for which the agent had worked."""
    found = []
    for turn in turns:
        if turn.reply is None or not turn.has_worked or turn.stop is not None or turn.failure is not None:
            continue
        told = (turn.reply, turn.asked) if turn.asked is not None else (turn.reply,)
        found.append(Completion.at(turn.reply, *(evidence_of(event, "context") for event in told)))
    return found


def abandoned_of(session: SessionEvents, turns: Sequence[Turn]) -> list[Abandoned]:
    """Return that a session ended in the middle of the work, with what was left; nothing otherwise."""
    left = None if is_only_prompts(session) else left_open(turns)
    if left is None:
        return []
    event, reason = left
    return [Abandoned.at(event, evidence_of(event, "context"), reason=reason)]


def is_only_prompts(session: SessionEvents) -> bool:
    """Return whether only people's messages are known: a history of prompts, whose answers are elsewhere."""
    return bool(session.events) and all(type(event.payload) is UserMessage for event in session.events)


def asks_nothing(turns: Sequence[Turn]) -> bool:
    """Return whether a session is only a greeting or a warm-up, which has no outcome."""
    said = [t for t in turns if t.asked is not None and t.is_request and not t.is_command]
    return bool(said) and all(_GREETING.fullmatch(t.text) and not t.has_worked for t in said)


def left_open(turns: Sequence[Turn]) -> tuple[Event, str] | None:
    """Return the event at which work was left and a short reason, None if nothing was left open.

    A failure that ended the last request leaves nothing open: it failed.
    """
    turn = last_request(turns)
    if turn is None or asks_nothing(turns):
        return None
    undone = undone_by(turns)
    if undone is not None:
        return undone, "the person undid the last change and asked for nothing more"
    if turn.asked is not None and not turn.is_command and not turn.has_worked and _TURNED_AWAY.fullmatch(turn.text):
        return turn.asked, f"the person turned away: {quote(turn.text)}"
    if turn.failure is not None:
        return None
    if turn.stop is not None:
        denied = turn.last_call is not None and turn.last_call.call.result is turn.stop
        if denied and turn.last_call is not None and turn.last_call.ending == "denied":
            return turn.stop, f"a refused call of {turn.last_call.tool} and nothing after it"
        return turn.stop, "an interrupt and nothing after it"
    return _unanswered(turn, works=any(t.calls for t in turns))


def _unanswered(turn: Turn, *, works: bool) -> tuple[Event, str] | None:
    last = turn.last_call
    if turn.reply is not None:
        if works and not turn.is_closed and turn.end is None and announces(turn.said):
            return turn.reply, f"the last reply only announces the next step: {quote(last_sentence(turn.said))}"
        return None
    if turn.end is not None and turn.has_worked:
        return None
    if last is not None:
        what = "has no result" if last.ending == "open" else "is followed by no reply"
        return (
            last.call.event,
            f"the last tool call ({last.tool}{f' {_cut(last.target, 60)}' if last.target else ''}) {what}",
        )
    if turn.asked is not None and not turn.has_worked and not turn.is_command and not is_acceptance(turn):
        return turn.asked, f"the last human message has no reply: {quote(turn.text)}"
    return None


def is_acceptance(turn: Turn) -> bool:
    """Return whether a person's words accept the work and ask for nothing: no question, and nothing of the code."""
    text = turn.text
    if turn.is_command or len(text) > _LONGEST_ACCEPTANCE or _ACCEPTED.fullmatch(text) is None:
        return False
    return "?" not in text and not (_ASKS_MORE.search(text) or code_in(text) or identifiers_in(text) or paths_in(text))


def announces(reply: str) -> bool:
    """Return whether a reply ends by saying what the agent does next."""
    last = last_sentence(reply)
    if last.endswith(("?", "？")) or _LATER.search(last):
        return False
    return _ANNOUNCES.match(last) is not None or (last.endswith(":") and len(reply) < 400)


def last_sentence(text: str) -> str:
    """Return the last sentence of a text."""
    return next((s.strip() for s in reversed(_SENTENCE.split(text[-_LAST_CHARS:].strip())) if s.strip()), "")


def quote(text: str, limit: int = 80) -> str:
    """Return words in quotation marks on one line, cut at `limit` characters."""
    return f"“{_cut(text, limit)}”"


def _cut(text: str, limit: int) -> str:
    """Return words on one line, at most `limit` characters."""
    said = " ".join(text[: limit * 4].split())
    return said if len(said) <= limit else f"{said[: limit - 1].rstrip()}…"


def last_request(turns: Sequence[Turn]) -> Turn | None:
    """Return the newest turn in which something was asked or done, None for none."""
    return next((turn for turn in reversed(turns) if turn.is_request), None)


def undone_by(turns: Sequence[Turn]) -> Event | None:
    """Return the command that took back the newest change, with nothing asked after it."""
    for turn in reversed(turns):
        if turn.asked is None or not turn.is_command or turn.spent or turn.calls:
            return None
        if _UNDOES.match(turn.text):
            return turn.asked
    return None
