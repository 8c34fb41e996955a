"""Random mutants of the built-in coordinator's source, as ports.

A mutant is a module of `implementation/core` with one random edit of its syntax tree. It is
imported again, with all modules that import it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from random import Random
from typing import Any, Final

from groupcheck.properties.ports.source import PortSource, port_source

CORE: Final = Path(__file__).parents[2] / "implementation" / "core"
PACKAGE: Final = "groupcheck.implementation"
FRESH: Final = (PACKAGE, "groupcheck.properties.ports.builtin")

COMPARISONS: Final = (
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.Is,
    ast.IsNot,
    ast.In,
    ast.NotIn,
)
CONSTANTS: Final = (None, True, False, 0, 1, -1, 2**40, "", "x", b"")


def _places(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """The editable nodes, with the kind of the edit; no import, class, function or docstring."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(body=body) | ast.If(body=body) | ast.For(body=body):
                for i, statement in enumerate(body):
                    is_docstring = isinstance(statement, ast.Expr | ast.FunctionDef) and not (
                        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
                    )
                    if not is_docstring:
                        yield "drop", (body, i)
            case _:
                pass
        match node:
            case ast.Compare():
                yield "compare", node
            case ast.BoolOp() | ast.If():
                yield "negate", node
            case ast.Constant(value=value) if not isinstance(value, str):
                yield "constant", node
            case ast.Call(args=[_, _, *_]):
                yield "arguments", node
            case ast.Return(value=ast.expr()):
                yield "return", node
            case _:
                pass


def mutated(source: str, pick: Random) -> ast.Module:
    """The syntax tree of a module with one random edit."""
    tree = ast.parse(source)
    kind, where = pick.choice(list(_places(tree)))
    match kind:
        case "drop":
            body, i = where
            body[i] = ast.copy_location(ast.Pass(), body[i])
        case "compare":
            where.ops[0] = pick.choice(COMPARISONS)()
        case "negate" if isinstance(where, ast.BoolOp):
            where.op = ast.Or() if isinstance(where.op, ast.And) else ast.And()
        case "negate":
            where.test = ast.UnaryOp(ast.Not(), where.test)
        case "constant":
            where.value = pick.choice([each for each in CONSTANTS if each is not where.value])
        case "arguments":
            where.args[0], where.args[1] = where.args[1], where.args[0]
        case _:
            where.value = ast.Constant(None)
    return ast.fix_missing_locations(tree)


class _Loader(SourceFileLoader):
    """Compiles the tree in place of the file."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self._tree = tree

    def get_code(self, _fullname: str) -> Any:
        return compile(self._tree, self.path, "exec")


class _Finder(MetaPathFinder):
    """Finds the mutant of one module."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self._name, self._tree = name, tree

    def find_spec(self, name: str, path: Any = None, _target: Any = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        spec = PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(name, spec.origin, self._tree)
        return spec


def mutant(pick: Random) -> PortSource:
    """The built-in port of a coordinator with a random edit of its source.

    Raises:
        PortUnavailableError: it cannot be imported.
    """
    path = pick.choice(sorted(CORE.glob("[!_]*.py")))
    tree = mutated(path.read_text(encoding="utf-8"), pick)
    finder = _Finder(f"{PACKAGE}.core.{path.stem}", tree)
    before = {name: module for name, module in sys.modules.items() if name.startswith(FRESH)}
    for name in before:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        return port_source("builtin", seed=1)
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.startswith(FRESH)]:
            del sys.modules[name]
        sys.modules.update(before)
        for name, module in before.items():
            parent, _, child = name.rpartition(".")
            setattr(sys.modules[parent], child, module)
