"""The arguments of the tools, typed. What a model writes is taken generously; what cannot be is a clear error."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from recollect.errors import UsageError

MIN_BYTES = 1_000
DEFAULT_BYTES = 4_096
MAX_BYTES = 65_536
MAX_QUERY_CHARS = 4_096
MAX_ARGUMENT_BYTES = 32_768
"""Of all arguments of a call together, as JSON."""

Scope = Literal["repository", "all"]
_Text = Annotated[str, Meta(max_length=500)]
_Query = Annotated[str, Meta(max_length=MAX_QUERY_CHARS)]
_Bytes = Annotated[int, Meta(ge=MIN_BYTES, le=MAX_BYTES)]
_Limit = Annotated[int, Meta(ge=1, le=50)]


class Paged(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every tool takes. max_bytes: of the answer, in UTF-8. cursor: from the answer before, "" for the first."""

    max_bytes: _Bytes = DEFAULT_BYTES
    cursor: _Text = ""


class Confining(Paged, frozen=True, kw_only=True):
    """Filters over sessions. scope counts where `repo` names none."""

    scope: Scope = "repository"
    agent: _Text = ""
    repo: _Text = ""
    after: _Text = ""
    before: _Text = ""
    limit: _Limit = 10


class SearchArguments(Confining, frozen=True, kw_only=True):
    """Of `search`. limit: as many as its bytes hold, unless it is given. collection: replaces scope."""

    query: _Query
    limit: _Limit = 20
    kind: _Text = ""
    tool: _Text = ""
    session: _Text = ""
    collection: _Text = ""


class ConversationArguments(Confining, frozen=True, kw_only=True):
    """Of `search_conversations`."""

    query: _Query


class ListArguments(Confining, frozen=True, kw_only=True):
    """Of `list_sessions`."""


class SessionArguments(Paged, frozen=True, kw_only=True):
    """Of `get_session`. session: a uid, a beginning of one, or a citation."""

    session: _Text


class OpenArguments(Paged, frozen=True, kw_only=True):
    """Of `open`. id: a citation. around: neighbours on each side."""

    id: _Text
    around: Annotated[int, Meta(ge=0, le=20)] = 3


class StatusArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Of `status`: none."""


_Arguments = TypeVar("_Arguments", bound=msgspec.Struct)


def read_arguments(kind: type[_Arguments], given: dict[str, Any] | None) -> _Arguments:
    """Return the arguments of a call. Numbers may be written as text; null and "" mean that nothing was said.

    Raises UsageError that names the argument and what it may be.
    """
    said = {name: value for name, value in (given or {}).items() if value is not None}
    if _size(said) > MAX_ARGUMENT_BYTES:
        raise UsageError(f"the arguments are larger than {MAX_ARGUMENT_BYTES:,} bytes")
    required = {field.name for field in msgspec.structs.fields(kind) if field.required}
    said = {name: value for name, value in said.items() if value != "" or name in required}
    try:
        return msgspec.convert(said, kind, strict=False)
    except msgspec.ValidationError as error:
        known = ", ".join(field.name for field in msgspec.structs.fields(kind))
        raise UsageError(f"{_in_words(str(error))}; the arguments are {known}") from error


def _size(said: dict[str, Any]) -> int:
    try:
        return len(msgspec.json.encode(said))
    except (UnicodeEncodeError, RecursionError) as error:
        raise UsageError("the arguments are not text that can be read") from error


def _in_words(message: str) -> str:
    told = message.replace("Object missing", "the call is missing the").replace("Object contains", "the call has an")
    return told.replace("`$.", "`").replace(" - at ", " for ")
