"""How the code is written: one home for each fact, one statement for each thought."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tfmesos
from tfmesos.config import engine_kinds
from tfmesos.config.engine_kinds import ENGINES

PACKAGE = Path(tfmesos.__file__).parent
TABLE = "config/engine_kinds.py"
_VALUES = {*ENGINES, *(kind.master for kind in ENGINES.values() if kind.master)}
_NAMES = {name for name, value in vars(engine_kinds).items() if value in (*_VALUES,)}
_QUESTIONS = {f"{verb}_{name}" for verb in ("is", "on") for name in ENGINES}


def sources() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), path.read_text()


# Engines


def branches_on_engines(source: str) -> list[int]:
    """The lines that ask which engine there is, by a name or a scheme of one."""
    tree = ast.parse(source)
    return sorted({node.lineno for node in ast.walk(tree) if _asks(node)})


def _asks(node: ast.AST) -> bool:
    match node:
        case ast.Compare():
            return any(map(_names_engine, (node.left, *node.comparators)))
        case ast.Call(func=ast.Attribute(attr="startswith" | "get"), args=args):
            return any(map(_names_engine, args))
        case ast.Dict():  # a table beside the table
            return any(map(_names_engine, filter(None, node.keys)))
        case ast.Subscript():
            return _names_engine(node.slice)
        case ast.MatchValue():
            return _names_engine(node.value)
        case ast.Attribute():
            return node.attr in _QUESTIONS
        case ast.arg():
            return node.arg in _QUESTIONS
        case ast.Name():
            return node.id in _QUESTIONS
    return False


def _names_engine(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(value)):
            return value in _VALUES
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _NAMES
        case ast.Tuple() | ast.List() | ast.Set():
            return any(map(_names_engine, node.elts))
    return False


def test_outside_of_the_engines_one_table_knows_their_names():
    """A fact is a column of it, a deed is in the engine's plugin, a setting says whom it serves."""
    apart = {TABLE: "the table itself: whatever names no other engine names Mesos"}
    found = {
        name: lines
        for name, source in sources()
        if not name.startswith("engines/") and (lines := branches_on_engines(source))
    }
    assert set(found) == set(apart), found


@pytest.mark.parametrize(
    "source",
    [
        "kind.name == SLURM",
        "given['master'] != 'local'",
        "name in ('mesos', 'kubernetes')",
        "kinds.MESOS == name",
        "master.startswith('k8s://')",
        "master.startswith((KUBERNETES_SCHEME, SLURM_SCHEME))",
        "{'slurm': check}[name]()",
        "CHECKS.get(LOCAL)",
        "match name:\n    case 'slurm':\n        pass",
        "config.is_slurm",
        "def f(is_local): pass",
        "x = on_kubernetes",
    ],
)
def test_a_branch_on_an_engine_is_found_however_it_is_written(source):
    assert branches_on_engines(source)


@pytest.mark.parametrize(
    "source",
    ["Setting(engines=(SLURM,))", "config.engine.is_here", "form == 'words'", "where = 'local'"],
)
def test_a_fact_or_a_name_alone_is_no_branch(source):
    assert branches_on_engines(source) == []


# Statements


def packed_calls(source: str) -> list[int]:
    """The lines of calls that take a tuple apart which its function has just packed."""
    found: set[int] = set()
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            starred = [
                (one.value.id, call.lineno)
                for call in ast.walk(function)
                if isinstance(call, ast.Call)
                for one in call.args
                if isinstance(one, ast.Starred) and isinstance(one.value, ast.Name)
            ]
            names = [name for name, _ in starred]
            packed = _packed_once(function)
            found |= {line for name, line in starred if name in packed and names.count(name) == 1}
    return sorted(found)


def _packed_once(function: ast.AST) -> set[str]:
    """Names of tuples that say nothing of their own: two values or more, used once."""
    used = [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]
    return {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for target in node.targets
        if isinstance(target, ast.Name) and used.count(target.id) == 2
        if all(not isinstance(one, ast.Constant | ast.Starred) for one in node.value.elts)
    }


def test_no_call_takes_apart_a_tuple_that_was_packed_for_it():
    found = {name: lines for name, source in sources() if (lines := packed_calls(source))}
    assert found == {}


def test_a_packed_call_is_found():
    assert packed_calls("def f(x):\n    about = (x.a, x.b)\n    return g(1, *about)") == [3]
    assert packed_calls("def f(x):\n    words = ('a', 'b', x)\n    return run(*words)") == []
