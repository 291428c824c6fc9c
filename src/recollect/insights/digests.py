"""What a session came to: its outcome, its sums, the tasks it names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import Literal, NamedTuple

import msgspec

from recollect.errors import ConfigError
from recollect.insights.commands import Simple
from recollect.insights.sessions import turns_in
from recollect.insights.signals.calls import Tried, endings_of, note_of, text_of
from recollect.insights.signals.endings import (
    asks_nothing,
    is_acceptance,
    is_only_prompts,
    last_request,
    left_open,
    quote,
)
from recollect.insights.signals.turns import Turn, turns_of
from recollect.insights.stages import Gated
from recollect.insights.stream import SessionEvents
from recollect.model.insights.digests import Cost, Digest, ErrorSnippet, TaskRef
from recollect.model.insights.signals import SIGNAL_KINDS, ErrorSeen, Retry, Signal, TestRun, kind_of_signal
from recollect.model.own import SERVER_KEYS, without_own_blocks
from recollect.model.payloads import AssistantMessage, FileEdit, Lifecycle, TokenUsage, ToolCall, UserMessage
from recollect.model.sessions import Outcome, Session
from recollect.model.tools import canonical_tool
from recollect.units import plural

TaskPattern = str
"""A regular expression. Groups named `repo` and `number` make `repo#number`, `number` alone `#number`; else the whole
match is the reference."""

DEFAULT_PATTERNS: tuple[TaskPattern, ...] = (
    r"(?<![A-Za-z0-9])[A-Z][A-Z0-9]{1,15}-WP-\d{4}-T\d{2}(?![A-Za-z0-9])",
    r"https?://[\w.-]{1,80}/(?P<repo>[\w.-]{1,60}/[\w.-]{1,60})/(?:-/)?(?:issues|pull|pulls|merge_requests)/(?P<number>\d{1,7})",
    r"(?<![A-Za-z0-9])(?:GH|gh)-(?P<number>[1-9]\d{0,6})\b",
    r"(?<![\w.%+-])[A-Z][A-Z0-9]{1,9}-[1-9]\d{0,5}(?![\w.]*\d)(?![A-Za-z])",
    r"(?<![\w&#/])#(?P<number>[1-9]\d{0,6})(?![\w-])",
    r"(?i:(?:^|(?<=[/_-]))issues?[/_-]#?)(?P<number>[1-9]\d{0,6})(?![\w.])",
)
EVIDENCE_CHARS = 160
_TEXT_CHARS = 8192
_PROMPT_CHARS = 600
"""What is read of the first prompt: further down it quotes other things."""
_MAX_TEXTS = 200

Place = Literal["branch", "title", "first_prompt", "commit", "path"]

FALSE_FRIENDS = frozenset(
    """
    UTF UCS SHA MD BASE ISO IEC IEEE RFC BCP ECMA ES PEP JSR EN DIN ANSI ASCII CP LATIN CVE CWE GHSA OWASP WCAG PCI FIPS
    NIST SOC GDPR AES RSA DES RC TLS SSL HTTP HTTPS HTTP2 IPV IP TCP UDP USB PCIE DDR X H MP MPEG HEVC VP AV IA ARM AMD
    RISC INTEL CORE RTX GTX GPU CPU GPT CLAUDE OPUS SONNET HAIKU GEMINI LLAMA QWEN MISTRAL DALL GROK KIMI PHI BERT T5
    O PHASE STEP PART OPTION LEVEL TIER STAGE ROUND DAY WEEK MONTH YEAR SPRINT CHAPTER SECTION LINE LINES PAGE ROW COL
    COLUMN FIG FIGURE TABLE TOP VERSION V NODE PYTHON PY JAVA JDK GO PHP RUBY PG POSTGRES MYSQL UBUNTU DEBIAN WINDOWS
    WIN MACOS IOS ANDROID TODO FIXME NOTE E Q FY H1 H2 JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC UTC GMT INT UINT
    FLOAT F I U CRC FNV XXH MURMUR S3 EC2 T2 T3 M4 M5 C5 R5 US EU AP SA CA ME AF COVID ZIP LZ GZIP ED SECP P CURVE X509
    PKCS OAUTH SAML LTE WIFI BT A B C D PRIORITY P0 P1 P2 SEV SEVERITY ITEM POINT RULE CASE TEST EXAMPLE EX
    """.split()
)
"""What stands before a hyphen and a number in names of standards, hashes, models, steps …, and is no tracker."""
_NAMED_BEFORE = re.compile(
    r"(?:issues?|pr|prs|pull(?: request)?s?|mr|merge request|bugs?|tickets?|task|story|epic|fix(?:es|ed)?"
    r"|close[sd]?|resolve[sd]?|refs?|see|gh|github|gitlab|re|\()[\s:(\[*`'\"]{0,4}$",
    re.IGNORECASE,
)
"""What stands before `#12` in a sentence where it names an issue, not a place in a list or a colour."""


@lru_cache(maxsize=16)
def compile_patterns(patterns: tuple[TaskPattern, ...]) -> tuple[re.Pattern[str], ...]:
    """Return compiled patterns. Raises ConfigError for one that is no regular expression."""
    found = []
    for pattern in patterns:
        try:
            found.append(re.compile(pattern))
        except re.error as e:
            key = "distill.task_patterns"
            raise ConfigError(f"{key}: {pattern!r} is no regular expression: {e}", key=key) from e
    return tuple(found)


def task_ref_of(
    stream: SessionEvents, session: Session, patterns: Sequence[TaskPattern] | None = None
) -> TaskRef | None:
    """Return the task of a session, None where nothing names one.

    patterns: tried before `DEFAULT_PATTERNS`. Raises ConfigError for one that is no regular expression.
    """
    compiled = compile_patterns((*(patterns or ()), *DEFAULT_PATTERNS))
    for place, text in _texts(stream, session):
        found = first_ref(text, compiled, place)
        if found is not None:
            return found
    return None


def first_ref(text: str, patterns: Sequence[re.Pattern[str]], place: Place) -> TaskRef | None:
    """Return the first task that a text names, None for none. Of patterns that match at one place the first counts."""
    text = text[:_TEXT_CHARS]
    best: tuple[int, int, re.Match[str]] | None = None
    for rank, pattern in enumerate(patterns):
        for match in pattern.finditer(text):
            if best is not None and (match.start(), rank) >= best[:2]:
                break
            if match.group() and not _is_false_friend(text, match, place):
                best = (match.start(), rank, match)
                break
    if best is None:
        return None
    match = best[2]
    return TaskRef(_named(match), place, _around(text, match))


def _named(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if groups.get("number"):
        return f"{groups.get('repo') or ''}#{groups['number']}"
    return match.group().strip()


def _is_false_friend(text: str, match: re.Match[str], place: Place) -> bool:
    said = match.group()
    if said.startswith("#"):
        # In prose `#1` counts things, and `#333` is a colour: a word before it must say that it is an issue.
        return place not in ("branch", "commit") and not _NAMED_BEFORE.search(text, 0, match.start())
    head, hyphen, number = said.partition("-")
    return bool(hyphen) and number.isdigit() and head in FALSE_FRIENDS


def _around(text: str, match: re.Match[str]) -> str:
    """Return the text around a match on one line, at most 160 characters."""
    room = max(0, EVIDENCE_CHARS - len(match.group())) // 2
    start = max(0, match.start() - room)
    return " ".join(text[start : start + EVIDENCE_CHARS].split())


def _texts(stream: SessionEvents, session: Session) -> Iterator[tuple[Place, str]]:
    if session.git_branch:
        yield "branch", session.git_branch
    if session.title and session.title_status == "agent":
        yield "title", session.title
    for event in stream.of(UserMessage):
        payload = event.payload
        if isinstance(payload, UserMessage) and payload.origin in ("human", "queued") and payload.text:
            yield "first_prompt", without_own_blocks(payload.text).strip()[:_PROMPT_CHARS]
            break
    for _, text in zip(range(_MAX_TEXTS), _commits(stream), strict=False):
        yield "commit", text
    if session.cwd:
        yield "path", session.cwd
    edits = (event.payload for event in stream.of(FileEdit))
    paths = dict.fromkeys(edit.path for edit in edits if isinstance(edit, FileEdit) and edit.path)
    for _, path in zip(range(_MAX_TEXTS), paths, strict=False):
        yield "path", path


def _commits(stream: SessionEvents) -> Iterator[str]:
    """Yield what names commits and pull requests: commands that make them, what those printed, and notes of agents."""
    for one in stream.once(endings_of).values():
        if not any(map(_makes_commit, one.commands)):
            continue
        yield one.exact
        if one.call.result is not None:
            yield text_of(stream, one.call.result)
    for event in stream.of(Lifecycle):
        payload = event.payload
        if isinstance(payload, Lifecycle) and payload.name in ("commit", "pr_link"):
            yield note_of(stream, event).text


_COMMITS = {"git": ("commit",), "gh": ("pr",), "glab": ("mr",), "hub": ("pull-request",)}


def _makes_commit(simple: Simple) -> bool:
    verbs = _COMMITS.get(simple.program)
    return verbs is not None and any(word in verbs for word in simple.words[1:6])


_UNABLE = re.compile(
    r"(?:(?:unfortunately|sorry|i'm sorry|i apologi[sz]e|apologies|ok(?:ay)?)[,.;: ]{1,3}(?:but )?){0,3}"
    r"i(?:'m| am| was|'ve been| have been)? ?(?:unable to|not able to|cannot|can't|can not|could not|couldn't|failed to"
    r"|do not have (?:access|permission)|don't have (?:access|permission))\b"
    r"(?! (?:find|see|think of|spot|identify|detect) (?:any|a) (?:problem|issue|error|bug|reason))",
    re.IGNORECASE,
)
_BUILDS = re.compile(
    r"(?:\b|_)(?:build|compile|check|lint|typecheck|type-check|tsc|mypy|ruff|eslint|clippy|vet|golangci-lint|pyright)\b"
)
"""Words of commands whose failure leaves the work unfinished, like a failing test."""
_INSTEAD = re.compile(
    r"\b(?:but|instead|however|you can|here(?:'s| is| are)|because|since|alternatively)\b", re.IGNORECASE
)
_SHORT_CHARS = 400
_MAX_REASONS = 4


class Verdict(NamedTuple):
    """An outcome and why, the strongest reason first; never without one."""

    outcome: Outcome
    reasons: tuple[str, ...]


def outcome_of(session: SessionEvents, signals: Sequence[Signal]) -> Verdict:
    """Return the outcome of a session. signals: of the same session."""
    turns = session.once(turns_of)
    turn = last_request(turns)
    if is_only_prompts(session):
        return Verdict("unknown", ("only prompts are known, nothing of what the agent did",))
    if turn is None:
        return Verdict("unknown", ("nothing was asked: only commands, notices or metadata",))
    if asks_nothing(turns):
        return Verdict("unknown", (f"nothing was asked: only {quote(turn.text)}",))
    left = left_open(turns)
    if left is not None:
        return Verdict("abandoned", (left[1],))
    if turn.failure is not None:
        return Verdict("fail", (f"the last request ended in a failure: {quote(turn.failure[1])}",))
    failed = _unresolved(session, turn, signals)
    if failed:
        return Verdict("fail", failed[:_MAX_REASONS])
    if _gave_up(turn):
        return Verdict("fail", (f"the agent says that it could not: {quote(turn.said)}",))
    return _success(turn, signals)


def _success(turn: Turn, signals: Sequence[Signal]) -> Verdict:
    reasons = []
    if is_acceptance(turn):
        reasons.append(f"the person accepts: {quote(turn.text)}")
    passed = [s for s in signals if isinstance(s, TestRun) and s.ok]
    if passed and passed[-1].turn_index == _turn_index(turn):
        reasons.append(f"the last test run passes: {quote(passed[-1].command)}")
    if turn.reply is not None:
        what = "closes the last request after its work" if turn.has_worked else "answers the last request"
        reasons.append(f"a reply {what}: {quote(turn.said)}")
    if turn.edits:
        reasons.append(f"{plural(turn.edits, 'edit')} applied in the last request")
    if turn.end is not None:
        said = getattr(turn.end.payload, "reason", "")
        reasons.append(f"the agent says that the session ended{f': {quote(said)}' if said else ''}")
    if not reasons:
        return Verdict("unknown", ("no reply and no work tell how the last request ended",))
    return Verdict("success", tuple(reasons[:_MAX_REASONS]))


def _gave_up(turn: Turn) -> bool:
    """Tell whether the last reply says that the agent could not do it.

    A reply that was not worked for and offers something else instead is an answer.
    """
    if not _UNABLE.match(turn.said):
        return False
    return turn.has_worked or (len(turn.said) <= _SHORT_CHARS and _INSTEAD.search(turn.said) is None)


def _turn_index(turn: Turn) -> int:
    event = turn.asked or turn.reply
    return event.turn_index if event is not None else -1


def _unresolved(session: SessionEvents, turn: Turn, signals: Sequence[Signal]) -> tuple[str, ...]:
    """Return the test run and the builds of the last request that fail, where no edit or success came after them."""
    place = session.positions
    edited = place[turn.last_edit.event_id, turn.last_edit.part] if turn.last_edit is not None else -1
    found = []
    runs = [s for s in signals if isinstance(s, TestRun) and s.turn_index == _turn_index(turn)]
    if runs and runs[-1].ok is False:
        evidence = runs[-1].evidence[0]
        if place[evidence.event_id, evidence.part] > edited:
            count = f", {runs[-1].failed} failed" if runs[-1].failed else ""
            found.append(f"the last test run fails{count}: {quote(runs[-1].command)}")
    tests = {evidence.event_id for run in runs for evidence in run.evidence}
    newest: dict[str, Tried] = {}
    for one in turn.tried:
        if one.call.call.canonical == "shell" and one.target and one.call.event.event_id not in tests:
            newest[one.target] = one
    for target, one in newest.items():
        result = one.call.result
        if one.ending == "failed" and result is not None and _BUILDS.search(target):
            is_last = place[result.event_id, result.part] > edited and one is turn.tried[-1]
            if is_last:
                found.append(f"the last build or check fails: {quote(one.exact)}")
    return tuple(found)


def added(base: Digest, later: Digest) -> Digest:
    """Return one digest of both parts. base: up to where the events are gone; later: of the events since.

    Counts add up; of what is told once, the first prompt and the task are the base's, everything else the later one's
    where it says anything. Times and the wall clock of the later one are the whole session's already.
    """
    signals = Counter(base.signals) + Counter(later.signals)
    has_outcome = later.outcome != "unknown"
    return msgspec.structs.replace(
        later,
        model=later.model or base.model,
        outcome=later.outcome if has_outcome else base.outcome,
        outcome_reasons=later.outcome_reasons if has_outcome else base.outcome_reasons,
        cost=_costs_together(base.cost, later.cost),
        tool_histogram=_by_count(base.tool_histogram, later.tool_histogram),
        event_count=base.event_count + later.event_count,
        kind_counts=dict(sorted((Counter(base.kind_counts) + Counter(later.kind_counts)).items())),
        markers=dict(sorted((Counter(base.markers) + Counter(later.markers)).items())),
        signals={kind: signals[kind] for kind in SIGNAL_KINDS if signals[kind]},
        first_prompt=base.first_prompt or later.first_prompt,
        last_assistant=later.last_assistant or base.last_assistant,
        error_snippets=_snippets(base, later),
        task_ref=base.task_ref or later.task_ref,
        tool_kinds={**base.tool_kinds, **later.tool_kinds},
    )


def _costs_together(base: Cost, later: Cost) -> Cost:
    return Cost(
        input_tokens=base.input_tokens + later.input_tokens,
        output_tokens=base.output_tokens + later.output_tokens,
        cache_tokens=base.cache_tokens + later.cache_tokens,
        wall_clock_s=max(base.wall_clock_s, later.wall_clock_s),
        turns=base.turns + later.turns,
        retries=base.retries + later.retries,
        active_s=round(base.active_s + later.active_s, 3),
    )


def _by_count(base: Mapping[str, int], later: Mapping[str, int]) -> dict[str, int]:
    both = Counter(base) + Counter(later)
    return dict(sorted(both.items(), key=lambda item: (-item[1], item[0]))[:MAX_TOOLS])


def _snippets(base: Digest, later: Digest) -> tuple[ErrorSnippet, ...]:
    first: dict[str, ErrorSnippet] = {}
    counts: Counter[str] = Counter()
    for snippet in (*base.error_snippets, *later.error_snippets):
        first.setdefault(snippet.fingerprint, snippet)
        counts[snippet.fingerprint] += snippet.count
    chosen = sorted(first, key=lambda fingerprint: -counts[fingerprint])[:MAX_SNIPPETS]
    return tuple(msgspec.structs.replace(first[f], count=counts[f]) for f in chosen)


TEXT_CHARS = 600
MAX_SNIPPETS = 10
MAX_TOOLS = 200
GAP_US = 600 * 1_000_000
"""A longer gap between two events is time in which nobody worked."""
MAX_TOKENS = 1 << 40
"""What an agent writes beyond this is nonsense; it is cut off, as in the store."""
_US_PER_S = 1_000_000
_TOOL_KEYS = ("tool_name", "toolName", "tool", "ToolName")
"""Where the arguments of a tool that runs any server's tool name the tool."""


def digest_of(
    stream: SessionEvents,
    session: Session,
    signals: Sequence[Signal],
    gated: Sequence[Gated],
    *,
    patterns: Sequence[TaskPattern] | None = None,
) -> Digest:
    """Return the digest of a session. patterns: see `task_refs`; None: those that ship.

    Counts and costs are of all events given; what it says of the work is of those that were not undone, as `signals`
    and `gated` are. Times are the session's, else those of its events.
    """
    kept = stream.kept
    verdict = outcome_of(kept, signals)
    calls = [event.payload for event in stream.of(ToolCall) if isinstance(event.payload, ToolCall)]
    histogram = _most_frequent(map(_tool_name, calls))
    started_at, ended_at = session.started_at, session.ended_at
    if started_at is None or ended_at is None:
        times = [event.ts for event in stream.events if event.ts is not None]
        started_at = started_at if started_at is not None else min(times, default=None)
        ended_at = ended_at if ended_at is not None else max(times, default=None)
    return Digest(
        session_uid=session.session_uid or stream.uid,
        flavor=session.agent,
        repo=session.repo,
        domain=session.domain,
        model=_main_model(stream) or (session.models[-1] if session.models else ""),
        started_at=started_at,
        ended_at=ended_at,
        outcome=verdict.outcome,
        outcome_reasons=verdict.reasons,
        cost=_cost(stream, started_at, ended_at, sum(isinstance(s, Retry) for s in signals)),
        tool_histogram=histogram,
        event_count=len(stream.events),
        kind_counts=dict(sorted(Counter(map(attrgetter("kind"), stream.events)).items())),
        markers=dict(sorted(Counter(marker.rule for found in gated for marker in found.markers).items())),
        signals=_by_kind(signals),
        first_prompt=_first_prompt(kept),
        last_assistant=_last_reply(kept),
        error_snippets=snippets_of(signals),
        task_ref=task_ref_of(kept, session, patterns),
        tool_kinds={
            call.name: call.canonical
            for call in calls
            if call.name in histogram and call.canonical and call.canonical != canonical_tool(call.name)
        },
    )


def usage_of(stream: SessionEvents) -> list[TokenUsage]:
    """Return the token usage of each response once: the sighting with the most output tokens, then the most input, of
    equal ones the first. Sightings that are not additive are left out."""
    fullest: dict[str, TokenUsage] = {}
    for number, event in enumerate(stream.of(TokenUsage)):
        payload = event.payload
        if isinstance(payload, TokenUsage):
            key = payload.dedupe_key or f"\0{number}"
            known = fullest.get(key)
            if known is None or _fullness(payload) > _fullness(known):
                fullest[key] = payload
    return [usage for usage in fullest.values() if usage.is_additive]


def _fullness(usage: TokenUsage) -> tuple[int, int]:
    return usage.output_tokens, usage.input_tokens + usage.cache_read_tokens


def snippets_of(signals: Sequence[Signal]) -> tuple[ErrorSnippet, ...]:
    """Return the kinds of errors, at most ten: the most frequent first, of equally frequent ones the first seen."""
    first: dict[str, ErrorSeen] = {}
    counts: Counter[str] = Counter()
    for signal in signals:
        if isinstance(signal, ErrorSeen):
            first.setdefault(signal.fingerprint, signal)
            counts[signal.fingerprint] += 1
    chosen = sorted(first, key=lambda fingerprint: -counts[fingerprint])[:MAX_SNIPPETS]
    return tuple(ErrorSnippet(f, first[f].sample, counts[f], first[f].tool) for f in chosen)


def _cost(stream: SessionEvents, started_at: int | None, ended_at: int | None, retries: int) -> Cost:
    used = stream.once(usage_of)
    wall_clock_us = max(0, ended_at - started_at) if started_at is not None and ended_at is not None else 0
    return Cost(
        input_tokens=sum(_tokens(u.input_tokens) for u in used),
        output_tokens=sum(_tokens(u.output_tokens) for u in used),
        cache_tokens=sum(
            _tokens(u.cache_read_tokens) + _tokens(u.cache_write_5m_tokens) + _tokens(u.cache_write_1h_tokens)
            for u in used
        ),
        wall_clock_s=round(wall_clock_us / _US_PER_S, 3),
        turns=turns_in(stream.of(UserMessage)),
        retries=retries,
        active_s=round(_active_us(stream) / _US_PER_S, 3),
    )


def _active_us(stream: SessionEvents) -> int:
    times = sorted(event.ts for event in stream.events if event.ts is not None)
    gaps = (later - earlier for earlier, later in pairwise(times))
    return sum(gap for gap in gaps if gap <= GAP_US)


def _tokens(count: int) -> int:
    return count if 0 <= count <= MAX_TOKENS else max(0, min(count, MAX_TOKENS))


def _main_model(stream: SessionEvents) -> str:
    """Return the model that took the most tokens, else the one with the most replies; "" for none."""
    spent: Counter[str] = Counter()
    replies: Counter[str] = Counter()
    for usage in stream.once(usage_of):
        if usage.model:
            spent[usage.model] += max(1, _tokens(usage.output_tokens) + _tokens(_input_of(usage)))
    if not spent:
        for event in stream.of(AssistantMessage):
            if isinstance(event.payload, AssistantMessage) and event.payload.model:
                replies[event.payload.model] += 1
    return next((model for counts in (spent, replies) for model, _ in counts.most_common(1)), "")


def _input_of(usage: TokenUsage) -> int:
    cached = usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    return usage.input_tokens + cached


def _tool_name(call: ToolCall) -> str:
    """Return a tool as its agent names it; a server's tool that is run through a tool for all of them by its own."""
    given = call.arguments
    if call.canonical != "mcp" or not isinstance(given, dict):
        return call.name
    server, tool = (
        next((named for key in keys if isinstance(named := given.get(key), str) and named), "")
        for keys in (SERVER_KEYS, _TOOL_KEYS)
    )
    return f"mcp__{server}__{tool}" if server and tool else call.name


def _most_frequent(names: Iterable[str]) -> dict[str, int]:
    counts = Counter(name or "(unnamed)" for name in names)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_TOOLS])


def _by_kind(signals: Sequence[Signal]) -> dict[str, int]:
    counts = Counter(kind_of_signal(signal) for signal in signals)
    return {kind: counts[kind] for kind in SIGNAL_KINDS if counts[kind]}


def _first_prompt(stream: SessionEvents) -> str:
    for event in stream.of(UserMessage):
        payload = event.payload
        if isinstance(payload, UserMessage) and payload.origin in ("human", "queued"):
            said = without_own_blocks(payload.text).strip()
            if said:
                return _cut(said)
    return ""


def _last_reply(stream: SessionEvents) -> str:
    """Return the last words of the main line, else of a side chain."""
    of_side = ""
    for event in reversed(stream.of(AssistantMessage)):
        said = event.payload.text.strip() if isinstance(event.payload, AssistantMessage) else ""
        if said and not event.is_sidechain:
            return _cut(said)
        of_side = of_side or said
    return _cut(of_side)


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CHARS else text[: TEXT_CHARS - 1].rstrip() + "…"
