"""The table of settings: everything about a run besides its jobs.

``Settings`` is that table. Each field states its type and, in a ``Setting``, its flags, environment
variable, default, check and help. From it come the parser of ``tfrun``, the flag that an error
names, the keywords of ``cluster()`` and ``TFMesosScheduler()``, the values of ``LaunchConfig`` and
the page of reference in the documentation.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from ..errors import SpecError
from ..record import NOTHING
from ..text import suggestion
from .credential_settings import CredentialSettings
from .engine_kinds import ENGINES, KUBERNETES, OF_MESOS, EngineKind
from .entry_function import EntrySettings
from .failure_settings import FailureSettings
from .kubernetes_settings import KubernetesSettings
from .secret_settings import SecretSettings
from .setting import (
    ACCESS,
    CONTAINER,
    PLACE,
    SCREEN,
    TASKS,
    File,
    Naming,
    OneOf,
    Seconds,
    Setting,
    Text,
    above_zero,
    command_or_url,
    containerizer,
    image_name,
    is_dict,
    master_name,
    role_name,
)
from .ship_settings import ShipSettings
from .slurm_settings import SlurmSettings
from .tensorboard import BoardSettings


class Settings(
    BoardSettings,
    CredentialSettings,
    EntrySettings,
    FailureSettings,
    KubernetesSettings,
    SecretSettings,
    ShipSettings,
    SlurmSettings,
    total=False,
):
    """The keywords of ``cluster()`` and ``TFMesosScheduler()``. None means not given."""

    local_chief: Annotated[
        bool,
        Setting(
            "run the chief (or worker 0) in this terminal, and the other tasks on the nodes",
            ("--local-chief",),
            TASKS,
            default=False,
        ),
    ]
    master: Annotated[
        Text,
        Setting(
            "where to run: local (this machine), k8s://[CONTEXT][/NAMESPACE] (Kubernetes), "
            "slurm://[PARTITION] (Slurm), or a Mesos master: HOST, HOST:PORT, "
            "http(s)://HOST:PORT, a comma-separated list or zk://HOSTS/PATH",
            ("-m", "--master"),
            PLACE,
            variable="MESOS_MASTER",
            default="local",
            check=master_name,
        ),
    ]
    name: Annotated[
        Text,
        Setting(
            "name of the run; on Mesos, of its framework",
            ("-n", "--name"),
            PLACE,
            default_words="derived from the command line",
        ),
    ]
    role: Annotated[
        Text,
        Setting(
            "Mesos role of the run",
            ("-r", "--role"),
            PLACE,
            default="*",
            check=role_name,
            engines=OF_MESOS,
        ),
    ]
    advertise: Annotated[
        Text,
        Setting(
            "address at which the tasks reach this launcher",
            ("--advertise",),
            PLACE,
            "HOST[:PORT]",
            default_words="the address of the interface that reaches the master",
        ),
    ]
    constraints: Annotated[
        Iterable[str] | None,
        Setting(
            "nodes to use, by hostname or attribute, for every job or for JOB only: UNIQUE, "
            "CLUSTER[:VALUE], GROUP_BY[:N], MAX_PER:N, IS:VALUE, LIKE:REGEX, UNLIKE:REGEX",
            ("--constraint",),
            PLACE,
            "[JOB=]FIELD:OPERATOR[:VALUE]",
            default=(),
            is_repeatable=True,
        ),
    ]
    start_timeout: Annotated[
        Seconds,
        Setting(
            "give up if a task is not running after this time (seconds, or with a unit, as in 5m)",
            ("--start-timeout",),
            PLACE,
            "TIME",
            default_words="wait, and show what is missing",
            check=above_zero,
        ),
    ]
    link_tls: Annotated[
        bool,
        Setting(
            "encrypt the links to the tasks with TLS even if the run has no secrets",
            ("--link-tls",),
            ACCESS,
            default=False,
        ),
    ]
    image: Annotated[
        Text,
        Setting(
            "Docker image of the tasks",
            ("--image",),
            CONTAINER,
            variable="DOCKER_IMAGE",
            default_words="none",
            check=image_name,
        ),
    ]
    containerizer_type: Annotated[
        Text,
        Setting(
            "containerizer that runs the image: MESOS or DOCKER",
            ("-C", "--containerizer-type", "--containerizer_type"),
            CONTAINER,
            "TYPE",
            default_words="MESOS",
            check=containerizer,
            engines=OF_MESOS,
        ),
    ]
    force_pull_image: Annotated[
        bool,
        Setting(
            "pull the image even if the node has it",
            ("-f", "--force-pull-image", "--force_pull_image"),
            CONTAINER,
            default=False,
            engines=(*OF_MESOS, KUBERNETES),
        ),
    ]
    volumes: Annotated[
        Mapping[str, str] | Iterable[str] | None,
        Setting(
            "mount a path of the node in the tasks",
            ("-V", "--volume"),
            CONTAINER,
            "HOST:CONTAINER[:ro|rw]",
            default=(),
            is_repeatable=True,
        ),
    ]
    env: Annotated[
        Mapping[str, str] | None,
        Setting(
            "set a variable for the command; without a value, pass on the variable of this shell",
            ("--env",),
            CONTAINER,
            "KEY[=VALUE]",
            check=is_dict,
            is_repeatable=True,
        ),
    ]
    env_file: Annotated[
        File,
        Setting(
            "set variables for the command from a file of KEY=VALUE lines",
            ("--env-file",),
            CONTAINER,
            "FILE",
        ),
    ]
    user: Annotated[
        Text,
        Setting(
            "user that runs the tasks",
            ("--user",),
            CONTAINER,
            default_words="you; in Docker, the user of the image",
        ),
    ]
    cwd: Annotated[
        Text,
        Setting(
            "working directory of the command on the nodes; a relative path is inside the shipped "
            "files",
            ("--cwd",),
            CONTAINER,
            "DIR",
            default_words="the current directory if the node has it, else the sandbox",
        ),
    ]
    python: Annotated[
        Text,
        Setting(
            "Python interpreter on the nodes",
            ("--python",),
            CONTAINER,
            default_words="the Python of tfrun; python3 in an image",
        ),
    ]
    reserve_port: Annotated[
        bool,
        Setting(
            "hold a task's port while its command runs; not for programs that bind it without "
            "SO_REUSEADDR, such as LightGBM",
            ("--no-reserve-port",),
            CONTAINER,
            default=True,
            negation="do not hold a task's port while its command runs, for programs that bind it "
            "without SO_REUSEADDR, such as LightGBM",
        ),
    ]
    tf_config: Annotated[
        Text,
        Setting(
            "when to set TF_CONFIG: auto (if there is more than one task) or always",
            ("--tf-config",),
            CONTAINER,
            "WHEN",
            default="auto",
            check=OneOf("auto", "always"),
        ),
    ]
    extra_config: Annotated[
        Mapping[str, str | None] | None,
        Setting(
            "file with a JSON object of initializer and finalizer, shell commands to run before "
            "and after the command; the finalizer of a stopped task has 5 seconds",
            ("-e", "--extra-config", "--extra_config"),
            CONTAINER,
            "FILE",
        ),
    ]
    logs: Annotated[
        Text,
        Setting(
            "tasks whose output to show: all, none, or a list such as worker:0,ps:*",
            ("--logs",),
            SCREEN,
            "TASKS",
            default_words="all that run a command",
            check=Naming("tasks, all or none"),
        ),
    ]
    profile: Annotated[
        Text,
        Setting(
            "take settings from this profile of your configuration file (see tfrun config)",
            ("--profile",),
            SCREEN,
            "NAME",
            variable="TFMESOS_PROFILE",
        ),
    ]
    output_dir: Annotated[
        File,
        Setting(
            "also write the output of each task to DIR/worker-0.log and so on, replacing existing "
            "files",
            ("--output-dir",),
            SCREEN,
            "DIR",
            check=Naming("a directory"),
        ),
    ]
    metrics_file: Annotated[
        File,
        Setting(
            "write metrics of the run for Prometheus to this file, every 10 seconds",
            ("--metrics-file",),
            SCREEN,
            "FILE",
            check=Naming("a file"),
        ),
    ]
    on_end: Annotated[
        Text,
        Setting(
            "when the run has ended, run this shell command on this machine, with TFMESOS_STATE "
            "and other variables in its environment, or POST their values as JSON to this URL",
            ("--on-end",),
            SCREEN,
            "COMMAND|URL",
            check=command_or_url,
        ),
    ]
    record: Annotated[
        bool,
        Setting(
            "keep a record of the run, for tfrun list, status and logs",
            ("--no-record",),
            SCREEN,
            default=True,
            negation="do not keep a record of this run for tfrun list, status and logs",
        ),
    ]
    allow_exec: Annotated[
        bool,
        Setting(
            "let the owner of the run use tfrun exec, cp and forward inside its tasks",
            ("--no-exec",),
            SCREEN,
            default=True,
            negation="do not allow tfrun exec, cp and forward for this run",
        ),
    ]
    quiet: Annotated[
        bool,
        Setting("show warnings only, and no output of tasks unless logs names them", default=False),
    ]
    protocol: Annotated[Text, Setting("protocol of the TensorFlow servers", default="grpc")]
    forward_addresses: Annotated[
        Mapping[str, str | tuple[str, int]] | None,
        Setting("send a copy of a task's standard output to an address", check=is_dict),
    ]


def _row(field: str, annotated: Any) -> Setting:
    setting: Setting = annotated.__metadata__[0]
    setting.field = field
    setting.kind = annotated.__origin__
    return setting


SETTINGS = tuple(_row(field, annotated) for field, annotated in Settings.__annotations__.items())
DEFAULTS: Mapping[str, Any] = {setting.field: setting.default for setting in SETTINGS}
OF_CALL = ("profile",)  # said with a call, in no document
DOCUMENT_KEYS = tuple(field for field in DEFAULTS if field not in OF_CALL)


def deprecations(given: Mapping[str, Any], table: Iterable[Setting] = SETTINGS) -> tuple[str, ...]:
    """A warning for each deprecated setting that is given."""
    used = (one for one in table if one.deprecated and given.get(one.field) is not None)
    return tuple(f"{one.name or one.field} is deprecated {one.deprecated}" for one in used)


def check_engine(
    given: Mapping[str, Any], engine: EngineKind, instead: Mapping[str, str] = NOTHING
) -> None:
    """SpecError for the first setting that has a value but no effect on this engine.

    *instead* says why a setting is not needed there.
    """
    for one in SETTINGS:
        is_of_others = one.engines and engine.name not in one.engines
        if is_of_others and given[one.field] and given[one.field] != one.default:
            raise SpecError(None, one.field, _of_others(one, engine, instead.get(one.field)))


def _of_others(setting: Setting, engine: EngineKind, reason: str | None) -> str:
    if reason:
        return f"is not supported on {engine.title}: {reason}"
    theirs = [ENGINES[name] for name in setting.engines]
    names = " and ".join(one.title for one in theirs)
    return f"is supported only on {names} (master {' or '.join(one.master for one in theirs)})"


def merge(given: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """A value for every setting, checked on its own: given > environment > default."""
    for field in given:
        if field not in DEFAULTS:
            problem = f"is not a setting{suggestion(field, DEFAULTS)}"
            raise SpecError(None, field, problem)
    values = {one.field: one.read(one.choose(given.get(one.field), environ)) for one in SETTINGS}
    for setting in SETTINGS:
        setting.verify(values[setting.field])
    return values
