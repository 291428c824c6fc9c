"""The fast reading of times gives what the general one gives."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.kit.values import instant
from recollect.model.time import parse_any


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59)))
def test_the_common_form_is_read_exactly(at: datetime) -> None:
    written = f"{at.isoformat(timespec='milliseconds')}Z"
    assert instant(written) == parse_any(written)
    assert instant(written) is not None


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text("0123456789-:.TZW", max_size=26))
def test_any_value_is_read_as_the_general_way_reads_it(value: object) -> None:
    assert instant(value) == parse_any(value)


@pytest.mark.parametrize(
    "written", ["2026-W31-6T09:00:00.000Z", "2026-08-01T09:00:60.000Z", "2026-13-01T09:00:00.000Z"]
)
def test_odd_texts_of_the_common_length_are_read_as_the_general_way_reads_them(written: str) -> None:
    assert instant(written) == parse_any(written)
