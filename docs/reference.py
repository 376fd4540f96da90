"""Write the tables of the reference from those that ``tfrun`` itself uses: ``make reference``.

A page has each table between two comments, ``.. NAME begins`` and ``.. NAME ends``. The tables are
committed, so that the pages are complete wherever they are rendered.
"""

import argparse
import inspect
import re
import textwrap
from pathlib import Path

import tfmesos
from tfmesos import errors
from tfmesos.cli.arguments import build_parser
from tfmesos.cli.commands.names import NAMES, OTHER_NAMES, TAKING_FLAGS, module_of, parser_of
from tfmesos.config.settings import SETTINGS
from tfmesos.config.settings_help import TITLE
from tfmesos.leftovers import LEFTOVERS

HERE = Path(__file__).parent
WIDTH = 100  # columns


def flags():
    """A section for each group of ``tfrun --help``; ``--help`` itself comes last."""
    first, *groups = [group for group in build_parser()._action_groups if _options(group)]
    for group in (*groups, first):
        title = group.title[0].upper() + group.title[1:]
        rows = [(_names(action), _help(action)) for action in _options(group)]
        yield from (title, "~" * len(title), "", *_table(rows), "")


def commands():
    """Each with its arguments; ``-h`` goes without saying."""
    rows = []
    for name in NAMES:
        others = [other for other, meant in OTHER_NAMES.items() if meant == name]
        names = ", ".join(f"``tfrun {it}``" for it in (name, *others))
        rows.append((names, "\n\n".join([_plain(module_of(name).HELP), *_arguments(name)])))
    rows += [(f"``tfrun {name}``", _plain(text)) for name, text in TAKING_FLAGS.items()]
    yield from _table(rows)


def _arguments(name):
    """Its own, and the names of those that a run takes, too."""
    of_runs = set(map(_names, build_parser()._actions)) - {""}
    actions = [
        it for it in parser_of(name)._actions if it.dest != "help" and it.help != argparse.SUPPRESS
    ]
    own = [it for it in actions if _names(it) not in of_runs]
    lines = [f"* {_names(action) or _argument(action)}: {_help(action)}" for action in own]
    shared = [f"``{it.option_strings[0]}``" for it in actions if _names(it) in of_runs]
    if shared:
        lines.append(f"* flags of a run: {', '.join(shared)}")
    return ["\n".join(lines)] if lines else []


def _argument(action):
    return f"``{action.metavar or action.dest}``"


def variables():
    rows = [(f"``{it.variable}``", _default_of(it)) for it in SETTINGS if it.variable]
    yield from _table(rows)


def _default_of(setting):
    return f"the default of ``{setting.flags[-1]}``"


def settings(are_flags=True):
    """The settings of ``cluster()``: those that are flags of ``tfrun``, too, or the others."""
    rows = [
        (f"``{it.field}``", f"``{it.type}``", _plain(it.help + _default(it)))
        for it in SETTINGS
        if bool(it.flags) == are_flags
    ]
    yield from _table(rows, "20 20 60")


def _default(setting):
    return f" (default: {setting.default_text})" if setting.default_text else ""


def settings_of_python():
    return settings(are_flags=False)


def cluster():
    doc = inspect.getdoc(tfmesos.cluster).partition(TITLE)[0]
    yield from (*_code("cluster(jobs, *, wait=True, **settings)"), doc.strip())


def job():
    defaults = tfmesos.Job._defaults
    fields = [it for it in tfmesos.Job.__match_args__ if it != "type_offset"]
    shown = ", ".join(f"{it}={defaults[it]!r}" if it in defaults else it for it in fields)
    yield from (*_code(f"Job({shown})"), inspect.getdoc(tfmesos.Job))


def scheduler():
    kind = tfmesos.TFMesosScheduler
    names = [*_public(kind), *(name for base in kind.__bases__ for name in _public(base))]
    yield from (inspect.getdoc(kind), "", *_table([_member(kind, name) for name in names]))


def outcome():
    kind = tfmesos.Outcome
    rows = [_member(kind, name) for name in ("ok", "exit_code")]
    yield from (inspect.getdoc(kind), "", *_table(rows))


def _public(kind):
    return [name for name, it in vars(kind).items() if name[0] != "_" and inspect.getdoc(it)]


def _member(kind, name):
    member = inspect.getattr_static(kind, name)
    return f"``{name}{_parameters(member)}``", inspect.getdoc(member)


def _parameters(member):
    if not callable(member):
        return ""
    found = [it for it in inspect.signature(member).parameters.values() if it.name != "self"]
    shown = [str(it.replace(annotation=it.empty)) for it in found]
    first = next((at for at, it in enumerate(found) if it.kind is it.KEYWORD_ONLY), None)
    if first is not None:
        shown.insert(first, "*")
    return f"({', '.join(shown)})"


def exceptions():
    kinds = [getattr(tfmesos, name) for name in tfmesos.__all__ if hasattr(errors, name)]
    found = sorted(kinds, key=lambda it: (it is not errors.TFMesosError, it.__name__))
    rows = [(f"``{it.__name__}``", _code_of(it), inspect.getdoc(it)) for it in found]
    yield from _table(rows, "20 10 70", ("Exception", "Code", "Meaning"))


def _code_of(kind):
    return "the task's" if kind is errors.TaskFailed else str(kind.exit_code)


def runner_codes():
    rows = [(str(code), f"the task {text}") for code, text in sorted(errors.RUNNER_EXITS.items())]
    yield from _table(rows, "10 90")


def leftovers():
    rows = [(_plain(it.what), _plain(it.how), _modules(it.removed_by)) for it in LEFTOVERS]
    yield from _table(rows, "20 50 30", ("What", "Who removes it", "Where"))


def _modules(names):
    return ", ".join(f"``{name}``" for name in names) or "none of ours"


TABLES = {
    "design.rst": (leftovers,),
    "commandline.rst": (commands, flags, variables, runner_codes),
    "api.rst": (cluster, job, scheduler, outcome, settings, settings_of_python, exceptions),
}


def page(name):
    """What the page is to be: its own text, with each table as it is now."""
    text = (HERE / name).read_text()
    for table in TABLES[name]:
        title = table.__name__.replace("_", " ")
        begins, ends = f".. {title} begins\n", f".. {title} ends\n"
        before, _, rest = text.partition(begins)
        _, is_there, after = rest.partition(ends)
        if not is_there:
            raise SystemExit(f"docs/{name} has no {begins.strip()!r} and {ends.strip()!r}")
        lines = "\n".join(table()).strip()
        text = f"{before}{begins}\n{lines}\n\n{ends}{after}"
    return text


def _options(group):
    return [action for action in group._group_actions if action.option_strings]


def _table(rows, widths="30 70", head=()):
    rows = [head, *rows] if head else rows
    yield from (".. list-table::", f"   :widths: {widths}")
    yield from ("   :header-rows: 1", "") if head else ("",)
    for row in rows:
        for at, cell in enumerate(row):
            yield from _cell("   * - " if not at else "     - ", cell)


def _cell(lead, text):
    rest = " " * len(lead)
    first = True
    for paragraph in text.split("\n\n"):
        if not first:
            yield ""
        for line in _lines(paragraph):
            yield ((lead if first else rest) + line).rstrip()
            first = False


def _lines(paragraph):
    """Wrapped, item by item of a list."""
    for part in re.split(r"\n(?=\* )", paragraph):
        indent = "  " if part.startswith("* ") else ""
        yield from textwrap.wrap(
            " ".join(part.split()),
            WIDTH - 8,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _code(text):
    lines = textwrap.wrap(text, WIDTH - 8, subsequent_indent="    ", break_on_hyphens=False)
    return (".. code:: python", "", *(f"    {line}" for line in lines), "")


def _names(action):
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return ", ".join(f"``{flag}{value}``".replace(" [=", "[=") for flag in action.option_strings)


def _help(action):
    return _plain((action.help or "") % vars(action))


def _plain(text):
    """Stars and the like in a help text are not markup; flags are code."""
    text = re.sub(r"([*|`_\\])", r"\\\1", text)
    return re.sub(r"(?<![\w=-])(--[a-z][\w=-]*)", r"``\1``", text)


def main():
    for name in TABLES:
        (HERE / name).write_text(page(name))


if __name__ == "__main__":
    main()
