"""Names, packages and sizes follow concepts. `exceptions.toml` lists what breaks a rule today, and only shrinks.

A new module never goes on that list: give it another name or another place. Who mends an old one strikes its line.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

MODULE_LINES = 600
FUNCTION_LINES = 60
OLD_WORDS = (
    "anew", "asked", "aside", "beside", "desk", "door", "drop", "drops", "firing", "firings", "given", "lane", "means",
    "mend", "sides", "stranger", "strangers", "taking", "told", "upkeep", "wish",
)  # fmt: skip
"""Words that the field does not use for what they named here: a spooled event was a drop, a tool handler a desk."""
FAMILIES = ("agents/", "capture/containers/", "cli/commands/")
"""Folders of one part for each agent, each container, each command: they may be small, deep and named alike."""
LEAST_MODULES = 4
MOST_LEVELS = 3
MOST_OF_ONE_NAME = 3
IMPLEMENTED_OUTSIDE = {"FolderEntry": "os.DirEntry"}
"""Protocols of which another library has an implementation."""
NOUNS = (
    "embedding",
    "keyring",
    "learning",
    "meaning",
    "pending",
    "pricing",
    "ranking",
    "spelling",
    "spending",
    "staging",
)
"""What ends like a gerund and is the usual name of a thing."""
Sources = Mapping[str, ast.Module]
"""The syntax trees of a package by path below it: `ingest/sync.py`."""


def gerunds(sources: Sources) -> Iterator[str]:
    """Modules are named with nouns for what they hold, or with the verb of their stage."""
    ends = {path: re.split(r"[/_]", path.removesuffix(".py"))[-1] for path in sources}
    return (path for path, word in ends.items() if word.endswith("ing") and word not in NOUNS)


def old_words(sources: Sources) -> Iterator[str]:
    """Modules and classes are named with the words of the field."""
    for path, tree in sources.items():
        if set(re.findall(r"[a-z]+", path.removesuffix(".py"))) & set(OLD_WORDS):
            yield path
        for name in classes(tree):
            if {word.lower() for word in re.findall(r"[A-Z][a-z]+", name)} & set(OLD_WORDS):
                yield f"{path}::{name}"


def repeated_class_names(sources: Sources) -> Iterator[str]:
    """A class name says which class it is, in whatever module it stands."""
    count = Counter(name for tree in sources.values() for name in classes(tree) if not name.startswith("_"))
    return (name for name, times in count.items() if times > 1)


def single_modules(sources: Sources) -> Iterator[str]:
    """A package has more than one part: one module alone is a module, not a package. An agent has a folder anyway."""
    inside: dict[str, set[str]] = {}
    for path in sources:
        parent, _, name = path.rpartition("/")
        inside.setdefault(parent, set()).add(name)
        if name == "__init__.py":
            inside.setdefault(parent.rpartition("/")[0], set()).add(parent)
    alone = (parent for parent, names in inside.items() if len(names - {"__init__.py"}) == 1)
    return (parent for parent in alone if not parent.startswith(FAMILIES))


def small_folders(sources: Sources) -> Iterator[str]:
    """A folder gathers enough to be worth a level; a few modules are modules of the folder above it."""
    inside = Counter(parent for path in sources for parent in parents_of(path))
    yield from (parent for parent, number in inside.items() if parent and number < LEAST_MODULES)


def parents_of(path: str) -> Iterator[str]:
    """Yield the folder that a module, or the package that an `__init__` makes, counts for; none in a family."""
    part = path.removesuffix("/__init__.py")
    if not path.startswith(FAMILIES):
        yield part.rpartition("/")[0]


def deep_folders(sources: Sources) -> Iterator[str]:
    """Nothing lies more than three levels down."""
    folders = {path.rpartition("/")[0] for path in sources if not path.startswith(FAMILIES)}
    return (folder for folder in folders if folder.count("/") + 2 > MOST_LEVELS)


def repeated_module_names(sources: Sources) -> Iterator[str]:
    """The name of a module says which it is."""
    names = Counter(path.rpartition("/")[2] for path in sources if not path.startswith(FAMILIES))
    return (name for name, times in names.items() if times > MOST_OF_ONE_NAME and not name.startswith("__"))


def lone_protocols(sources: Sources) -> Iterator[str]:
    """A Protocol stands for two implementations at least; where there is one, that is what is meant."""
    bodies = {n.name: n for tree in sources.values() for n in statements(tree) if isinstance(n, ast.ClassDef)}
    have = {name: frozenset(members_of(node, bodies)) for name, node in bodies.items() if not is_protocol(node)}
    for path, tree in sources.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and is_protocol(node):
                wanted = set(members_of(node, bodies))
                found = sum(wanted <= names for names in have.values()) + (node.name in IMPLEMENTED_OUTSIDE)
                if found < 2 and wanted - {"__call__"}:
                    yield f"{path}::{node.name}"


def is_protocol(node: ast.ClassDef) -> bool:
    return "Protocol" in names_of(node.bases)


def names_of(nodes: Iterable[ast.expr]) -> set[str]:
    plain = (node.value if isinstance(node, ast.Subscript) else node for node in nodes)
    return {node.id for node in plain if isinstance(node, ast.Name)}


def members_of(node: ast.ClassDef, bodies: Mapping[str, ast.ClassDef]) -> Iterator[str]:
    """Yield the names that a class has: methods, fields, what methods set, and what its bases have."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inner.name
        elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
            yield inner.target.id
        elif isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            yield inner.attr
    for named in node.body:
        if isinstance(named, ast.Assign):
            yield from names_of(named.targets)
    for base in names_of(node.bases) & bodies.keys() - {node.name}:
        yield from members_of(bodies[base], bodies)


def database_imports(sources: Sources) -> Iterator[str]:
    """Only the store knows what it is stored in, and `capture` reads the databases of agents."""
    for path, tree in sources.items():
        names = [alias.name for n in statements(tree) if isinstance(n, ast.Import) for alias in n.names]
        names += [n.module or "" for n in statements(tree) if isinstance(n, ast.ImportFrom)]
        if not path.startswith(("store/", "capture/")) and any(name.split(".")[0] == "apsw" for name in names):
            yield path


def packages_without_a_sentence(sources: Sources) -> Iterator[str]:
    """A package says in one sentence what it is for."""
    for path, tree in sources.items():
        if path.endswith("__init__.py"):
            first = (ast.get_docstring(tree) or "").partition("\n")[0]
            if not re.fullmatch(r"(?:(?![.] ).){20,}[.]", first):
                yield path


def long_modules(sources: Sources) -> Iterator[str]:
    """A module can be read in one sitting."""
    return (path for path, tree in sources.items() if tree.body and (tree.body[-1].end_lineno or 0) > MODULE_LINES)


def long_functions(sources: Sources) -> Iterator[str]:
    """A function fits a screen."""
    for path, tree in sources.items():
        for node in statements(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines_of(node) > FUNCTION_LINES:
                yield f"{path}::{node.name}"


def lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield every statement at any depth; what stands in expressions, which is most of a tree, is left out."""
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for node in getattr(tree, part, ()) if not isinstance(tree, ast.expr) else ():
            if isinstance(node, ast.stmt):
                yield node
            yield from statements(node)


def classes(tree: ast.Module) -> Iterator[str]:
    return (node.name for node in tree.body if isinstance(node, ast.ClassDef))


RULES: dict[str, Callable[[Sources], Iterator[str]]] = {
    rule.__name__: rule
    for rule in (
        gerunds, old_words, repeated_class_names, repeated_module_names, single_modules, small_folders, deep_folders,
        lone_protocols, database_imports, packages_without_a_sentence, long_modules, long_functions,
    )
}  # fmt: skip


@pytest.fixture(scope="module")
def package(repository: Path) -> Sources:
    """Not kept longer: a million nodes are much to look through for garbage."""
    root = repository / "src" / "recollect"
    files = [p for p in root.rglob("*.py") if "sample" not in p.relative_to(root).parts]
    return {p.relative_to(root).as_posix(): ast.parse(p.read_text("utf-8")) for p in files}


@cache
def exceptions(repository: Path) -> dict[str, list[str]]:
    return tomllib.loads((repository / "tests" / "architecture" / "exceptions.toml").read_text("utf-8"))


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_is_what_its_list_excuses(package: Sources, repository: Path, rule: str) -> None:
    assert sorted(set(RULES[rule](package))) == sorted(exceptions(repository).get(rule, []))


@pytest.mark.parametrize("root", ["tests", "benchmarks", "scripts"])
def test_modules_and_functions_beside_the_package_are_short(repository: Path, root: str) -> None:
    for path in (repository / root).rglob("*.py"):
        sources = {path.as_posix(): ast.parse(path.read_text("utf-8"))}
        assert [*long_modules(sources), *long_functions(sources)] == []


def test_every_list_belongs_to_a_rule(repository: Path) -> None:
    assert set(exceptions(repository)) <= set(RULES)


PLANTED = {
    "gerunds": ({"ingest/reading.py": ""}, "ingest/reading.py"),
    "old_words": ({"serve/desk.py": "class ImportWish: ..."}, "serve/desk.py::ImportWish"),
    "repeated_class_names": ({"a.py": "class Place: ...", "b.py": "class Place: ..."}, "Place"),
    "single_modules": ({"a/__init__.py": "", "a/b.py": ""}, "a"),
    "small_folders": ({"a/__init__.py": "", "a/b.py": "", "a/c.py": "", "a/d.py": ""}, "a"),
    "deep_folders": ({"a/b/c/d.py": ""}, "a/b/c"),
    "repeated_module_names": ({f"{folder}/reports.py": "" for folder in "abcd"}, "reports.py"),
    "lone_protocols": (
        {
            "a.py": "class Home(Protocol):\n    def reader(self): ...\n",
            "b.py": "class Memory:\n    def reader(self): ...",
        },
        "a.py::Home",
    ),
    "database_imports": ({"recall/search.py": "import apsw"}, "recall/search.py"),
    "packages_without_a_sentence": ({"a/__init__.py": '"""TODO."""'}, "a/__init__.py"),
    "long_modules": ({"a.py": "x = 1\n" * 601}, "a.py"),
    "long_functions": ({"a.py": "def f():\n" + "    pass\n" * 60}, "a.py::f"),
}
"""By rule: a package that breaks it, and what is told."""


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_sees_what_breaks_it(rule: str) -> None:
    texts, told = PLANTED[rule]
    assert told in set(RULES[rule]({path: ast.parse(text) for path, text in texts.items()}))
