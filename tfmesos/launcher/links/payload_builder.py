"""Builds what travels to a node, from the folder ``node``.

The runner is built twice: from compiled modules for nodes with the launcher's Python, and from
sources for any other Python 3.8+.
"""

from __future__ import annotations

import _imp
import ast
import base64
import importlib.util
import marshal
import pkgutil
import zlib
from types import CodeType
from typing import Any

from ... import errors, node, shared
from ...node.own_modules import TEXTS
from .payload import Packed

_PACKAGE = node.__name__
_IMPORTER = f"{_PACKAGE}.importer"
# Of no use in the runner itself:
_BEFORE_RUNNER = {f"{_PACKAGE}.{name}" for name in ("importer", "stub", "listening_stub")}
_LEVEL = 4  # level of compression; more would take longer than it saves
_PYTHON = "import zlib,binascii as b;exec(zlib.decompress(b.a2b_base64('{}')))"
_COMPILED_PYTHON = (
    "import zlib,marshal,binascii as b,_frozen_importlib_external as i\n"
    "exec(marshal.loads(zlib.decompress(b.a2b_base64('{}')))if i.MAGIC_NUMBER.hex()=='{}'"
    "else zlib.decompress(b.a2b_base64('{}')))"
)


def node_modules() -> list[str]:
    """What travels: everything in the folders ``node`` and ``shared``, and the errors."""
    found = (
        module
        for folder in (shared, node)
        for module in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}.")
    )
    return [errors.__name__, *(module.name for module in found if not module.ispkg)]


def pack() -> Packed:
    stub = _stripped("stub")
    packed = _printable(stub.encode())
    compiled = _printable(marshal.dumps(compile(stub, "<stub>", "exec", dont_inherit=True)))
    magic = importlib.util.MAGIC_NUMBER.hex()
    return {
        "stub": stub,
        "listening_stub": _listening(stub),
        "program": _PYTHON.format(packed),
        "compiled_program": _COMPILED_PYTHON.format(compiled, magic, packed),
        "runners": {magic: _compiled_runner(), "": _source_runner()},
    }


def _printable(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def _compiled_runner() -> bytes:
    """``importer`` and what its ``become_runner`` takes: separate modules, as few are needed."""
    modules = {
        name: zlib.compress(marshal.dumps(_code(name)), _LEVEL) for name in _runner_modules()
    }
    texts = {name: _source(name) for name in (f"{_PACKAGE}.{text}" for text in TEXTS)}
    return marshal.dumps((_code(_IMPORTER), modules, _pack(texts)))


def _source_runner() -> bytes:
    texts = {name: _source(name) for name in _runner_modules()}
    return marshal.dumps((_source(_IMPORTER), {}, _pack(texts)), 2)


def _runner_modules() -> list[str]:
    return [name for name in node_modules() if name not in _BEFORE_RUNNER]


def _pack(texts: dict[str, str]) -> bytes:
    return zlib.compress(marshal.dumps(texts, 2), _LEVEL)


def _listening(stub: str) -> str:
    """The ``main`` of *stub* calls the ``fetch`` that waits."""
    call = "if __name__ == '__main__':"
    definitions, found, begin = stub.partition(call)
    assert found
    return f"{definitions}{_stripped('listening_stub')}\n{call}{begin}"


def _stripped(name: str) -> str:
    tree = _Stripper().visit(ast.parse(_source(f"{_PACKAGE}.{name}")))
    return ast.unparse(tree).replace("    ", " ")


def _loader(name: str) -> Any:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    return spec.loader


def _source(name: str) -> str:
    source: str = _loader(name).get_source(name)
    return source


def _code(name: str) -> CodeType:
    """From Python's own cache if possible: compiling all of them takes longer than a run."""
    code: CodeType = _loader(name).get_code(name)
    # A path that does not tell where we are installed. Making the code again takes much longer.
    _imp._fix_co_filename(code, name.replace(".", "/") + ".py")  # type: ignore[attr-defined]
    return code


class _Stripper(ast.NodeTransformer):
    """Removes docstrings, annotations and what only the type checker needs."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.orelse if ast.unparse(node.test) == "TYPE_CHECKING" else node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        return None if ast.unparse(node.targets[0]) == "TYPE_CHECKING" else node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        """What one stub imports from the other is in the same text."""
        return None if node.module == "__future__" or node.level else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assert node.value is not None
        return ast.Assign([node.target], node.value, lineno=node.lineno)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node
