"""The configuration: typed, every mistake named, the reference true."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.config import (
    AgentConfig,
    Config,
    DistillConfig,
    FormatConfig,
    GateConfig,
    GateRuleConfig,
    IngestConfig,
    ReposConfig,
    SearchConfig,
    SecretPatternConfig,
    config_reference,
    config_toml,
    listed_config,
    load_config,
    parse_config,
)
from recollect.errors import ConfigError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FORMATS = st.builds(
    FormatConfig,
    name=TEXT,
    container=st.sampled_from(("jsonl", "snapshot", "text", "sqlite")),
    patterns=st.lists(TEXT, max_size=3).map(tuple),
    role=TEXT,
    skip=st.lists(TEXT, max_size=3).map(tuple),
)
RULES = st.builds(
    GateRuleConfig,
    id=TEXT.filter(bool),
    category=st.sampled_from(("choice", "rejection", "ban")),
    pattern=TEXT,
    strength=st.sampled_from(("strong", "soft")),
)
CONFIGS = st.builds(
    Config,
    agents=st.dictionaries(
        TEXT,
        st.builds(
            AgentConfig,
            enabled=st.booleans(),
            roots=st.lists(TEXT, max_size=3).map(tuple),
            variables=st.dictionaries(TEXT, TEXT, max_size=3),
            format=st.none() | FORMATS,
        ),
        max_size=3,
    ),
    repos=st.builds(ReposConfig, domains=st.dictionaries(TEXT, TEXT, max_size=3)),
    search=st.builds(SearchConfig, limit=st.integers(1, 1000)),
    ingest=st.builds(IngestConfig, workers=st.integers(0, 256), slice_bytes=st.integers(1 << 16, 1 << 26)),
    distill=st.builds(DistillConfig, enabled=st.booleans(), task_patterns=st.lists(TEXT, max_size=2).map(tuple)),
    gate=st.builds(GateConfig, rules=st.lists(RULES, max_size=3).map(tuple)),
)


def refusal(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse_config(tomllib.loads(text))
    return caught.value


def test_a_missing_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load_config(tmp_path / "none.toml") == Config()


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "config.toml").touch()
    assert load_config(tmp_path / "config.toml") == Config()


def test_the_users_file_is_read_by_default(isolated_home: Path) -> None:
    (isolated_home / "recollect").mkdir()
    (isolated_home / "recollect" / "config.toml").write_text("[search]\nlimit = 25\n")
    assert load_config().search.limit == 25


def test_an_agent_without_a_table_has_the_defaults() -> None:
    assert Config().agent("codex") == AgentConfig()


def test_an_agent_takes_roots_variables_and_a_switch() -> None:
    text = '[agents.codex]\nenabled = false\nroots = ["/mnt/a"]\nvariables = { CODEX_HOME = "~/c" }\n'
    expected = AgentConfig(enabled=False, roots=("/mnt/a",), variables={"CODEX_HOME": "~/c"})
    assert parse_config(tomllib.loads(text)).agent("codex") == expected


def test_an_unknown_key_names_its_path_and_the_nearest_known_one() -> None:
    error = refusal("[search]\nlimti = 3\n")
    assert error.key == "search.limti"
    assert "did you mean `search.limit`" in str(error)


def test_an_unknown_table_names_the_known_ones() -> None:
    error = refusal("[serach]\nlimit = 3\n")
    assert error.allowed == Config.__struct_fields__
    assert "did you mean `search`" in str(error)


def test_patterns_of_ones_own_are_read() -> None:
    text = '[privacy]\nallow = ["AKIA.*EXAMPLE"]\n[[privacy.patterns]]\nname = "acme"\npattern = "acme_[0-9]{9}"\n'
    privacy = parse_config(tomllib.loads(text)).privacy
    assert privacy.patterns == (SecretPatternConfig(name="acme", pattern="acme_[0-9]{9}"),)
    assert privacy.allow == ("AKIA.*EXAMPLE",)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[[privacy.patterns]]\nname = "a"\npattern = "x("\n', "privacy.patterns.1.pattern"),
        ('[[privacy.patterns]]\nname = "a"\npattern = "x*"\n', "privacy.patterns.1.pattern"),
        ('[[privacy.patterns]]\nname = "A key"\npattern = "xyz"\n', "privacy.patterns.1.name"),
        ('[privacy]\nallow = ["fine", "[z-a]"]\n', "privacy.allow.2"),
        ('[privacy]\nallow = ["[[a]"]\n', "privacy.allow.1"),
        ('[[privacy.patterns]]\nname = "a"\n', "privacy.patterns.1"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_by_name(text: str, key: str) -> None:
    assert refusal(text).key == key


def test_an_unknown_key_of_an_agent_is_found_in_its_table() -> None:
    assert refusal("[agents.codex]\nenabeld = true\n").key == "agents.codex.enabeld"


def test_an_unknown_key_of_a_format_is_found_in_its_table() -> None:
    error = refusal('[agents.a.format]\nrol = "who"\n')
    assert error.key == "agents.a.format.rol"
    assert "did you mean `agents.a.format.role`" in str(error)


def test_rules_are_tables_in_a_list() -> None:
    config = parse_config(tomllib.loads('[[gate.rules]]\nid = "a"\npattern = "x"\n[[gate.rules]]\nid = "b"\n'))
    assert config.gate.rules == (GateRuleConfig("a", pattern="x"), GateRuleConfig("b"))
    assert config == parse_config(tomllib.loads(config_toml(config)))


def test_an_unknown_key_of_a_rule_is_found_in_its_table() -> None:
    error = refusal('[[gate.rules]]\nid = "a"\npatern = "x"\n')
    assert error.key == "gate.rules.1.patern"
    assert "did you mean `gate.rules.1.pattern`" in str(error)


def test_formats_are_given_as_plain_values() -> None:
    config = parse_config(tomllib.loads('[agents.a.format]\nrole = "who"\n[agents.b]\n'))
    assert list(config.formats()) == ["a"]
    assert config.formats()["a"]["role"] == "who"
    assert config == parse_config(tomllib.loads(config_toml(config)))


STRENGTHS = 'one of "soft", "strong"'
CONTAINERS = 'one of "jsonl", "snapshot", "sqlite", "text"'


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ('[search]\nlimit = "many"', "search.limit", "a whole number from 1 to 1000"),
        ("[search]\nlimit = 0", "search.limit", "a whole number from 1 to 1000"),
        ("[search]\nlimit = true", "search.limit", "a whole number from 1 to 1000"),
        ("[ingest]\nworkers = 1.5", "ingest.workers", "a whole number from 0 to 256"),
        ('[agents.a]\nenabled = "yes"', "agents.a.enabled", "true or false"),
        ('[agents.a]\nroots = "x"', "agents.a.roots", "a list, each item a string in quotes"),
        ("[agents.a]\nroots = [1]", "agents.a.roots", "a list, each item a string in quotes"),
        ('[agents.a.format]\ncontainer = "yaml"', "agents.a.format.container", CONTAINERS),
        ("[agents.a.format]\ncontainer = []", "agents.a.format.container", CONTAINERS),
        ("[agents.a.format]\npatterns = [1]", "agents.a.format.patterns", "a list, each item a string in quotes"),
        ("[agents.a]\nformat = 3", "agents.a.format", "a table"),
        ("[agents.a.variables]\nX = 1", "agents.a.variables.X", "a string in quotes"),
        (
            "[distill]\nidle_seconds = -1",
            "distill.idle_seconds",
            'a whole number from 0 to 604800, or a text with a unit such as "30 s"',
        ),
        ("[learning]\nsession_budget_usd = -0.01", "learning.session_budget_usd", "a number from 0 to 100"),
        ("[learning]\nsession_budget_usd = true", "learning.session_budget_usd", "a number from 0 to 100"),
        ("[learning]\nday_budget_usd = inf", "learning.day_budget_usd", "a number from 0 to 10000"),
        (
            "[learning]\nday_budget_usd = 0.5\ntimeout_s = 0",
            "learning.timeout_s",
            'a whole number from 1 to 600, or a text with a unit such as "30 s"',
        ),
        ("[learning]\nday_budget_tokens = -1", "learning.day_budget_tokens", "a whole number from 0"),
        (
            '[learning]\ninput_usd_per_million = "free"',
            "learning.input_usd_per_million",
            'a number from 0 to 100000 or "listed"',
        ),
        ('[[gate.rules]]\npattern = "x"', "gate.rules.1", "a table with `id`"),
        ('[[gate.rules]]\nid = ""', "gate.rules.1.id", "a string in quotes, not empty"),
        ('[[gate.rules]]\nid = "a"\n[[gate.rules]]\nid = "b"\nstrength = "huge"', "gate.rules.2.strength", STRENGTHS),
        ("[gate]\nrules = 3", "gate.rules", "a list, each item a table with `id`"),
        ("agents = 3", "agents", "a table, each value a table"),
        ("[repos]\ndomains = 2026-01-01", "repos.domains", "a table, each value a string in quotes"),
    ],
)
def test_a_wrong_value_names_its_key_and_what_is_allowed(text: str, key: str, allowed: str) -> None:
    error = refusal(text)
    assert (error.key, error.allowed) == (key, (allowed,))
    assert key in str(error)
    assert "\n" not in str(error)
    assert not str(error).endswith("not a table")


@pytest.mark.parametrize("content", [b"limit = ", b"\xff\xfe", b"[a]\n[a]\n", b"\x00"])
def test_a_file_that_is_not_toml_is_one_line_that_names_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(path) in str(caught.value)


def test_a_directory_in_its_place_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        load_config(tmp_path)


def test_the_reference_loads_to_exactly_the_defaults() -> None:
    assert parse_config(tomllib.loads(config_reference())) == Config()


def test_the_reference_shows_every_key_with_a_text() -> None:
    lines = config_reference().splitlines()
    for struct in (AgentConfig, FormatConfig, ReposConfig, SearchConfig, IngestConfig):
        for field in msgspec.structs.fields(struct):
            begin = "[agents.SLUG.format]" if field.name == "format" else f"{field.name} = "
            at = next(i for i, line in enumerate(lines) if line.removeprefix("# ").startswith(begin))
            assert lines[at - 1].startswith("# ")


@given(config=CONFIGS, with_docs=st.booleans())
def test_any_configuration_survives_its_toml(config: Config, with_docs: bool) -> None:
    assert parse_config(tomllib.loads(config_toml(config, with_docs=with_docs))) == config


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
TABLES = st.dictionaries(st.sampled_from(["agents", "repos", "search", "ingest", "x"]), VALUES, max_size=3)


@given(table=TABLES)
def test_any_table_is_a_configuration_or_a_configuration_error(table: dict[str, object]) -> None:
    refused = None
    try:
        parse_config(table)
    except ConfigError as error:
        refused = error
    assert refused is None or (refused.key and "\n" not in str(refused))


def test_every_key_is_listed_with_where_its_value_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[search]\nlimit = 3\n[agents.claude]\nroots = ["/x"]\n')
    entries = {one.key: one for one in listed_config(load_config(path), path)}
    assert (entries["search.limit"].value, entries["search.limit"].origin) == ("3", "file")
    assert (entries["agents.claude.roots"].value, entries["agents.claude.roots"].origin) == ('["/x"]', "file")
    assert entries["agents.claude.enabled"].origin == "default"
    assert all(one.text for one in entries.values())
    for one in listed_config(Config(), None):
        assert (one.value, one.origin) == (one.default, "default")
        assert not one.allowed or f"{one.key.rpartition('.')[2]} = {one.value}" in config_toml(Config())
