"""Runs modules of ours in separate processes, although no file on the node holds them."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ENTRY = ["-m", "tfmesos.node.entry"]
TEXTS = ("tf_server", "entry")  # which travel as text, too; in the order of their imports
# Under a name that hides no tfmesos from the user's code.
_CODE = """\
import sys, types
package = sys.modules["_tfmesos"] = types.ModuleType("_tfmesos")
package.__path__ = []
for name, text in {!r}:
    module = sys.modules["_tfmesos." + name] = types.ModuleType("_tfmesos." + name)
    module.__package__ = "_tfmesos"
    exec(compile(text, "tfmesos/node/" + name + ".py", "exec"), module.__dict__)
module.main(*sys.argv[1:])
"""


def source(name: str) -> str:
    """The text of a module of this folder, one of ``TEXTS``."""
    from importlib.util import find_spec  # is rarely needed

    spec: Any = find_spec(f"tfmesos.node.{name}")
    text: str = spec.loader.get_source(spec.name)
    return text


def with_text(argv: list[str]) -> list[str]:
    """A command, with its text added if it runs the wrapper of ``--entry``."""
    if argv[1:3] != _ENTRY:
        return argv
    texts = [(name, source(name)) for name in TEXTS]
    return [sys.executable, "-c", _CODE.format(texts), *argv[3:]]
