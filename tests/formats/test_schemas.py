"""The JSON that others build on: every schema that `recollect schema` prints is a reviewed file."""

from __future__ import annotations

import json

import pytest

from recollect.cli.commands.config import result_types, schema_of
from tests.formats.goldens import FOLDER, is_golden

NAMES = sorted(result_types())


@pytest.mark.golden
@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_the_reviewed_one(name: str) -> None:
    written = json.dumps(schema_of(result_types()[name]), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    assert is_golden(f"schema/{name}.json", written), "others build on this shape; if it may change: `make goldens`"


def test_no_reviewed_schema_is_left_of_a_result_that_is_gone() -> None:
    assert sorted(path.stem for path in (FOLDER / "schema").glob("*.json")) == NAMES


SEARCH_HIT = ("session_uid", "event_id", "seq", "agent", "ts", "kind", "score", "snippet", "match_level",
              "root_session_uid", "part", "more_in_session")  # fmt: skip
"""The fields of a hit that are promised to stay."""


def test_the_promised_fields_of_search_and_verify_are_there() -> None:
    search = schema_of(result_types()["search"])["$defs"]
    assert set(SEARCH_HIT) <= set(search["Hit"]["properties"])
    answer = {"hits", "total", "match_level", "left_out", "notes", "abstained", "took_ms"}
    assert answer <= set(search["SearchAnswer"]["properties"])
    verify = schema_of(result_types()["verify"])["$defs"]["VerifyReport"]
    assert {"ok", "sources", "records", "events", "defects"} <= set(verify["properties"])
