"""The table of settings: everything a run can be told besides its jobs.

``Settings`` is that table. Each field states its type and, in a ``Setting``, its flags, environment
variable, default, check and help. From it come the parser of ``tfrun``, the flag that an error
names, the keywords of ``cluster()`` and ``TFMesosScheduler()``, the values of ``LaunchConfig`` and
the page of reference in the documentation.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from ..errors import SpecError
from ..text import suggestion
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
from .shipping import ShipSettings
from .slurm_settings import SlurmSettings
from .tensorboard import BoardSettings


class Settings(
    BoardSettings,
    EntrySettings,
    FailureSettings,
    KubernetesSettings,
    SecretSettings,
    ShipSettings,
    SlurmSettings,
    total=False,
):
    """The keywords of ``cluster()`` and ``TFMesosScheduler()``. None is as good as not given."""

    local_chief: Annotated[
        bool,
        Setting(
            "run the chief (or worker 0) right here in this terminal, the others remotely",
            ("--local-chief",),
            TASKS,
            default=False,
        ),
    ]
    master: Annotated[
        Text,
        Setting(
            "Mesos master: HOST, HOST:PORT, http(s)://HOST:PORT, a comma-separated list, "
            "zk://HOSTS/PATH; k8s://[CONTEXT][/NAMESPACE]: Kubernetes; slurm://[PARTITION]: Slurm; "
            "or local: this machine",
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
            "name of the framework",
            ("-n", "--name"),
            PLACE,
            default_words="made of this command line",
        ),
    ]
    role: Annotated[
        Text, Setting("Mesos role", ("-r", "--role"), PLACE, default="*", check=role_name)
    ]
    advertise: Annotated[
        Text,
        Setting(
            "where the tasks find this launcher",
            ("--advertise",),
            PLACE,
            "HOST[:PORT]",
            default_words="its address on the way to the master",
        ),
    ]
    constraints: Annotated[
        Iterable[str] | None,
        Setting(
            "which nodes to use, by hostname or an attribute: UNIQUE, CLUSTER[:VALUE], "
            "GROUP_BY[:N], MAX_PER:N, IS:VALUE, LIKE:REGEX, UNLIKE:REGEX, for each job or for JOB "
            "alone",
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
            "give up when not all tasks run by then: seconds, or as in 5m",
            ("--start-timeout",),
            PLACE,
            "TIME",
            default_words="wait, and say what for",
            check=above_zero,
        ),
    ]
    principal: Annotated[
        Text,
        Setting("principal for the master", ("--principal",), ACCESS, variable="MESOS_PRINCIPAL"),
    ]
    secret_file: Annotated[
        File,
        Setting("its secret", ("--secret-file",), ACCESS, "FILE", variable="MESOS_SECRET_FILE"),
    ]
    token_file: Annotated[
        File,
        Setting("a token to send instead, as DC/OS wants it", ("--token-file",), ACCESS, "FILE"),
    ]
    ca_file: Annotated[
        File,
        Setting(
            "speak TLS to the masters, and trust these certificates", ("--ca-file",), ACCESS, "FILE"
        ),
    ]
    cert_file: Annotated[
        File,
        Setting(
            "speak TLS to the masters, with this certificate of ours",
            ("--cert-file",),
            ACCESS,
            "FILE",
        ),
    ]
    key_file: Annotated[
        File, Setting("its key, if it is not in the same file", ("--key-file",), ACCESS, "FILE")
    ]
    link_tls: Annotated[
        bool,
        Setting(
            "encrypt the links to the tasks with TLS, also if the run has no secrets",
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
            "MESOS or DOCKER: which containerizer runs the image",
            ("-C", "--containerizer-type", "--containerizer_type"),
            CONTAINER,
            "TYPE",
            default_words="MESOS",
            check=containerizer,
        ),
    ]
    force_pull_image: Annotated[
        bool,
        Setting(
            "pull the image even if the node has it",
            ("-f", "--force-pull-image", "--force_pull_image"),
            CONTAINER,
            default=False,
        ),
    ]
    volumes: Annotated[
        Mapping[str, str] | Iterable[str] | None,
        Setting(
            "mount a path of the node",
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
            "set a variable for the command; without a value it is that of this shell",
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
            "set the variables of a file, whose lines are KEY=VALUE, for the command",
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
            default_words="you; in Docker the image's",
        ),
    ]
    cwd: Annotated[
        Text,
        Setting(
            "directory of the command on the nodes; a relative one is in what is shipped",
            ("--cwd",),
            CONTAINER,
            "DIR",
            default_words="this one where it exists, else the sandbox",
        ),
    ]
    python: Annotated[
        Text,
        Setting(
            "interpreter on the nodes",
            ("--python",),
            CONTAINER,
            default_words="this one; python3 in an image",
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
            "who finds TF_CONFIG in the environment: auto, the tasks of a run of several, or "
            "always, a single one, too",
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
            "JSON object with initializer and finalizer: shell commands to run before and after; "
            "the finalizer of a task that is stopped has 5 seconds",
            ("-e", "--extra-config", "--extra_config"),
            CONTAINER,
            "FILE",
        ),
    ]
    logs: Annotated[
        Text,
        Setting(
            "whose output to show: all, none, or a list such as worker:0,ps:*",
            ("--logs",),
            SCREEN,
            "TASKS",
            default_words="all that run a command",
        ),
    ]
    profile: Annotated[
        Text,
        Setting(
            "take settings from this profile of your configuration file: see tfrun config",
            ("--profile",),
            SCREEN,
            "NAME",
            variable="TFMESOS_PROFILE",
        ),
    ]
    output_dir: Annotated[
        File,
        Setting(
            "also write what each task writes into a file of this directory: worker-0.log, "
            "in the place of one that is there",
            ("--output-dir",),
            SCREEN,
            "DIR",
        ),
    ]
    metrics_file: Annotated[
        File,
        Setting(
            "write metrics of the run to this file every 10 seconds, for Prometheus",
            ("--metrics-file",),
            SCREEN,
            "FILE",
        ),
    ]
    on_end: Annotated[
        Text,
        Setting(
            "when the run has ended, call this shell command here, with TFMESOS_STATE and others "
            "in its environment, or POST them as JSON to a URL",
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
            negation="do not keep a record of this run, for tfrun list, status and logs",
        ),
    ]
    allow_exec: Annotated[
        bool,
        Setting(
            "let the owner of the run use tfrun exec, cp and forward inside its tasks",
            ("--no-exec",),
            SCREEN,
            default=True,
            negation="do not let tfrun exec, cp and forward into the tasks of this run",
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
