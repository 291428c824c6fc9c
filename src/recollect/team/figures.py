"""Answers what the work cost: to leads figures of the team, to others their own."""

from __future__ import annotations

from collections import Counter
from typing import Any

from recollect.memory import UsageReport, UsageRow, UsageTotals
from recollect.model.team_messages import TeamUsageBy, TeamUsageQuestion
from recollect.team.audit import note
from recollect.team.database import TeamDatabase
from recollect.team.patterns import clean, containing

_SEVERAL = "(several)"
"""The key of what stands for several, because too few people stand behind each."""
_ZONES_US = 14 * 3_600_000_000
"""Weeks are UTC's; the day that a person means may begin so much earlier or later."""
_KEYS: dict[TeamUsageBy, str] = {
    "repo": "f.repo", "model": "f.model", "agent": "f.agent", "group": "f.people_group", "week": "f.week::text",
    "total": "'total'",
}  # fmt: skip
_SUMS = (
    "sum(f.input_tokens)::bigint, sum(f.output_tokens)::bigint, sum(f.cache_tokens)::bigint, "
    "sum(f.cache_write_5m_tokens)::bigint, sum(f.cache_write_1h_tokens)::bigint, sum(f.reasoning_tokens)::bigint, "
    "sum(f.responses)::bigint, sum(f.cost_usd), sum(f.unpriced)::bigint "
)
_WHERE = (
    "WHERE (%(agents)s::text[] = '{}' OR f.agent = ANY(%(agents)s)) "
    "AND (%(repos)s::text[] = '{}' OR f.repo ILIKE ANY(%(repos)s)) "
    "AND (%(after)s::bigint IS NULL OR extract(epoch FROM f.week) * 1e6 >= %(after)s - %(zones)s) "
    "AND (%(before)s::bigint IS NULL OR extract(epoch FROM f.week + 7) * 1e6 <= %(before)s + %(zones)s) GROUP BY 1, 2"
)
OF_TEAM = "FROM recollect.team_figures() f "
OF_PERSON = (
    "FROM (SELECT recollect.week_of(s.started_at) AS week, s.repo, s.people_group, s.agent, u.model, u.input_tokens, "
    "u.output_tokens, u.cache_tokens, u.cache_write_5m_tokens, u.cache_write_1h_tokens, u.reasoning_tokens, "
    "u.responses, u.cost_usd, CASE WHEN u.cost_usd IS NULL THEN u.responses ELSE 0 END AS unpriced "
    "FROM recollect.session s JOIN recollect.usage u ON u.team_id = s.team_id AND u.session_id = s.session_id "
    "WHERE s.team_id = recollect.present_team() AND u.member_id = recollect.present_member()) f "
)


def usage(database: TeamDatabase, token: str, asked: TeamUsageQuestion) -> UsageReport:
    """Return tokens and cost by what is asked for. Raises TeamRefused, TeamUnavailable."""
    wanted = {
        "agents": clean(asked.agents), "repos": [containing(repo) for repo in clean(asked.repos)],
        "after": asked.after, "before": asked.before, "zones": _ZONES_US,
    }  # fmt: skip
    with database.as_asker(token) as (db, asker):
        is_lead = asker.role in ("lead", "owner")
        statement = f"SELECT {_KEYS[asked.by]}, f.model, {_SUMS}{OF_TEAM if is_lead else OF_PERSON}{_WHERE}"
        rows: list[Any] = db.execute(statement, wanted).fetchall()
        note(db, "usage", f"by {asked.by}", ())
    notes = (
        "sessions that were received up to last Sunday (UTC); fewer than four people are put together or withheld"
        if is_lead
        else "your own figures: those of the team are for leads and owners",
        "only whole weeks that lie between these times" if (asked.after, asked.before) != (None, None) else "",
    )
    return _report(asked.by, rows, tuple(filter(None, notes)))


class _Sum:
    """Totals while they grow."""

    def __init__(self) -> None:
        self.tokens: Counter[str] = Counter()
        self.cost: float | None = None
        self.unpriced: set[str] = set()

    def add(self, model: str, figures: tuple[Any, ...]) -> None:
        inputs, output, cache, write_5m, write_1h, reasoning, responses, cost, unpriced = figures
        self.tokens.update(
            input_tokens=inputs, output_tokens=output, cache_read_tokens=max(0, cache - write_5m - write_1h),
            cache_write_5m_tokens=write_5m, cache_write_1h_tokens=write_1h, reasoning_tokens=reasoning,
            responses=responses,
        )  # fmt: skip
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        if unpriced:
            self.unpriced.add(model)

    def totals(self) -> UsageTotals:
        return UsageTotals(**self.tokens, cost_usd=None if self.cost is None else round(self.cost, 6))


def _report(by: TeamUsageBy, rows: list[Any], notes: tuple[str, ...]) -> UsageReport:
    sums: dict[str, _Sum] = {}
    total = _Sum()
    for key, model, *figures in rows:
        for one in (sums.setdefault(_SEVERAL if key is None else key, _Sum()), total):
            one.add(_SEVERAL if model is None else model, tuple(figures))
    found = [UsageRow(key, one.totals(), tuple(sorted(one.unpriced))) for key, one in sums.items()]
    found.sort(key=lambda row: row.key if by == "week" else (-(row.totals.cost_usd or 0.0), row.key))
    return UsageReport(by, tuple(found), total.totals(), "", notes)
