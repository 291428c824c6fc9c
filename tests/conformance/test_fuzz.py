"""Every adapter on its own fixtures, bent: it never raises, keeps the contract, and a memory of it stays whole."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.agents.claude.parse import ClaudeAdapter
from recollect.agents.claude.state import ClaudeState
from recollect.agents.guard import IDENTIFY_RAISED, RAISED, unguarded
from recollect.agents.registry import adapters
from recollect.config import AgentConfig, Config
from recollect.errors import SourceRefused
from recollect.memory import Memory, parse_file
from recollect.model.events import Event
from recollect.model.records import Parsed, Record
from recollect.testing.builders import ClaudeTranscript
from recollect.testing.conformance import check_records
from recollect.testing.fixtures import fixtures_in
from tests.conformance.fuzz import FIXTURES, bent, chosen, lay_out_bent, records_in, sources
from tests.examples import tried

SLUGS = sorted({fixture.agent for fixture in fixtures_in(FIXTURES)} & adapters().keys())
EXAMPLES = tried(100)
FIXTURES_PER_SYNC = 4
HEAD_BYTES = 64 * 1024
ODD = (b"", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b'"', b"\\ud800")


@pytest.mark.parametrize("slug", SLUGS)
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), seed=st.integers(0, 2**32), count=st.integers(1, 5))
def test_a_bent_source_keeps_the_contract(slug: str, data: st.DataObject, seed: int, count: int) -> None:
    found = sources(slug)
    source = found[data.draw(st.integers(0, len(found) - 1))]
    records = records_in(source, bent(source, seed, count))
    assert check_records(adapters()[slug], source.info, records) == []


@pytest.mark.parametrize("slug", SLUGS)
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), seed=st.integers(0, 2**32), odd=st.sampled_from(ODD))
def test_whose_a_file_is_can_be_asked_of_any_bytes(slug: str, data: st.DataObject, seed: int, odd: bytes) -> None:
    """A folder that is imported holds anything, and each adapter is asked about each file."""
    source = data.draw(st.sampled_from(sources(slug)))
    raw = bent(source, seed, 2)[:HEAD_BYTES]
    values = [found.end() for found in re.finditer(rb'": ?"', raw)] or [0]
    at = data.draw(st.sampled_from(values) | st.integers(0, len(raw)))
    head = raw[:at] + odd + raw[at:]
    for adapter in adapters().values():
        unguarded(adapter).recognise(source.info.path, head)
    assert isinstance(unguarded(adapters()[slug]).identify(source.info, head), str)


def test_a_parser_of_ours_that_raises_stops_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    transcript = ClaudeTranscript(tmp_path / "claude", "one")
    for said in ("first", "second", "third"):
        transcript.user(said)
    parse = ClaudeAdapter.parse

    def raising(self: ClaudeAdapter, record: Record, state: ClaudeState) -> Parsed[ClaudeState]:
        if record.index == 1:
            raise KeyError("surprise")
        return parse(self, record, state)

    monkeypatch.setattr(ClaudeAdapter, "parse", raising)
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    with Memory.open(tmp_path / "home", config=Config(), env=env) as memory:
        report = memory.sync()
        assert report.agents["claude"].defects == {RAISED: 1}
        (defect,) = memory.reader().defects(limit=9)
        assert defect.detail.startswith("KeyError in test_fuzz.py:")
        kinds = [event.kind for event in memory.events(transcript.uid)]
    assert (kinds.count("user_message"), kinds.count("unknown")) == (2, 1)


def test_an_adapter_of_ours_that_raises_when_it_is_asked_stops_nothing_and_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def raising(self: ClaudeAdapter, *_asked: object) -> str:
        raise KeyError("surprise")

    ClaudeTranscript(tmp_path / "claude", "one").user("first")
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "x.jsonl").write_text('{"a": 1}\n')
    monkeypatch.setattr(ClaudeAdapter, "identify", raising)
    monkeypatch.setattr(ClaudeAdapter, "recognise", raising)
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    with Memory.open(tmp_path / "home", config=Config(), env=env) as memory:
        assert memory.sync().agents["claude"].defects == {IDENTIFY_RAISED: 1}
        (defect,) = memory.reader().defects(limit=9)
        assert defect.detail.startswith("identify raised KeyError in test_fuzz.py:")
        assert memory.sessions().sessions
        notes = memory.take_in([tmp_path / "else"]).notes
    (note,) = [note for note in notes if "raised" in note]
    assert note.startswith("claude: recognise raised KeyError in test_fuzz.py:")
    with pytest.raises(SourceRefused, match="claude: recognise raised KeyError"):
        list(parse_file(tmp_path / "else" / "x.jsonl"))


def told(memory: Memory, uid: str) -> list[Event]:
    """Return the events of a session. Where several bent files tell it, each another story, nobody knows which of their
    rewinds came first, and so what they left behind."""
    events = list(memory.events(uid))
    if len({event.location.source_id for event in events}) == 1:
        return events
    return [msgspec.structs.replace(event, is_undone=False) for event in events]


@pytest.mark.parametrize("seed", range(2))
def test_bent_files_of_every_agent_are_taken_in_whole(seed: int, tmp_path: Path) -> None:
    config: dict[str, AgentConfig] = {}
    for slug in SLUGS:
        fixtures = chosen(slug)
        roots = []
        for number in range(FIXTURES_PER_SYNC):
            fixture = fixtures[(seed * FIXTURES_PER_SYNC + number) % len(fixtures)]
            root = tmp_path / "agents" / slug / f"{number}"
            root.mkdir(parents=True)
            lay_out_bent(fixture, root, seed * 1000 + number)
            roots.append(str(root))
        config[slug] = AgentConfig(roots=tuple(roots))
    with Memory.open(tmp_path / "home", config=Config(agents=config), env={"HOME": str(tmp_path)}) as memory:
        report = memory.sync(agents=SLUGS)
        assert report.state != "interrupted"
        assert {slug for slug in SLUGS if not report.agents[slug].events} == set()
        assert [d.detail for d in memory.reader().defects(limit=100_000) if d.code == RAISED] == []
        assert not any(d.is_loss for d in memory.maintenance.verify().defects)
        before = {s.session_uid: told(memory, s.session_uid) for s in memory.sessions(limit=5000).sessions}
        memory.maintenance.rebuild("all")
        after = {s.session_uid: told(memory, s.session_uid) for s in memory.sessions(limit=5000).sessions}
        assert after == before
