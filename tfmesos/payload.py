"""The runner as it travels inside a task: the node modules in a zip, and the line that runs it.

The zip holds each module as source and compiled for the interpreter of the launcher. Python
takes the latter if it can and the source if not, so that any Python 3.8+ can run it.
"""

from __future__ import annotations

import ast
import base64
import functools
import importlib.util
import io
import marshal
import pkgutil
import shlex
import zlib
from types import CodeType

from .wire import NO_ROOM

NODE_MODULES = (
    "bare",
    "child",
    "command",
    "epitaph",
    "errors",
    "examine",
    "json_reader",
    "link",
    "loop",
    "outbox",
    "output",
    "process",
    "reservation",
    "servant",
    "serve",
    "server",
    "spawn",
    "system",
    "version",
    "wire",
)
VARIABLE = "TFMESOS_PAYLOAD"
MAX_BYTES = 110_000  # Linux takes 128 KiB for one string of the environment

_EPOCH = (1980, 1, 1, 0, 0, 0)
_BOOTSTRAP = (
    "import binascii,gc,os,sys,zlib;"
    "gc.disable();"  # there is no garbage in imports, and looking for it takes a tenth of them
    'z=os.path.join(os.path.abspath(os.environ.get("MESOS_SANDBOX")or"."),"tfmesos-runner.zip")\n'
    "try:\n"
    ' with open(z,"wb") as f:'
    f'f.write(zlib.decompress(binascii.a2b_base64(os.environ["{VARIABLE}"])))\n'
    f"except OSError:os._exit({NO_ROOM})\n"  # where no room is left a traceback has none, either
    "sys.path.insert(0,z);"
    "from tfmesos.server import main;"
    "gc.freeze();gc.enable();"
    "c=main();"
    "sys.stderr.flush();"
    "os._exit(c)"
)


@functools.cache
def payload() -> str:
    """The value of ``TFMESOS_PAYLOAD``: the zip, compressed as a whole, in base64."""
    return base64.b64encode(zlib.compress(archive(), 9)).decode("ascii")


@functools.cache
def archive() -> bytes:
    """The zip of the node modules; the same bytes each time."""
    import zipfile  # not cheap, and mostly there is a payload in stock

    sources = {f"{name}.py": _source(name) for name in NODE_MODULES}
    compiled = {f"{name}c": _compiled(name, source) for name, source in sources.items()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        for name, data in {"__init__.py": b"", **sources, **compiled}.items():
            zipped.writestr(zipfile.ZipInfo("tfmesos/" + name, _EPOCH), data)
    return file.getvalue()


def fingerprint() -> str:
    """Differs whenever the payload would: by Python, by a source, or by how it is made."""
    parts = [importlib.util.MAGIC_NUMBER, *map(_source, ("payload", *NODE_MODULES))]
    return importlib.util.source_hash(b"\0".join(parts)).hex()


def _source(name: str) -> bytes:
    source = pkgutil.get_data(__package__, name + ".py")
    assert source is not None
    return source


def bootstrap(python: str) -> str:
    """The shell command that unpacks the payload into the sandbox and becomes the runner.

    Isolated (-I) and without site-packages (-S): nothing on the node can get in its way.
    """
    return shlex.join(["exec", python, "-I", "-S", "-c", _BOOTSTRAP])


def _compiled(name: str, source: bytes) -> bytes:
    """A .pyc that is never checked against its source: they travel together."""
    tree = _without_columns(ast.parse(source))
    code = compile(tree, f"tfmesos/{name}", "exec", dont_inherit=True, optimize=2)
    unchecked = (1).to_bytes(4, "little") + importlib.util.source_hash(source)
    return importlib.util.MAGIC_NUMBER + unchecked + _marshalled(code)


def _without_columns(tree: ast.Module) -> ast.Module:
    """Lines are enough for a traceback; columns would be a fifth of the payload."""
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            vars(node).update(col_offset=-1, end_col_offset=-1, end_lineno=node.lineno)
    return tree


def _marshalled(code: CodeType) -> bytes:
    """From version 3 on the bytes depend on what else the process holds; 2 is enough for us.

    Python 3.14 wants version 5 for slices.
    """
    try:
        return marshal.dumps(code, 2)
    except ValueError:
        return marshal.dumps(code)
