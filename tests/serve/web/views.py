"""The addresses of the views of usage, meaning, what was learned, health and settings."""

from __future__ import annotations

from tests.serve.web.lived_in import FILE, REPO

VIEWS = {
    "usage": "/usage?period=1y",
    "usage in tokens by model": "/usage?period=1y&by=model&show=tokens",
    "sessions behind usage": "/usage/sessions?by=agent&key=claude&first=2026-01-01&last=2027-12-31",
    "activity": "/activity?period=1y",
    "an hour": "/activity/sessions?period=1y&weekday=2&hour=9",
    "decisions": "/decisions?period=all",
    "decisions as a list": "/decisions?period=all&view=list",
    "files": "/blame",
    "blame": f"/blame?repo={REPO}&path={FILE}",
    "errors": "/errors?period=1y&whole",
    "retrospective": "/retro?period=1y&whole",
    "learned": "/learnings",
    "to do": "/actions",
    "facts": "/facts?view=history",
    "diary": "/diary",
    "documents": "/documents",
    "a collection": "/documents?collection=handbook",
    "health": "/health",
    "checks": "/health/checks?whole",
    "ingest": "/health/ingest",
    "storage": "/health/storage",
    "secrets": "/health/secrets",
    "settings": "/settings",
    "agents": "/settings/agents",
}
PARTS = (
    "/retro/content?period=1y",
    "/errors/content?period=1y",
    "/health/checks/content",
    "/settings/agents/plan?agent=claude",
    "/learnings/rows",
    "/usage.csv",
    "/activity.csv",
)
"""What the page's script asks for, and tables."""
