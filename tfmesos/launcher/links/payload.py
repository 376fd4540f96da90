"""The runner as it travels: a stub in the command of the task, all the rest over the link.

The modules go as source and compiled for the interpreter of the launcher, whichever the node
can use, so that any Python 3.8+ can run them.
"""

from __future__ import annotations

import _imp
import ast
import base64
import functools
import importlib.util
import marshal
import pkgutil
import shlex
import zlib
from importlib.abc import InspectLoader
from types import CodeType

from ... import errors, node

_PACKAGE = node.__name__
# Of no use in the runner itself:
_BEFORE_RUNNER = {f"{_PACKAGE}.{name}" for name in ("importer", "stub", "listening_stub")}
_PYTHON = "import zlib,binascii as b;exec(zlib.decompress(b.a2b_base64('{}')))"


def node_modules() -> list[str]:
    """What travels: all that lies in the folder of the node, and the errors."""
    ours = (module.name for module in pkgutil.iter_modules(node.__path__))
    return [errors.__name__, *(f"{_PACKAGE}.{name}" for name in ours)]


@functools.cache
def runner() -> bytes:
    """What a stub is sent: the text of ``importer``, and what its ``Importer`` takes."""
    names = [name for name in node_modules() if name not in _BEFORE_RUNNER]
    compiled = {name: marshal.dumps(_code(name)) for name in names}
    sources = {name: _source(name) for name in names}
    magic = importlib.util.MAGIC_NUMBER
    importer = _source(f"{_PACKAGE}.importer")
    return marshal.dumps((importer, magic, _pack(compiled), _pack(sources)), 2)


@functools.cache
def stub() -> str:
    """The text of ``stub`` without what Python does not need."""
    return _stripped("stub")


def listening_stub() -> str:
    """The same for a launcher that dials: ``main`` of ``stub`` calls the ``fetch`` that waits."""
    call = "if __name__ == '__main__':"
    definitions, found, begin = stub().partition(call)
    assert found
    return f"{definitions}{_stripped('listening_stub')}\n{call}{begin}"


def _stripped(name: str) -> str:
    tree = _Stripper().visit(ast.parse(_source(f"{_PACKAGE}.{name}")))
    return ast.unparse(tree).replace("    ", " ")


def command(python: str) -> str:
    """The shell command that becomes the runner.

    Isolated (-I) and without site-packages (-S): nothing on the node can get in its way.
    """
    packed = base64.b64encode(zlib.compress(stub().encode(), 9)).decode()
    return f'exec {shlex.quote(python)} -I -S -c "{_PYTHON.format(packed)}"'


def _pack(values: dict[str, bytes] | dict[str, str]) -> bytes:
    return zlib.compress(marshal.dumps(values, 2), 1)  # more would take longer than it saves


def _loader(name: str) -> InspectLoader:
    spec = importlib.util.find_spec(name)
    assert spec is not None and isinstance(spec.loader, InspectLoader)
    return spec.loader


def _source(name: str) -> str:
    source = _loader(name).get_source(name)
    assert source is not None
    return source


def _code(name: str) -> CodeType:
    """As Python itself keeps it, if it does: compiling all of them takes longer than a runner."""
    code = _loader(name).get_code(name)
    assert code is not None
    # A path that does not tell where we are installed. Making the code anew takes much longer.
    _imp._fix_co_filename(code, name.replace(".", "/") + ".py")  # type: ignore[attr-defined]
    return code


class _Stripper(ast.NodeTransformer):
    """Takes out docstrings, annotations and what only the type checker needs."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.orelse if ast.unparse(node.test) == "TYPE_CHECKING" else node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        return None if ast.unparse(node.targets[0]) == "TYPE_CHECKING" else node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        """What one stub imports of the other stands in the same text."""
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
