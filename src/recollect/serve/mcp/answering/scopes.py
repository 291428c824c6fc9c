"""What a call is confined to: the repository that the caller works in, the one it names, or everything."""

from __future__ import annotations

from typing import NamedTuple

from recollect.memory import Memory
from recollect.serve.mcp.answering.pages import name
from recollect.serve.mcp.arguments import Confining, SearchArguments

_UNQUOTABLE = ('"', ",")
_NAMED = ("agent", "repo", "kind", "tool", "session", "collection")


class Caller(NamedTuple):
    """Who asks. folders: where it works, () where that is not known."""

    folders: tuple[str, ...] = ()


class Confines(NamedTuple):
    """Filters of the query language that stand for a scope, and the same in words ("" for everything).

    is_default: the caller named neither; it is told how to widen.
    """

    filters: str = ""
    words: str = ""
    is_default: bool = False


def confines_of(memory: Memory, arguments: Confining, caller: Caller) -> Confines:
    """Return what a call is confined to. Raises UnknownName for any name in its arguments."""
    named = (_filter(field, value) for field in _NAMED if (value := getattr(arguments, field, "")))
    memory.recall.check_names(" ".join(named), folders=caller.folders)
    if arguments.repo:
        return Confines(_filter("repo", arguments.repo), f"repositories like {name(arguments.repo)}")
    is_of_collection = isinstance(arguments, SearchArguments) and bool(arguments.collection)
    if arguments.scope == "all" or is_of_collection or _names_place(memory, arguments):
        return Confines()
    return repository_of(memory, caller)


def repository_of(memory: Memory, caller: Caller) -> Confines:
    """Return what confines a call to the repository that the caller works in; nothing where that is not known."""
    names = [repo for folder in caller.folders for repo in memory.recall.repositories(folder)]
    names = [repo for repo in dict.fromkeys(names) if not any(sign in repo for sign in _UNQUOTABLE)]
    if not names:
        return Confines()
    exactly = ",".join(f"={repo}" for repo in names)
    return Confines(f'repo:"{exactly}"', f"repository {name(names[0])}", is_default=True)


def filters_of(memory: Memory, arguments: Confining, confines: Confines) -> str:
    """Return all filters of a call in the query language. Raises UsageError for a date that is none."""
    for field in ("after", "before"):
        if getattr(arguments, field):
            memory.recall.check_date(getattr(arguments, field), name=field)
    named = ["agent", "after", "before"]
    if isinstance(arguments, SearchArguments):
        named += ["kind", "tool", "session", "collection"]
    filters = [_filter(field, getattr(arguments, field)) for field in named if getattr(arguments, field)]
    return " ".join(part for part in (confines.filters, *filters) if part)


def words_of(query: str) -> str:
    """Return a query to stand behind filters. Text of several lines is pasted output: its signs are not syntax."""
    if "\n" not in query.strip():
        return query
    words = (word.strip("\"'`()[]{}<>,;:!?=*|+-") for word in query.split())
    return " ".join(word.replace(":", ": ") for word in words if word)


def _names_place(memory: Memory, arguments: Confining) -> bool:
    """Tell whether a query has a filter `repo:` or `collection:` of its own: that is where it wants to look."""
    query = getattr(arguments, "query", "")
    if not any(f"{field}:" in query.lower() for field in ("repo", "collection")):
        return False
    where = memory.recall.confined(words_of(query)).where
    return bool(where.repos) or any(one.startswith("document:") for one in where.sessions)


def _filter(field: str, value: str) -> str:
    value = " ".join(value.replace('"', " ").split())
    return f'{field}:"{value}"'
