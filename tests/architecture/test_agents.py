"""Past the archive no code names an agent: what is particular about one stands in its file or folder in `agents`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from recollect.agent_names import OWN
from recollect.agents.registry import adapters

ABOUT_AGENTS = ("agents", "agent_names.py", "integrations", "testing")
"""The agents and the tables made of their files; the glue for one program each; the builders of transcripts."""
PROSE = "insights"
"""Its patterns read what people say, and people call agents by name: only a string that is a name is one there."""
OTHER_MEANING = frozenset(("amp", "continue", "cursor", "Cursor", "slack"))
"""Names that are words of this code too: an entity of HTML, a statement, a place in a list, room to spare."""


def names() -> frozenset[str]:
    return frozenset((*OWN, *(adapter.facts.name for adapter in adapters().values()))) - OTHER_MEANING


def spoken(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Give the strings and names of a module, but not what explains it."""
    explained = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in explained:
            yield node.lineno, node.value
        elif isinstance(node, ast.Name | ast.Attribute):
            yield node.lineno, (node.id if isinstance(node, ast.Name) else node.attr).replace("_", " ")
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.arg):
            yield getattr(node, "lineno", 0), getattr(node, "name", getattr(node, "arg", "")).replace("_", " ")


def named_in(path: Path, *, is_prose: bool) -> list[str]:
    """Return where a module names an agent. A name that goes on (`-`, `_`, `/`) is one of something else."""
    one_of = "|".join(sorted(map(re.escape, names()), key=len, reverse=True))
    named = re.compile(rf"\A(?:{one_of})\Z" if is_prose else rf"(?<![\w-])(?:{one_of})(?![\w/-])")
    tree = ast.parse(path.read_text("utf-8"))
    return [f"{path.name}:{line}: {found[0]}" for line, said in spoken(tree) if (found := named.search(said))]


def test_nothing_outside_the_agents_names_one(repository: Path) -> None:
    source = repository / "src/recollect"
    found = []
    for path in sorted(source.rglob("*.py")):
        part = path.relative_to(source).parts[0]
        if part not in ABOUT_AGENTS:
            found += named_in(path, is_prose=part == PROSE)
    assert found == []


def test_a_name_is_found(tmp_path: Path) -> None:
    module = tmp_path / "planted.py"
    module.write_text("#: claude\n\n\ndef _codex_lines(agent):\n    return agent in ('zed', 'x')\n")
    assert named_in(module, is_prose=False) == ["planted.py:4: codex", "planted.py:5: zed"]
    assert named_in(module, is_prose=True) == ["planted.py:5: zed"]
