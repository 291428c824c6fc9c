"""Every adapter on any content at all: it keeps the contract, and it can be asked whose any file is.

Records with known fields are bent in test_fuzz.py, and beside the adapters that have places of their own to bend.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.agents.guard import unguarded
from recollect.agents.registry import adapters
from recollect.model.records import SourceInfo
from recollect.testing.conformance import check_adapter
from recollect.testing.strategies import any_transcript, any_values
from tests.examples import tried

ROLES = {slug: sorted({place.role for place in a.facts.places}) for slug, a in adapters().items()}


@settings(max_examples=tried(150))
@given(values=any_values(), document=st.sampled_from(("", "d1")))
def test_any_content_keeps_the_contract(values: list[Any], document: str) -> None:
    """What is drawn is given to all adapters: to draw it costs more than to parse it."""
    for slug, roles in ROLES.items():
        for role in roles:
            path = "a/b/0b0c0d0e-0000-4000-8000-000000000000.jsonl"
            info = SourceInfo(slug, role, path, session="s1", document=document)
            assert check_adapter(adapters()[slug], info, values) == [], (slug, role)


FILE_NAMES = st.from_regex(r"[A-Za-z0-9_-]{1,12}(\.jsonl?|\.md|\.db)?", fullmatch=True)


@given(
    head=st.binary(max_size=200) | any_transcript(),
    folder=st.text(max_size=20),
    names=st.lists(FILE_NAMES, min_size=4, max_size=4),
)
def test_any_head_is_recognised_or_not_and_has_a_name(head: bytes, folder: str, names: list[str]) -> None:
    path = "/".join((folder, *names))  # some agents name a session by a folder
    for slug, roles in ROLES.items():
        adapter = unguarded(adapters()[slug])
        assert adapter.recognise(path, head) in (None, *roles), slug
        for info in (SourceInfo(slug, role, path) for role in roles):
            assert adapter.identify(info, head), info
            assert adapter.source_key(info) is not None, info
