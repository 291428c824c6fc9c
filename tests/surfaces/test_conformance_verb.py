"""The conformance suite from outside: a good adapter passes, and each of its rules is shown to fail."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.agents import registry
from recollect.agents.guard import usable
from recollect.agents.kit.adapter import BaseState
from recollect.archive.archive import Archive
from recollect.ingest.plan import Planner
from recollect.memory import Memory
from recollect.model.events import Draft
from recollect.model.payloads import Lifecycle, SessionStart, TokenUsage, Unknown
from recollect.model.records import Parsed, Record, SourceInfo
from recollect.store.reader import Reader
from recollect.testing.suite import ALL, run_all
from tests.cli.conftest import recollect
from tests.surfaces.strangers import program

__all__ = ["recollect"]
TEMPLATE = Path(__file__).resolve().parents[2] / "docs/how-to/template-agent"
sys.path.insert(0, str(TEMPLATE / "src"))

from myagent.parse import MyAgentAdapter  # noqa: E402 - stands in the template, which is not installed

sys.path.remove(str(TEMPLATE / "src"))

MODULE = "myagent.parse:MyAgentAdapter"


class Changing(MyAgentAdapter):
    """Gives what the template gives, each event changed by `change`, which may leave it out."""

    numbers = itertools.count()

    def parse(self, record: Record, state: Any) -> Parsed[Any]:
        parsed = super().parse(record, state)
        changed = [self.change(draft) for draft in parsed.events]
        return msgspec.structs.replace(parsed, events=tuple(d for d in changed if d is not None))

    def change(self, draft: Draft) -> Draft | None:
        return draft

    def number(self) -> str:
        """Return something that never comes again."""
        return str(next(self.numbers))


class Forgets(Changing):
    """Gives nothing of a result."""

    def change(self, draft: Draft) -> Draft | None:
        return None if draft.role == "tool" else draft


class Counts(Changing):
    """Names events by what it has seen before, which is neither in the record nor in the state."""

    def change(self, draft: Draft) -> Draft:
        return msgspec.structs.replace(draft, native_id=self.number())


class Undeclared(Changing):
    """Does not say that it gives unknown records."""

    facts = msgspec.structs.replace(
        MyAgentAdapter.facts,
        capabilities=msgspec.structs.replace(
            MyAgentAdapter.facts.capabilities,
            kinds=tuple(k for k in MyAgentAdapter.facts.capabilities.kinds if k != "unknown"),
        ),
    )


class Timeless(Changing):
    """Says that a time is exact and gives none."""

    def change(self, draft: Draft) -> Draft:
        return msgspec.structs.replace(draft, ts=None, ts_quality="exact")


class Spending(Changing):
    """Gives a response another key at every sighting."""

    def change(self, draft: Draft) -> Draft:
        if not isinstance(draft.payload, TokenUsage):
            return draft
        return msgspec.structs.replace(draft, payload=msgspec.structs.replace(draft.payload, dedupe_key=self.number()))


class Thrifty(Changing):
    """Leaves the usage out."""

    def change(self, draft: Draft) -> Draft | None:
        return None if isinstance(draft.payload, TokenUsage) else draft


class Silent(Changing):
    """Leaves unknown things out and does not count them."""

    def parse(self, record: Record, state: Any) -> Parsed[Any]:
        return msgspec.structs.replace(super().parse(record, state), drift=())

    def change(self, draft: Draft) -> Draft | None:
        return None if isinstance(draft.payload, Unknown) else draft


class Orphaning(Changing):
    """Does not say whose subagent a session is."""

    def change(self, draft: Draft) -> Draft | None:
        return None if isinstance(draft.payload, SessionStart) else draft


class Muting(Changing):
    """Gives of a subagent's session the beginning only."""

    def change(self, draft: Draft) -> Draft | None:
        return draft if draft.role != "assistant" or "call" in str(type(draft.payload)).lower() else None


class Patient(Changing):
    """Leaves interruptions out."""

    def change(self, draft: Draft) -> Draft | None:
        return None if isinstance(draft.payload, Lifecycle) else draft


class Raises(Changing):
    """Raises on a result."""

    def parse(self, record: Record, state: Any) -> Parsed[Any]:
        if isinstance(record.value, dict) and record.value.get("type") == "result":
            raise KeyError("exit_code")
        return super().parse(record, state)


class Elsewhere(Changing):
    """Looks into another folder."""

    facts = msgspec.structs.replace(
        MyAgentAdapter.facts,
        places=(msgspec.structs.replace(MyAgentAdapter.facts.places[0], patterns=("chats/*.jsonl",)),),
    )

    def recognise(self, path: str, head: bytes) -> str | None:
        return None


BROKEN: tuple[tuple[type[MyAgentAdapter], str, tuple[str, ...]], ...] = (
    (Forgets, "tool", ("the shape is ['user: Run the tests.', 'call: shell', 'assistant: All three pass.']",)),
    (
        Counts,
        "tool",
        (
            "growing in pieces gives other events: missing [",
            "a copy of the files gave further events",
            "a rebuild from the archive gave other events",
        ),
    ),
    (Undeclared, "unknown_record", ("the kind unknown is not declared",)),
    (Timeless, "dialogue", ("myagent:one: a time and its quality contradict each other",)),
    (Spending, "usage", ("one response is counted 2 times", "usage is counted twice")),
    (Thrifty, "usage", ("no token usage came",)),
    (
        Silent,
        "unknown_record",
        (
            "the record of type from_the_future is not kept as unknown",
            "the type from_the_future is not counted as drift",
            "the field novelty is not counted as drift",
        ),
    ),
    (Orphaning, "subagent", ("no session says whose subagent it is",)),
    (Muting, "subagent", ("the subagent's session does not hold what it said",)),
    (Patient, "interruption", ("nothing says that the turn was interrupted",)),
    (Raises, "tool", ("the parser raised KeyError in ",)),
    (Elsewhere, "dialogue", ("no place of the adapter matches sessions/one.jsonl",)),
)


@pytest.fixture
def fixtures(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that copies scenarios of the template into a folder of fixtures."""

    def copy(*scenarios: str, as_scenario: str = "") -> Path:
        for scenario in scenarios:
            source = TEMPLATE / "fixtures/myagent/1.0" / scenario
            shutil.copytree(source, tmp_path / "fixtures/myagent/1.0" / (as_scenario or scenario))
        return tmp_path / "fixtures"

    return copy


def problems(adapter: Any, folder: Path, work: Path) -> list[str]:
    """Return what is wrong with an adapter, without what is said of all fixtures together."""
    return [p for result in run_all(usable(adapter), folder, work) if result.fixture != ALL for p in result.problems]


@pytest.mark.parametrize(("adapter", "scenario", "said"), BROKEN, ids=[adapter.__name__ for adapter, *_ in BROKEN])
def test_a_rule_that_is_broken_is_said(
    adapter: type[MyAgentAdapter], scenario: str, said: tuple[str, ...], fixtures: Callable[..., Path], tmp_path: Path
) -> None:
    found = problems(adapter, fixtures(scenario), tmp_path / "work")
    assert [one for one in said if not any(problem.startswith(one) for problem in found)] == [], found


def test_a_fork_must_say_what_it_came_from(fixtures: Callable[..., Path], tmp_path: Path) -> None:
    found = problems(MyAgentAdapter, fixtures("dialogue", as_scenario="fork"), tmp_path / "work")
    assert "no session says what it was forked from" in found


def test_a_kind_that_no_fixture_shows_is_said(fixtures: Callable[..., Path], tmp_path: Path) -> None:
    last = run_all(MyAgentAdapter(), fixtures("dialogue"), tmp_path / "work")[-1]
    assert last.fixture == ALL
    assert "the kind file_edit is declared, but no fixture shows it" in last.problems


def test_a_file_that_could_not_be_taken_is_said(fixtures: Callable[..., Path], tmp_path: Path) -> None:
    folder = fixtures("dialogue")
    odd = folder / "myagent/1.0/dialogue/sessions/two.jsonl/inside.txt"
    odd.parent.mkdir()
    odd.write_text("x")
    assert "not taken: two.jsonl is a folder, not a file" in problems(MyAgentAdapter, folder, tmp_path / "work")


def test_bytes_that_are_lost_are_said(
    fixtures: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Archive.iter_bytes

    def shortened(self: Archive, places: Any) -> Iterator[bytes]:
        yield b"".join(whole(self, places))[:-1]

    monkeypatch.setattr(Archive, "iter_bytes", shortened)
    found = problems(MyAgentAdapter, fixtures("dialogue"), tmp_path / "work")
    assert "one.jsonl is not given back byte for byte" in found


def test_a_stored_record_that_is_lost_is_said(
    fixtures: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Archive.iter_bytes

    def shortened(self: Archive, places: Any) -> Iterator[bytes]:
        yield b"".join(whole(self, places)).rsplit(b"\n", 2)[0]

    monkeypatch.setattr(Archive, "iter_bytes", shortened)
    found = problems(MyAgentAdapter, fixtures("dialogue"), tmp_path / "work")
    assert any(problem.startswith("verify: record") for problem in found), found


def test_a_number_that_is_left_out_is_said(
    fixtures: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Reader.events

    def holed(self: Reader, *of: Any, **options: Any) -> Iterator[Any]:
        return (event for event in whole(self, *of, **options) if event.seq != 1)

    monkeypatch.setattr(Reader, "events", holed)
    found = problems(MyAgentAdapter, fixtures("dialogue"), tmp_path / "work")
    assert "myagent:one: seq does not rise by one from 0" in found


def test_a_sync_that_takes_in_again_what_it_has_is_said(
    fixtures: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Planner, "_looks_unchanged", lambda self, row, item: False)
    monkeypatch.setattr(Planner, "_changed", lambda self, row, item: self._new_revision(row, item))
    found = problems(MyAgentAdapter, fixtures("dialogue"), tmp_path / "work")
    assert "a second sync ingested something again" in found


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (lambda events: [*events, *events], "myagent:one: two events have one name"),
        (
            lambda events: [msgspec.structs.replace(event, seq=0) for event in events],
            "myagent:one: two events have one seq",
        ),
    ],
)
def test_events_that_share_a_name_or_a_number_are_said(
    order: Callable[[list[Any]], list[Any]],
    said: str,
    fixtures: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = Memory.events
    monkeypatch.setattr(Memory, "events", lambda self, uid: order(list(whole(self, uid))))
    assert said in problems(MyAgentAdapter, fixtures("dialogue"), tmp_path / "work")


def test_an_adapter_is_known_only_while_it_is_checked(fixtures: Callable[..., Path], tmp_path: Path) -> None:
    run_all(MyAgentAdapter(), fixtures("dialogue"), tmp_path / "work")
    assert "myagent" not in registry.adapters()


@pytest.mark.parametrize(
    "loaded",
    [object(), type("Bare", (), {}), type("Stateless", (MyAgentAdapter,), {"state_type": dict})],
    ids=["object", "class", "state"],
)
def test_what_is_no_adapter_is_refused(loaded: Any) -> None:
    with pytest.raises(TypeError, match=r"is no adapter|is no msgspec\.Struct"):
        usable(loaded)


def test_an_adapter_that_cannot_begin_is_refused() -> None:
    class Late(MyAgentAdapter):
        def begin(self, info: SourceInfo) -> Any:
            raise LookupError(info.role)

    with pytest.raises(LookupError):
        usable(Late)
    assert isinstance(usable(MyAgentAdapter).begin(SourceInfo("myagent", "transcript", "x")), BaseState)


# The verb.


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder whose modules can be imported, also by the verb."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(TEMPLATE / "src"))
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_a_broken_rule_ends_with_3_and_is_said(
    recollect: Callable[..., Any], fixtures: Callable[..., Path], modules: Path
) -> None:
    (modules / "forgetful.py").write_text(
        "from myagent.parse import MyAgentAdapter\n"
        "class Forgetful(MyAgentAdapter):\n"
        "    def read(self, reading):\n"
        "        if reading.value.get('type') != 'result':\n"
        "            super().read(reading)\n"
    )
    folder = fixtures("tool", "unicode")
    found = recollect("conformance", "forgetful:Forgetful", str(folder))
    assert found.code == 3
    assert "broken   myagent/1.0/tool\n         the shape is [" in found.out
    assert "ok       myagent/1.0/unicode" in found.out
    data = recollect("conformance", "forgetful:Forgetful", str(folder), "--json")
    assert data.code == 3
    assert [(r["fixture"], bool(r["problems"])) for r in data.data["results"]] == [
        ("myagent/1.0/tool", True), ("myagent/1.0/unicode", False), (ALL, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("nowhere.adapter:Adapter", "cannot load nowhere.adapter:Adapter: No module named 'nowhere'"),
        ("myagent.parse:Gone", "has no attribute 'Gone'"),
        ("myagent.declare:FACTS", "AgentFacts is no adapter"),
        ("burning:Adapter", "cannot load burning:Adapter: on fire"),
        ("nobody", "no agent called 'nobody'"),
    ],
)
def test_an_adapter_that_cannot_be_loaded_ends_with_2(
    recollect: Callable[..., Any], fixtures: Callable[..., Path], modules: Path, module: str, said: str
) -> None:
    (modules / "burning.py").write_text("raise RuntimeError('on fire')\n")
    found = recollect("conformance", module, str(fixtures("dialogue")))
    assert found.code == 2
    assert said in found.err


def test_a_folder_without_fixtures_of_the_agent_ends_with_2(
    recollect: Callable[..., Any], modules: Path, tmp_path: Path
) -> None:
    found = recollect("conformance", MODULE, str(tmp_path))
    assert found.code == 2
    assert "no fixture of this agent" in found.err
    assert recollect("conformance", MODULE, str(tmp_path / "gone")).code == 2


def test_one_of_our_own_agents_is_checked_by_its_slug(recollect: Callable[..., Any], repository: Path) -> None:
    found = recollect("conformance", "slack", str(repository / "tests/conformance/fixtures"), "--json")
    assert found.code == 0, found.out


def test_a_described_agent_is_checked_by_its_slug(
    recollect: Callable[..., Any], isolated_home: Path, tmp_path: Path
) -> None:
    (isolated_home / "recollect").mkdir()
    (isolated_home / "recollect/config.toml").write_text('[agents.mine.format]\nrole = "who"\n')
    path = tmp_path / "fixtures/mine/1/unicode/one.jsonl"
    path.parent.mkdir(parents=True)
    said = ({"who": "user", "content": "Grüße, 世界 👋"}, {"who": "assistant", "content": "Καλημέρα"})
    path.write_text("".join(json.dumps(line) + "\n" for line in said))
    try:
        first, _ = recollect("conformance", "mine", str(tmp_path / "fixtures"), "--json").data["results"]
    finally:
        registry.adapters().pop("mine", None)
    assert first == {"fixture": "mine/1/unicode", "problems": []}


def test_the_verb_runs_as_a_program_of_its_own(fixtures: Callable[..., Path]) -> None:
    done = program("conformance", MODULE, str(fixtures("unicode")), "--json", beside=TEMPLATE / "src")
    assert (done.returncode, done.stderr) == (3, "")
    assert json.loads(done.stdout)["results"][0] == {"fixture": "myagent/1.0/unicode", "problems": []}
