"""Sizes of Python source, counted from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MODULE_LINES = 600
FUNCTION_LINES = 60
PARAMETERS = 6
PUBLIC_METHODS = 20
FOLDER_MODULES = 12


class Excess(NamedTuple):
    """Something larger than its limit. `name` is stable: `path::qualified.name`, or a path."""

    name: str
    what: str
    size: int


def excesses_of_module(source: str, name: str) -> Iterator[Excess]:
    """Yield what is too large in one module; `name` is its path as shown."""
    lines = source.count("\n")
    if lines > MODULE_LINES:
        yield Excess(name, "module lines", lines)
    yield from _walk(ast.parse(source), f"{name}::")


def _walk(node: ast.AST, prefix: str) -> Iterator[Excess]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):  # no definition stands in one
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _function(child, prefix + child.name)
            yield from _walk(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            public = [n for n in child.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]
            if len(public) > PUBLIC_METHODS:
                yield Excess(prefix + child.name, "public methods", len(public))
            yield from _walk(child, f"{prefix}{child.name}.")
        else:
            yield from _walk(child, prefix)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[Excess]:
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if lines > FUNCTION_LINES:
        yield Excess(name, "function lines", lines)
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    count = len([n for n in names if n not in ("self", "cls")])
    if count > PARAMETERS:
        yield Excess(name, "parameters", count)


def excess_of_folder(folder: Path, name: str) -> Iterator[Excess]:
    """Yield the folder if it holds too many modules (`__init__` not counted)."""
    count = len([p for p in folder.glob("*.py") if p.name != "__init__.py"])
    if count > FOLDER_MODULES:
        yield Excess(name, "modules", count)
