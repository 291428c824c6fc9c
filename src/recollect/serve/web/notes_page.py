"""What people and agents wrote down: facts with validity, diaries, project documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.errors import UsageError
from recollect.memory import DiaryQuestion, FactQuestion
from recollect.serve.web.spans import choices
from recollect.serve.web.text import markdown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from recollect.memory import Memory

LIMIT = 200
FILES = 1_000
PARTS = 200
"""Parts of an entry that are shown; `recollect show` has the rest."""


def facts_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return facts for `?q=&about=&repo=&at=&view=history`, and those that contradict each other."""
    asked = request.query_params
    words, about, repo = (asked.get(name, "").strip() for name in ("q", "about", "repo"))
    at, form = asked.get("at", "").strip(), asked.get("view", "")
    facts = memory.notes.facts
    question = FactQuestion(
        about=about,
        repo=repo,
        words=tuple(words.split()),
        at=facts.instant(at, name="at") if at else None,
        is_history=form == "history",
    )
    answer = facts.find(question, limit=LIMIT)
    given = {"q": words, "about": about, "repo": repo, "at": at, "view": form}
    return "facts.html", {
        "answer": answer,
        "contradictions": facts.contradictions(repo=repo, at=question.at),
        "forms": choices("/facts", given, "view", (("", "what holds"), ("history", "all, with what ended"))),
        "query": words,
        "about": about,
        "repo": repo,
        "at": at,
        "form": form,
        "here": request.url.query,
    }


def judge_fact(memory: Memory, form: Mapping[str, str]) -> None:
    """Do what a form of the facts asks: say that one has ended, or never held. Raises UnknownName, UsageError."""
    name, verdict = form.get("id", ""), form.get("verdict")
    if verdict == "end":
        memory.notes.facts.end(name)
    elif verdict == "retract":
        memory.notes.facts.retract(name)
    else:
        raise UsageError("this form is not one of this page", hint="reload the page")


def diary_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return diary entries for `?agent=&repo=`, newest first."""
    asked = request.query_params
    agent, repo = asked.get("agent", "").strip(), asked.get("repo", "").strip()
    answer = memory.notes.diary.read(DiaryQuestion(agent=agent, repo=repo), limit=LIMIT)
    return "diary.html", {
        "entries": [(entry, markdown(entry.text)) for entry in answer.entries],
        "total": answer.total,
        "agent": agent,
        "repo": repo,
    }


def documents_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the collections of documents, or with `?collection=` its files."""
    name = request.query_params.get("collection", "")
    if not name:
        return "documents.html", {"collections": memory.documents.list()}
    shown = memory.documents.show(name)
    return "collection.html", {
        "collection": shown.collection,
        "files": shown.files[:FILES],
        "more": max(0, len(shown.files) - FILES),
    }


def entry_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page of a document, or of anything else that was noted."""
    entry = memory.recall.entry(request.path_params["uid"], limit=PARTS)
    return "entry.html", {"entry": entry, "parts": [(part, markdown(part.text)) for part in entry.parts]}
