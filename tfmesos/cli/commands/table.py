"""Which commands there are, and by which other names people call them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from ...command_line import CommandLine

# Each is a module of this folder with HELP, ARGUMENTS and run().
NAMES = (
    *("list", "status", "logs", "attach", "wait", "stop", "restart", "replace", "rm", "prune"),
    *("ui", "open"),
)
OTHER_NAMES = {
    "ps": "list",
    "ls": "list",
    "describe": "status",
    "cancel": "stop",
    "kill": "stop",
}
KNOWN = frozenset([*NAMES, *OTHER_NAMES])


def module_of(name: str) -> ModuleType:
    return import_module(f".{OTHER_NAMES.get(name, name)}", __package__)


def parser_of(name: str) -> CommandLine:
    module = module_of(name)
    parser = CommandLine(prog=f"tfrun {name}", description=module.HELP, allow_abbrev=False)
    for flags, options in module.ARGUMENTS:
        parser.add_argument(*flags, **options)
    return parser


def run(argv: Sequence[str]) -> int:
    """Do the command that *argv* begins with."""
    name, *rest = argv
    code: int = module_of(name).run(parser_of(name).parse_args(rest))
    return code
