"""Imports the modules of the runner from memory, because the runner may be unable to write files.

``stub`` executes this module, which comes with the others, and calls ``become_runner``. Annotations
are quoted, because ``__future__`` would be one more file to find and read.
"""

import gc
import marshal
import os
import sys
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any
else:  # what importlib is made of; its own import is not cheap
    from _frozen_importlib import ModuleSpec

TOO_OLD = "Python 3.8 or newer is needed"
PACKAGES = (
    *("tfmesos", "tfmesos.shared", "tfmesos.node"),
    *("tfmesos.node.link", "tfmesos.node.process", "tfmesos.node.task", "tfmesos.node.inside"),
)


class Importer:
    """Finds and loads the modules: compiled, or all as *sources*. Unused ones stay packed."""

    def __init__(self, compiled: "dict[str, bytes]", sources: bytes) -> None:
        self._compiled = compiled
        self._sources = sources
        self._texts: dict[str, str] = {}

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> "ModuleSpec | None":
        is_package = name in PACKAGES
        if not is_package and name not in (self._compiled or self._unpacked()):
            return None
        return ModuleSpec(name, self, origin=_path(name), is_package=is_package)  # type: ignore[arg-type]

    def create_module(self, spec: "ModuleSpec") -> None:
        """An ordinary module will do."""

    def exec_module(self, module: "ModuleType") -> None:
        if module.__name__ not in PACKAGES:
            exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name: str) -> "CodeType":
        if name in self._compiled:
            code: CodeType = _unpack(self._compiled[name])
            return code
        return compile(self.get_source(name), _path(name), "exec", dont_inherit=True)

    def get_source(self, name: str) -> str:
        """Tracebacks ask for it, too, but can do without."""
        return self._unpacked().get(name, "")

    def _unpacked(self) -> "dict[str, str]":
        self._texts = self._texts or _unpack(self._sources)
        return self._texts


def _unpack(packed: bytes) -> "Any":
    return marshal.loads(zlib.decompress(packed))


def _path(name: str) -> str:
    return name.replace(".", "/") + ".py"


def _leave_out_future() -> None:
    """Every module imports it, but uses nothing of it."""
    future: Any = sys.modules.setdefault("__future__", type(sys)("__future__"))
    future.annotations = None


def become_runner(settings: "Sequence[str]", link: "Any", *modules: "Any") -> None:
    if sys.version_info < (3, 8):  # which comes this far, and no further
        os.write(2, f"tfmesos runner: {TOO_OLD}, not {sys.version.split()[0]}\n".encode())
        os._exit(219)
    gc.disable()  # there is no garbage in imports, and looking for it takes a tenth of them
    sys.meta_path.insert(0, Importer(*modules))
    _leave_out_future()
    from tfmesos.node.main import main

    gc.freeze()
    gc.enable()
    code = main(settings, link)
    if sys.stderr is not None:  # a task may have none
        sys.stderr.flush()
    os._exit(code)
