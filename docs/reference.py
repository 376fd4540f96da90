"""Write the tables of flags, variables and settings from what ``tfrun`` itself understands."""

import inspect
import re
from pathlib import Path

from tfmesos.cli.arguments import build_parser
from tfmesos.errors import RUNNER_EXITS
from tfmesos.launcher.configuration import make_config
from tfmesos.local import __main__ as local


def write(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    for name, lines in [
        ("flags", flags()),
        ("local-flags", local_flags()),
        ("variables", variables()),
        ("settings", settings()),
        ("runner-codes", runner_codes()),
    ]:
        (directory / f"{name}.rst").write_text("\n".join(lines) + "\n")


def flags():
    """A section for each group of ``tfrun --help``; ``--help`` itself comes last."""
    yield from (".. program:: tfrun", "")
    first, *groups = [group for group in build_parser()._action_groups if _options(group)]
    for group in (*groups, first):
        title = group.title.capitalize()
        yield from ("", title, "-" * len(title), "", *_list(_options(group)))


def local_flags():
    yield from (".. program:: python -m tfmesos.local", "")
    yield from _list(local.build_parser()._actions)


def _options(group):
    return [action for action in group._group_actions if action.option_strings]


def _list(actions):
    for action in actions:
        yield from (f".. option:: {_names(action)}", "", f"   {_help(action)}", "")


def variables():
    for action in build_parser()._actions:
        for variable in re.findall(r"\$([A-Z_]+)", action.help):
            yield from _entry(f"``{variable}``", f"the default of ``{action.option_strings[-1]}``")


def settings():
    """The settings of ``cluster()`` that are flags of ``tfrun``, too."""
    by_flag = build_parser()._option_string_actions
    for name in inspect.signature(make_config).parameters:
        flag = "--" + name.replace("_", "-")
        action = by_flag.get(flag) or by_flag.get(flag.removesuffix("s"))
        if action:
            yield from _entry(f"``{name}``", _help(action))


def runner_codes():
    for code, meaning in RUNNER_EXITS.items():
        yield from _entry(str(code), f"the task {meaning}")


def _entry(term, text):
    return (term, f"    {text}", "")


def _names(action):
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return ", ".join(f"{flag}{value}" for flag in action.option_strings)


def _help(action):
    """Its help text, in which stars and the like are no markup."""
    return re.sub(r"([*|`_])", r"\\\1", action.help % vars(action))
