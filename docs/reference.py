"""Write the lists of flags, variables and settings from the tables that ``tfrun`` itself uses."""

import re
from pathlib import Path

from tfmesos.cli.arguments import build_parser
from tfmesos.config.settings import SETTINGS
from tfmesos.errors import RUNNER_EXITS


def write(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    for name, lines in [
        ("flags", flags()),
        ("variables", variables()),
        ("settings", settings(are_flags=True)),
        ("settings-of-python", settings(are_flags=False)),
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


def _options(group):
    return [action for action in group._group_actions if action.option_strings]


def _list(actions):
    for action in actions:
        yield from (f".. option:: {_names(action)}", "", f"   {_help(action)}", "")


def variables():
    for setting in SETTINGS:
        if setting.variable:
            yield from _entry(f"``{setting.variable}``", f"the default of ``{setting.flags[-1]}``")


def settings(are_flags: bool):
    """The settings of ``cluster()``: those that are flags of ``tfrun``, too, or the others."""
    for setting in SETTINGS:
        if bool(setting.flags) == are_flags:
            default = f" (default: {setting.default_text})" if setting.default_text else ""
            term = f"``{setting.field}`` : ``{setting.type}``"
            yield from _entry(term, _without_markup(setting.help + default))


def runner_codes():
    for code, meaning in RUNNER_EXITS.items():
        yield from _entry(str(code), f"the task {meaning}")


def _entry(term, text):
    return (term, f"    {text}", "")


def _names(action):
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return ", ".join(f"{flag}{value}" for flag in action.option_strings).replace(" [=", "[=")


def _help(action):
    return _without_markup(action.help % vars(action))


def _without_markup(text):
    """Stars and the like in a help text are no markup."""
    return re.sub(r"([*|`_])", r"\\\1", text)
