"""The size of an answer, which every tool lets its caller choose."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

MIN_BYTES, DEFAULT_BYTES, MAX_BYTES = 1_000, 4_096, 65_536


class Paged(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every tool takes. max_bytes: of the answer, in UTF-8. cursor: from the answer before, "" for the first.

    The text in an annotation, here and in `tools`, is what a client reads of the argument.
    """

    max_bytes: Annotated[int, Meta(ge=MIN_BYTES, le=MAX_BYTES), "Size of the answer"] = DEFAULT_BYTES
    cursor: Annotated[str, Meta(max_length=500), "From the last answer"] = ""
