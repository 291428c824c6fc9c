"""What holds for any content: nothing raises, the state stays small, and no cut of the stream shows."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.records import Record
from recollect.testing.conformance import MAX_STATE_BYTES, check_adapter
from tests.agents.commandcode.shape import SHAPE as COMMANDCODE
from tests.agents.copaw.shape import SHAPE as COPAW
from tests.agents.cortex.shape import SHAPE as CORTEX
from tests.agents.kit.shapes import Shape
from tests.agents.posit.shape import SHAPE as POSIT
from tests.agents.reasonix.shape import SHAPE as REASONIX
from tests.agents.shelley.shape import SHAPE as SHELLEY
from tests.agents.workbuddy.shape import SHAPE as WORKBUDDY
from tests.agents.zencoder.shape import SHAPE as ZENCODER

SHAPES = (COMMANDCODE, COPAW, CORTEX, POSIT, REASONIX, SHELLEY, WORKBUDDY, ZENCODER)
each_role = pytest.mark.parametrize(
    ("shape", "role"), [pytest.param(s, r, id=f"{s.slug}-{r}") for s in SHAPES for r in s.roles]
)


@each_role
@given(data=st.data())
def test_known_fields_with_anything_in_them_keep_the_contract(shape: Shape, role: str, data: st.DataObject):
    values = data.draw(st.lists(shape.records, max_size=4))
    assert check_adapter(shape.adapter, shape.info(role), values) == []


@each_role
@given(data=st.data())
def test_elements_of_split_documents_keep_the_contract(shape: Shape, role: str, data: st.DataObject):
    record = shape.records
    at = data.draw(st.sampled_from(shape.places))
    state = shape.adapter.begin(shape.info(role))
    for index, value in enumerate(data.draw(st.lists(st.lists(record, max_size=2) | record, max_size=4))):
        state = shape.adapter.parse(Record(value, b"", index, at), state).state
        assert len(msgspec.msgpack.encode(state)) < MAX_STATE_BYTES


@each_role
@pytest.mark.parametrize("text", ["\ud800", "\U0001f600" * 20_000])
def test_no_text_makes_the_state_large_or_impossible_to_encode(shape: Shape, role: str, text: str):
    state = shape.adapter.begin(shape.info(role))
    for index in range(40):
        record = Record(shape.large(text, index), b"", index, shape.large_at)
        state = shape.adapter.parse(record, state).state
    assert len(msgspec.msgpack.encode(state)) < MAX_STATE_BYTES
