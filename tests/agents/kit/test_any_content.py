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
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.slug)


@each_shape
@given(data=st.data())
def test_known_fields_with_anything_in_them_keep_the_contract(shape: Shape, data: st.DataObject):
    """As records, and as elements of a document that was split; in each role, for to draw costs more than to parse."""
    values = data.draw(st.lists(st.lists(shape.records, max_size=2) | shape.records, max_size=4))
    at = data.draw(st.sampled_from(shape.places))
    for role in shape.roles:
        assert check_adapter(shape.adapter, shape.info(role), values) == [], role
        state = shape.adapter.begin(shape.info(role))
        for index, value in enumerate(values):
            state = shape.adapter.parse(Record(value, b"", index, at), state).state
            assert len(msgspec.msgpack.encode(state)) < MAX_STATE_BYTES, role


@pytest.mark.parametrize(("shape", "role"), [pytest.param(s, r, id=f"{s.slug}-{r}") for s in SHAPES for r in s.roles])
@pytest.mark.parametrize("text", ["\ud800", "\U0001f600" * 20_000])
def test_no_text_makes_the_state_large_or_impossible_to_encode(shape: Shape, role: str, text: str):
    state = shape.adapter.begin(shape.info(role))
    for index in range(40):
        record = Record(shape.large(text, index), b"", index, shape.large_at)
        state = shape.adapter.parse(record, state).state
    assert len(msgspec.msgpack.encode(state)) < MAX_STATE_BYTES
