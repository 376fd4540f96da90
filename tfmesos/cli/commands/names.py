"""The names of the commands, and their aliases."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from ...command_line import CommandLine

# Each is a module of this folder with HELP, ARGUMENTS and run().
NAMES = (
    *("list", "status", "logs", "attach", "wait", "stop"),
    *("restart", "replace", "update", "checkpoint", "adopt"),
    *("exec", "stacks", "cp", "forward", "continue"),
    *("ui", "open", "rm", "prune", "completion"),
)
OTHER_NAMES = {
    "ps": "list",
    "ls": "list",
    "describe": "status",
    "cancel": "stop",
    "kill": "stop",
}
# These take the flags of tfrun, too, and are not modules of this folder.
TAKING_FLAGS = {
    "rerun": "start a run again, with the changes given as flags",
    "config": "show which settings apply and where they come from",
}
KNOWN = frozenset([*NAMES, *OTHER_NAMES])


_ELSEWHERE = {"adopt": ".adoption"}  # beside this folder


def module_of(name: str) -> ModuleType:
    name = OTHER_NAMES.get(name, name)
    return import_module(f".{_ELSEWHERE.get(name, name)}", __package__)


def parser_of(name: str) -> CommandLine:
    module = module_of(name)
    parser = CommandLine(
        prog=f"tfrun {name}",
        usage=getattr(module, "USAGE", None),
        description=module.HELP,
        allow_abbrev=False,
    )
    for flags, options in module.ARGUMENTS:
        parser.add_argument(*flags, **options)
    return parser


def run(argv: Sequence[str]) -> int:
    """Run the command that *argv* begins with."""
    name, *rest = argv
    words, command = split(rest) if hasattr(module_of(name), "TAKES_COMMAND") else (rest, [])
    args = parser_of(name).parse_args(words)
    args.cmd = command
    code: int = module_of(name).run(args)
    return code


def split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words before ``--``, and the command after it."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]
