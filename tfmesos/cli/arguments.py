"""The command line of ``tfrun``, built from the tables of settings and of jobs.

Turns arguments into settings, and the field of an error back into its flag.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from shutil import which
from types import UnionType
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ..command_line import Answer, CommandLine
from ..config.engine_kinds import PREVIEWS
from ..config.setting import FAILURES, GROUPS, SCREEN, TASKS, OneOf, Setting
from ..config.settings import SETTINGS
from ..errors import SpecError
from ..jobfiles import ENDINGS, WRITTEN
from ..jobfiles.translation import JobFileError
from ..text import suggestion
from ..version import __version__
from .commands.names import KNOWN, TAKING_FLAGS
from .help_text import DESCRIPTION, EXAMPLES, USAGE, commands, short_help
from .job_flags import JOB_FLAGS, destination, number_of_tasks
from .optional_values import HelpFormatter, with_implied

if TYPE_CHECKING:
    from ..config.settings import Settings

_FORMAT = Setting(
    "start nothing and print what would run, in words and as a job file; or only as a job file "
    "(yaml), a Kubeflow TFJob (tfjob), a Marathon group (marathon), or the requests to Mesos "
    "(mesos) or Kubernetes (kubernetes)",
    ("--dry-run",),
    SCREEN,
    "[=FORMAT]",
    implied="words",
    check=OneOf("words", "yaml", *PREVIEWS, *WRITTEN),
    field="dry_run",
)

# Settings that exist on the command line only.
_OWN_FLAGS = (
    Setting(
        "read the run from this YAML, TOML or JSON file (-: standard input); as the first "
        "argument, the file needs no flag",
        ("--job-file",),
        TASKS,
        "FILE",
        field="job_file",
    ),
    Setting(
        "numbers of the workers whose output to show, or *, as in TFMesos",
        ("--worker-logs",),
        SCREEN,
        "NUMBERS",
        field="worker_logs",
    ),
    _FORMAT,
    Setting(
        "continue in the background once all tasks run, and print the id of the run (see tfrun "
        "list)",
        ("--detach",),
        SCREEN,
        field="detach",
        kind=bool,
    ),
    Setting(
        "continue the lost run of this name, or begin a new one; when terminated, leave the run "
        "to the next tfrun --resume",
        ("--resume",),
        FAILURES,
        field="resume",
        kind=bool,
    ),
    Setting(
        "show each step of the run with its time; -vv: every event",
        ("-v", "--verbose"),
        SCREEN,
        field="verbose",
        kind=bool,
        is_repeatable=True,
    ),
)

_AS_FLAG = {"help": "--help", "version": "--version"}
_OF_OTHER_LAUNCHERS = {
    "-np": "mpirun",
    "--np": "mpirun",
    "--nproc-per-node": "torchrun",
    "--nproc_per_node": "torchrun",
    "--nnodes": "torchrun",
    "--ntasks": "srun",
}
_RESOURCES = ("cpus", "gpus", "mem")  # as flags of other launchers name them

_LARGEST_JSON = 1024 * 1024  # bytes

FLAGS = (*JOB_FLAGS, *(setting for setting in SETTINGS if setting.flags), *_OWN_FLAGS)

_NAMES = {(flag.job, flag.field): flag.name for flag in FLAGS} | {(None, "cmd"): "the command"}


class _ShortHelp(argparse.Action):
    def __call__(self, *_: object) -> NoReturn:
        raise Answer(short_help())


class _LongHelp(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser.description = f"{DESCRIPTION}\n\n{commands()}"  # for which each is imported
        raise Answer(parser.format_help())


def build_parser() -> argparse.ArgumentParser:
    parser = CommandLine(
        prog="tfrun",
        usage=USAGE.splitlines()[0].removeprefix("usage: "),
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("-h", nargs=0, action=_ShortHelp, help="show the most important flags")
    parser.add_argument("--help", nargs=0, action=_LongHelp, help="show every flag")
    titles = [title for title in GROUPS if any(flag.group == title for flag in FLAGS)]
    groups = {title: parser.add_argument_group(title) for title in titles}
    for flag in FLAGS:
        flags, options = argument_of(flag)
        groups[flag.group].add_argument(*flags, **options)
    groups[SCREEN].add_argument(
        "--version",
        action="version",
        version=f"tfmesos {__version__}",
        help="show the version of tfmesos",
    )
    groups[TASKS].add_argument(
        "cmd",
        nargs=argparse.REMAINDER,
        metavar="command",
        help=(
            "command to run in every task; {ps_hosts}, {worker_hosts}, {job_name} and "
            "{task_index} are filled in. A single argument is run by a shell, several are "
            "executed without one"
        ),
    )
    return parser


def argument_of(flag: Setting, has_default: bool = True) -> tuple[tuple[str, ...], dict[str, Any]]:
    """What argparse is given for a flag. Without a default, what is not given stays as it is."""
    words = _help(flag, flag.default_text if has_default else "")
    return flag.flags, {"dest": destination(flag), "help": words, **_action(flag)}


def _help(flag: Setting, default_text: str) -> str:
    if flag.negation:
        return flag.negation
    default = f" (default: {default_text})" if default_text else ""
    often = "; may be given several times" if flag.is_repeatable and flag.kind is not bool else ""
    return f"{flag.help}{default}{often}".replace("%", "%%")


def _action(flag: Setting) -> dict[str, Any]:
    """The argparse action of a flag.

    A flag that is not given is None: defaults are merged later.
    """
    if flag.kind is bool:
        switch = "store_false" if flag.default else "store_true"
        return {"action": "count" if flag.is_repeatable else switch, "default": None}
    kind = flag.kind.__args__[0] if isinstance(flag.kind, UnionType) else flag.kind
    return {
        "metavar": flag.metavar,
        "type": number_of_tasks if flag.field == "num" else kind if kind in (int, float) else None,
        "action": "append" if flag.is_repeatable else "store",
    }


def parse(argv: Sequence[str]) -> argparse.Namespace:
    if not argv:
        sys.stderr.write(
            f"{USAGE}tfrun -h lists the most important flags, tfrun --help all of them.\n"
        )
        sys.exit(SpecError.exit_code)
    if len(argv) == 1:
        argv = [_AS_FLAG.get(argv[0], argv[0])]
    return parse_flags(argv)


def parse_flags(argv: Sequence[str]) -> argparse.Namespace:
    """There may be none."""
    if argv and argv[0].endswith(ENDINGS):
        argv = ["--job-file", *argv]
    parser = build_parser()
    if argv and (problem := _problem_of_first(argv)):
        parser.error(problem)
    args, unknown = parser.parse_known_args(with_implied(argv, FLAGS))
    if unknown:
        parser.error(_unknown(unknown[0].partition("=")[0]))
    if args.cmd[:1] == ["--"]:
        del args.cmd[0]
    _FORMAT.verify(args.dry_run)
    word = next(iter(args.cmd), "")
    if word.endswith(ENDINGS) and os.path.isfile(word) and not _has_jobs(args):
        parser.error(f"{word} is a job file if it is the first argument: tfrun {word} ...")
    if (args.name or "").isdecimal() and not _has_jobs(args):
        parser.error(f"-n is the name of the run: -w {args.name} starts {args.name} workers")
    return args


def _problem_of_first(argv: Sequence[str]) -> str:
    """A run needs flags before its command: at least the number of tasks."""
    word = argv[0]
    if word in _OF_OTHER_LAUNCHERS:
        return _unknown(word)
    if word.startswith("-") or "--" in argv or os.path.exists(word) or which(word):
        return ""
    flags = {one.lstrip("-"): flag.name for flag in FLAGS for one in flag.flags if "--" in one}
    near = suggestion(word, [*KNOWN, *TAKING_FLAGS]) or suggestion(word, flags, flags.__getitem__)
    return f"{word} is neither a command of tfrun nor a file{near}"


def _has_jobs(args: argparse.Namespace) -> bool:
    numbers = {destination(flag) for flag in JOB_FLAGS if flag.field == "num"}
    return any(getattr(args, one) for one in (*numbers, "job", "job_file"))


def _unknown(word: str) -> str:
    if other := _OF_OTHER_LAUNCHERS.get(word):
        return f"{word} is a flag of {other}: -w N starts N workers, each on its own node"
    of_workers = [flag for flag in JOB_FLAGS if flag.job == "worker"]
    names = {f"--{flag.field}": flag.name for flag in of_workers if flag.field in _RESOURCES}
    names |= {one: flag.name for flag in FLAGS for one in flag.flags}
    return f"{word} is not a flag of tfrun{suggestion(word, names, names.__getitem__)}"


def flag_of(field: str) -> str:
    """The flag of the setting, or of the field of a job, called *field*."""
    return _NAMES.get((None, field)) or _NAMES.get((field, "num"), field)


def in_flags(error: SpecError) -> str:
    """The error, with the flag instead of the field."""
    if isinstance(error, JobFileError):
        return str(error)
    if error.field == "jobs":
        return "no task to run: say how many workers with -w/--nworker (or use --chief)"
    if error.is_about_name_of_job:
        return f"--job {error.job!r} {error.problem}"
    of_all = _NAMES.get((None, error.field))  # of a job, too: the flag is the same for all
    flag = _NAMES.get((error.job, error.field), of_all)
    return f"{flag} {error.problem}" if flag else str(error)


def settings_of(args: argparse.Namespace) -> Settings:
    """Everything but the jobs."""
    given = {setting.field: getattr(args, setting.field) for setting in SETTINGS if setting.flags}
    given["env"] = variables(args.env or ()) or None
    for field in ("secrets", "secret_env"):
        given[field] = _secrets(field, getattr(args, field) or ())
    given["extra_config"] = _extra_config(args.extra_config)
    given["context"] = _context(args.context)
    given["logs"] = _logs(args)
    return cast("Settings", given)


def variables(texts: Sequence[str]) -> dict[str, str]:
    return dict(map(_variable, texts))


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if equals:
        return name, value
    if name not in os.environ:
        raise SpecError(None, "env", f"{name!r} is not set in this shell: give KEY=VALUE")
    return name, os.environ[name]


def _secrets(field: str, given: Sequence[str]) -> dict[str, str] | None:
    """The value is not shown, because it may be the secret itself."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, source = text.partition("=")
        if not equals:
            raise SpecError(None, field, "must be NAME=FILE or NAME=env:VARIABLE")
        if name in found:
            raise SpecError(None, field, f"has two secrets named {name!r}: give only one")
        found[name] = source
    return found or None


def _context(text: str | None) -> Any:
    if text is None or not _is_json(text):
        return _json_file("context", text)
    return _object("context", text.encode(errors="surrogateescape"), "must be a JSON object")


def _is_json(text: str) -> bool:
    """Rather than the name of a file."""
    start = text.lstrip()[:1]
    return start == "{" or (start == "[" and not os.path.exists(text))


def _extra_config(path: str | None) -> Any:
    name, equals, _ = (path or "").partition("=")
    if equals and name.isidentifier() and not os.path.exists(path or ""):
        problem = f"names a file of TFMesos's extra config: --env {name}=... sets a variable"
        raise SpecError(None, "extra_config", problem)
    return _json_file("extra_config", path)


def _json_file(field: str, path: str | None) -> Any:
    if path is None:
        return None
    from ..inputs.named_file import content_of

    content = content_of(field, path, _LARGEST_JSON + 1)
    if len(content) > _LARGEST_JSON:
        raise SpecError(None, field, f"is longer than {_LARGEST_JSON:,} bytes: {path}")
    return _object(field, content, f"must contain a JSON object: {path}")


def _object(field: str, content: bytes, problem: str) -> Any:
    from ..shared import json_reader

    try:
        found = json_reader.read(content)
    except ValueError as error:
        raise SpecError(None, field, f"{problem}: {error}") from None
    if not isinstance(found, dict):  # null would count as not given
        raise SpecError(None, field, f"must be a JSON object, got {found!r}")
    return found


def _logs(args: argparse.Namespace) -> str | None:
    """--worker-logs of TFMesos: worker numbers, or * for all of them."""
    if args.worker_logs is None:
        return str(args.logs) if args.logs is not None else None
    if args.logs is not None:
        raise SpecError(None, "logs", "and --worker-logs are mutually exclusive: give only one")
    numbers = [number.strip() for number in args.worker_logs.split(",") if number.strip()]
    there = int(str(args.worker_num or 0).rpartition(":")[2])
    for number in numbers:
        if number not in ("*", *map(str, range(there))):
            problem = f"must be numbers of workers below {there}, or *, got {number!r}"
            raise SpecError(None, "worker_logs", problem)
    return ",".join(f"worker:{number}" for number in numbers)
