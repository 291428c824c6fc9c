"""Learnings with their evidence, pending actions, facts, diaries and documents. You can judge most of them here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlencode

from starlette.requests import Request

from recollect.errors import UsageError
from recollect.memory import DiaryQuestion, FactQuestion, LearningFilter, Memory
from recollect.model.learnings.learnings import GIVEN_STATES, LearningKind, LearningState
from recollect.serve.web.periods import choices
from recollect.serve.web.text import markdown

PAGE = 60
LIMIT = 200
EVIDENCE = 3
"""Pieces that a list shows of each learning; its page has all."""
KINDS: tuple[LearningKind, ...] = tuple(kind for kind in get_args(LearningKind) if kind != "action")
STATES: tuple[LearningState, ...] = get_args(LearningState)
ENDED: tuple[LearningState, ...] = ("done", "retired", "expired", "superseded", "undone")


def learnings_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?q=&kind=&repo=&state=&offset=`."""
    asked = request.query_params
    offset = int(asked["offset"][:9]) if asked.get("offset", "").isdecimal() else 0
    words, kind, repo = asked.get("q", "").strip(), asked.get("kind", ""), asked.get("repo", "").strip()
    state = asked.get("state", "")
    where = LearningFilter(
        kinds=tuple(known for known in KINDS if known == kind) or KINDS,
        repos=(repo,) if repo else (),
        states=tuple(known for known in STATES if known == state) or GIVEN_STATES,
        words=tuple(words.split()),
        limit=PAGE + 1,
        offset=offset,
    )
    found = memory.learn.learnings(where)
    following = urlencode({"q": words, "kind": kind, "repo": repo, "state": state, "offset": offset + PAGE})
    return "learnings.html", {
        "learnings": found[:PAGE],
        "evidence_shown": EVIDENCE,
        "next_rows": f"/learnings/rows?{following}" if len(found) > PAGE else "",
        "next_page": f"/learnings?{following}" if len(found) > PAGE else "",
        "query": words,
        "kind": kind,
        "kinds": KINDS,
        "repo": repo,
        "state": state,
        "states": STATES,
        "held_states": GIVEN_STATES,
        "here": urlencode({"q": words, "kind": kind, "repo": repo, "state": state}),
    }


def learning_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page of one learning or action: everything that it rests on, and what people said of it."""
    why = memory.learn.why(request.path_params["id"])
    return "learning.html", {
        "why": why,
        "learning": why.learning,
        "here": "",
        "held_states": GIVEN_STATES,
        "path_of": "/actions" if why.learning.kind == "action" else "/learnings",
    }


def actions_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return what is still to be done, or with `?state=ended` what was, for `?repo=`."""
    asked = request.query_params
    repo, is_ended = asked.get("repo", "").strip(), asked.get("state") == "ended"
    states = ENDED if is_ended else GIVEN_STATES
    return "actions.html", {
        "evidence_shown": EVIDENCE,
        "actions": memory.learn.actions(repos=(repo,) if repo else (), states=states, limit=LIMIT),
        "repo": repo,
        "is_ended": is_ended,
        "here": request.url.query,
    }


def judge(memory: Memory, form: Mapping[str, str]) -> None:
    """Do what a form of the page asks: confirm, correct or retire a learning, or tick an action off.

    Raises UnknownName for a learning that is gone, UsageError for a form that the page does not have.
    """
    name, verdict = form.get("id", ""), form.get("verdict")
    if verdict == "confirm":
        memory.learn.confirm(name)
    elif verdict == "retire":
        memory.learn.retire(name)
    elif verdict == "done":
        memory.learn.done(name)
    elif verdict == "correct":
        text = form.get("text", "").strip()
        if not text:
            raise UsageError("a correction needs text", hint="write what is right, then correct it again")
        memory.learn.correct(name, text)
    else:
        raise UsageError("this form is not one of this page", hint="reload the page")


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
