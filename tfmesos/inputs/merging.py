"""Settings, environment and defaults -> LaunchConfig, merged here, once."""

from __future__ import annotations

import getpass
import os
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ..config.engine_kinds import EngineKind, engine_at
from ..config.entry_function import entry_environment, with_entry
from ..config.failure_settings import DEFAULT_SURVIVAL, parse_hang_timeout
from ..config.job import TENSORBOARD, Job
from ..config.jobs import constrained, parse_jobs, tasks_of
from ..config.kubernetes_settings import PodSettings, parse_claims
from ..config.launch_config import Access, LaunchConfig
from ..config.parsing import parse_address, parse_extra_config
from ..config.restart_settings import RestartPolicy, parse_codes, parse_limit
from ..config.secret import without_password, without_values
from ..config.settings import check_engine, deprecations, merge
from ..config.ship_settings import parse_bring
from ..config.slurm_settings import SlurmRequest, parse_options
from ..config.task_choice import TaskChoice
from ..config.tensorboard import log_dir_of, with_board
from ..config.volumes import parse_volumes
from ..engines.plugins import plugin_of
from ..errors import SpecError
from ..launcher.ship.paths import ship_of
from ..shared.address import join_address
from .env_file import read_variables
from .pod_template import read_template
from .secret_values import read_line, read_secrets, variables_of

if TYPE_CHECKING:
    from typing import Unpack

    from ..config.jobs import Jobs
    from ..config.settings import Settings
    from ..engines.api import Plugin

Given = dict[str, Any]  # a value for every setting

# What a plain process on another node needs of ours; Mesos itself gives it a fixed PATH.
_SHARED_WITH_NODES = ("PATH", "PYTHONPATH")
_PATH = (
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # like Mesos, if we have none
)

# What TFMesosScheduler takes by position after the jobs, as TFMesos did.
POSITIONAL = (
    *("role", "master", "name", "quiet", "volumes", "containerizer_type", "force_pull_image"),
    *("forward_addresses", "protocol", "env", "extra_config"),
)


def by_name(positional: tuple[Any, ...], named: dict[str, Any]) -> Settings:
    """The settings that were given, by position or by name."""
    given = dict(zip(POSITIONAL, positional, strict=False))
    if len(positional) > len(POSITIONAL):
        raise TypeError(f"TFMesosScheduler takes at most {len(POSITIONAL)} settings by position")
    if twice := given.keys() & named.keys():
        raise TypeError(f"TFMesosScheduler got {twice.pop()} by position and by name")
    return cast("Settings", {**given, **named})


def make_config(jobs: Jobs, *, resumes: bool = False, **settings: Unpack[Settings]) -> LaunchConfig:
    """Merge what the caller gave with the environment and the defaults; SpecError if wrong.

    *resumes*: whoever starts this run starts it again if its launcher ends.
    """
    given = merge(settings, os.environ)
    engine = engine_at(given["master"])
    plugin = plugin_of(engine.name)
    plugin.check_master(given["master"])
    check_engine(given, engine, plugin.instead)
    parsed = tuple(constrained(parse_jobs(jobs), given["constraints"]))
    as_they_are = {field: given[field] for field in LaunchConfig.__match_args__ if field in given}
    translated = _translated(given, parsed, engine)
    config = LaunchConfig(resumes=resumes, **{**as_they_are, **translated})
    config = plugin.completed(config, os.environ)
    config = config.replace(
        survive=_survival(config, plugin),
        warnings=(*config.warnings, *deprecations(settings)),
    )
    plugin.check(config)
    return config


def _survival(config: LaunchConfig, plugin: Plugin) -> float:
    """Seconds that the tasks wait for another launcher; 0: they end with this one."""
    if config.survive is not None:
        return config.survive
    has_successor = config.engine.survives and config.record and not config.local_chief
    return DEFAULT_SURVIVAL if has_successor and plugin.can_be_followed(config) else 0.0


def _translated(given: Given, jobs: tuple[Job, ...], engine: EngineKind) -> Given:
    """The fields of LaunchConfig that come from more than one setting."""
    image, remark = _image(given["image"] or None, is_here=engine.is_here)
    ship = ship_of(given)
    cwd, python, advertise = given["cwd"], given["python"] or None, given["advertise"]
    jobs = tuple(with_board(with_entry(jobs, given), _board_dir(given)))
    extra = given["extra_config"]
    initializer, finalizer = parse_extra_config({} if extra is None else extra)
    secrets, warnings = read_secrets(given)
    return dict(
        jobs=jobs,
        name=_clean(given["name"] or _default_name(given["on_end"])),
        access=_access(given),
        user=_clean(_own_name()),
        task_user=given["user"] or None,
        image=image,
        remark=remark,
        containerizer=given["containerizer_type"] and given["containerizer_type"].upper(),
        volumes=parse_volumes(given["volumes"]),
        pods=_pods(given),
        slurm=SlurmRequest(parse_options(given["slurm_options"])),
        env=_variables(given),
        inherited_env=_inherited(python, _names(engine) - {*variables_of(given)}),
        secrets=secrets,
        warnings=warnings,
        ship=ship,
        cwd=cwd or (None if ship else _current_directory()),
        cwd_is_given=bool(cwd),
        python=python,
        own_python=sys.executable,
        initializer=initializer,
        finalizer=finalizer,
        forward_addresses=_addresses(given["forward_addresses"] or {}),
        bring=parse_bring(given["bring"] or ()),
        bring_limit=int(given["bring_limit"] * 1024 * 1024),
        output_dir=_absolute(given["output_dir"]),
        metrics_file=_absolute(given["metrics_file"]),
        logs=_logs(given, jobs),
        success=_success(given["success"], jobs),
        restarts=_restarts(given),
        **_hang_timeout(given["hang_timeout"]),
        advertise=parse_address("advertise", advertise) if advertise else None,
        tf_config="always" if given["entry"] else given["tf_config"],  # it names the server
    )


def _variables(given: Given) -> dict[str, str]:
    """The variables of the command: those given by name win."""
    of_file, of_entry = read_variables(given["env_file"]), _entry_environment(given)
    return {**of_file, **of_entry, **_checked_env(given["env"] or {})}


def _absolute(path: Any) -> str | None:
    return os.path.join(_current_directory(), os.fspath(path)) if path else None


def _entry_environment(given: Given) -> dict[str, str]:
    return entry_environment({**given, "log_dir": absolute(given["log_dir"])})


def _board_dir(given: Given) -> str | None:
    return absolute(log_dir_of(given["tensorboard"]))


def absolute(name: str | None) -> str | None:
    """Independent of the current directory; an address stays as it is."""
    if not name or "://" in name:
        return name
    return os.path.normpath(os.path.join(_current_directory(), name))


def _pods(given: Given) -> PodSettings:
    return PodSettings(
        pod_template=read_template(given["pod_template"]),
        namespace=given["namespace"] or None,
        claims=parse_claims(given["claims"]),
        shm=given["shm"],
        gpu_resource=given["gpu_resource"],
        gang_hold=given["gang_hold"],
        queue=given["queue"] or None,
        priority=given["priority"] or None,
        cpu_limit=given["cpu_limit"],
    )


def _access(given: Given) -> Access:
    return Access(
        principal=given["principal"] or None,
        secret=read_line("secret_file", given["secret_file"] or None),
        token=read_line("token_file", given["token_file"]),
        ca_file=given["ca_file"],
        cert_file=given["cert_file"],
        key_file=given["key_file"],
    )


def _restarts(given: Given) -> RestartPolicy:
    limit, codes = parse_limit(given["restarts"]), parse_codes(given["retry_codes"])
    return RestartPolicy(limit, given["restart_policy"], codes)


def _hang_timeout(given: Any) -> Given:
    seconds, is_of_any = parse_hang_timeout(given)
    return {"hang_timeout": seconds, "hang_of_any": is_of_any}


def _logs(given: Given, jobs: Sequence[Job]) -> TaskChoice:
    """The output of every command; a bare server prints nothing of interest unless it fails."""
    if given["logs"] is not None:
        return TaskChoice.parse("logs", given["logs"], tasks_of(jobs))
    shown = () if given["quiet"] else jobs
    speaking = (job for job in shown if job.cmd is not None and job.task_type != TENSORBOARD)
    return TaskChoice(frozenset((job.name, "*") for job in speaking))


def _success(given: str | None, jobs: Sequence[Job]) -> TaskChoice | None:
    if given is None:
        return None
    tasks = tasks_of(jobs)
    chosen = TaskChoice.parse("success", given, tasks)
    if not any(task in chosen and task.job.cmd is not None for task in tasks):
        problem = f"must name a task that runs a command, got {given!r}"
        raise SpecError(None, "success", problem)
    return chosen


def _image(given: str | None, *, is_here: bool) -> tuple[str | None, str]:
    """The image, and a remark if there is none although one was named.

    Inside a container of that image, a task needs no container of its own.
    """
    own = os.environ.get("DOCKER_IMAGE") or None
    image = given or own
    if not is_here or image is None or image != own or _has_docker() or not _is_in_container():
        return image, ""
    return (
        None,
        f"there is no Docker in this container, so the tasks run in it instead of in {image}",
    )


def _has_docker() -> bool:
    """Whether there is a sign of an engine; whether it answers is checked later."""
    is_named = "DOCKER_HOST" in os.environ or os.path.exists("/var/run/docker.sock")
    return is_named and shutil.which("docker") is not None


def _is_in_container() -> bool:
    marks = ("/.dockerenv", "/run/.containerenv")  # of Docker and of Podman
    variables = ("MESOS_SANDBOX", "KUBERNETES_SERVICE_HOST")
    return any(map(os.path.exists, marks)) or any(name in os.environ for name in variables)


def _clean(text: str) -> str:
    """Makes bytes of a command line visible that are not text: Mesos accepts only text."""
    return text.encode("utf-8", "backslashreplace").decode()


def _own_name() -> str:
    """In a container a user often has only a number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _current_directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        problem = "no longer exists: change to another directory first"
        raise SpecError(None, "the current directory", problem) from error


def _default_name(on_end: str | None) -> str:
    """The name that TFMesos gave its frameworks; everybody who can query the master sees it.

    So it leaves out the address of *on_end*, which is often a secret.
    """
    arguments = map(without_values, sys.argv[1:])
    command_line = " ".join([os.path.abspath(sys.argv[0]), *arguments])
    if on_end:
        command_line = command_line.replace(on_end, "***")
    return f"[tensorflow] {without_password(command_line)}"


def _checked_env(env: Mapping[str, str]) -> dict[str, str]:
    for key, value in env.items():
        if not isinstance(value, str):
            raise SpecError(None, "env", f"must contain strings, got {value!r} for {key}")
    return dict(env)


def _names(engine: EngineKind) -> set[str]:
    """The variables that a task inherits: on this machine all of them, as from a shell."""
    if not engine.inherits:
        return {*_SHARED_WITH_NODES}
    return {name for name in os.environ if not name.startswith(engine.kept_back)}


def _inherited(python: str | None, names: Collection[str]) -> dict[str, str]:
    """*names* does not include those of secrets."""
    env = {name: os.environ[name] for name in names if _is_text(os.environ.get(name, "\udcff"))}
    hides_path = "PATH" in os.environ and "PATH" not in names
    return env if hides_path else {**env, "PATH": _path(env.get("PATH") or _PATH, python)}


def _path(path: str, given: str | None) -> str:
    """Where the tasks look for commands: ``python`` is the Python that was named or called.

    The latter is ours, as in ``/venv/bin/tfrun -- python``, unless ``tfrun`` was installed as a
    tool with its own environment: nobody means that Python.
    """
    directory, listed = os.path.dirname(given or sys.executable), path.split(os.pathsep)
    if given is None and (_is_tool() or directory in listed):
        return path
    is_there = os.path.isabs(directory) and listed[0] != directory and _is_text(directory)
    return os.pathsep.join([directory, path]) if is_there else path


def _is_tool() -> bool:
    """Was this ``tfrun`` started from a directory other than that of its Python?"""
    place, name = os.path.split(os.path.abspath(sys.argv[0]))
    return name == "tfrun" and place != os.path.dirname(sys.executable)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _addresses(given: Mapping[str, Any]) -> dict[str, str]:
    """TFMesos took pairs of host and port; a text is fine, too."""
    return {task: _one_address(address) for task, address in given.items()}


def _one_address(given: Any) -> str:
    match given:
        case str():
            text = given
        case (str(host), int(port)):
            text = join_address(host, port)
        case _:
            problem = f"must be pairs of host and port, got {given!r}"
            raise SpecError(None, "forward_addresses", problem)
    return join_address(*parse_address("forward_addresses", text))
