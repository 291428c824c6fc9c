"""What was learned, with its evidence, and what sessions left to do. Each can be judged here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from recollect.errors import UsageError
from recollect.memory import LearningFilter
from recollect.model.learnings.learnings import LearningKind, LearningState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from recollect.memory import Memory

LIMIT = 200
KINDS: tuple[LearningKind, ...] = tuple(kind for kind in get_args(LearningKind) if kind != "action")
HELD: tuple[LearningState, ...] = ("active", "confirmed")


def learnings_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?q=&kind=&repo=`."""
    asked = request.query_params
    words, kind, repo = asked.get("q", "").strip(), asked.get("kind", ""), asked.get("repo", "").strip()
    where = LearningFilter(
        kinds=tuple(known for known in KINDS if known == kind) or KINDS,
        repos=(repo,) if repo else (),
        states=HELD,
        words=tuple(words.split()),
        limit=LIMIT,
    )
    return "learnings.html", {
        "learnings": memory.learn.learnings(where),
        "actions": memory.learn.actions(repos=(repo,) if repo else ()),
        "query": words,
        "kind": kind,
        "kinds": KINDS,
        "repo": repo,
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
            raise UsageError("a correction needs words", hint="write what is right, then correct it again")
        memory.learn.correct(name, text)
    else:
        raise UsageError("this form is not one of this page", hint="reload the page")
