"""All settings of a run, merged, and checked in combination.

Single settings are checked by their table. Errors name the *field*; tfrun translates it into
the flag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..errors import SpecError
from ..record import NOTHING, Record
from .engine_kinds import EngineKind, engine_at
from .exec_limits import large_environment, wrong_name
from .failure_settings import DEFAULT_GRACE
from .job import Job, Task
from .jobs import tasks_of
from .kubernetes_settings import PodSettings
from .mounts import is_mounted
from .restart_settings import USUAL_RESTARTS, RestartPolicy
from .secret import Secret, TaskSecrets
from .settings import DEFAULTS
from .ship_settings import Ship
from .slurm_settings import SlurmRequest
from .task_choice import EVERY_TASK, TaskChoice
from .volumes import Volume

ELASTIC_HOLD = 10.0  # seconds
_NO_TEXT = re.compile("[\ud800-\udfff]")  # what Python makes of bytes that are not UTF-8
# These reach a task as they are, bytes that are not text included: only our own link has them.
_MAY_BE_BYTES = {
    "jobs",
    "access",
    "env",
    "inherited_env",
    "cwd",
    "initializer",
    "finalizer",
    "secrets",
    "ship",
    "pods",
}


class Access(Record):
    """The credentials and TLS settings for a Mesos master."""

    principal: str | None = None
    secret: Secret | None = None
    token: Secret | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None

    @property
    def speaks_tls(self) -> bool:
        """To masters whose address does not say http or https."""
        return bool(self.ca_file or self.cert_file)

    def __post_init__(self) -> None:
        if self.principal and (":" in self.principal or not self.principal.isprintable()):
            problem = f"must be text on one line, without a colon, got {self.principal!r}"
            raise SpecError(None, "principal", problem)
        if self.principal and self.secret is None:
            raise SpecError(None, "principal", f"{self.principal!r} needs a secret file, too")
        if self.secret is not None and not self.principal:
            raise SpecError(None, "secret_file", "needs a principal, too")
        if self.token and self.principal:
            problem = "and a principal are mutually exclusive: give only one"
            raise SpecError(None, "token_file", problem)
        if self.key_file and not self.cert_file:
            raise SpecError(None, "key_file", "needs a certificate file, too")


class LaunchConfig(Record):
    """All settings of a run, merged once from flags, environment and defaults."""

    jobs: tuple[Job, ...]
    master: str = DEFAULTS["master"]
    name: str = "tfmesos"
    access: Access = Access()
    role: str = DEFAULTS["role"]
    user: str = ""  # who launches
    task_user: str | None = None  # who the tasks run as, if given
    image: str | None = None
    containerizer: str | None = None
    force_pull_image: bool = False
    volumes: tuple[Volume, ...] = ()
    env: Mapping[str, str] = NOTHING  # set for the tasks by the user
    inherited_env: Mapping[str, str] = NOTHING  # the launcher's own; not for tasks in images
    ship: Ship | None = None  # the files that each task is sent
    cwd: str | None = None  # of the command, where the node has it, or in what is shipped
    cwd_is_given: bool = False  # by the user: then the node must have it
    python: str | None = None  # the interpreter on the nodes, if given
    own_python: str = "python3"  # the launcher's
    reserve_port: bool = DEFAULTS["reserve_port"]
    initializer: str | None = None
    finalizer: str | None = None
    protocol: str = DEFAULTS["protocol"]
    forward_addresses: Mapping[str, str] = NOTHING
    logs: TaskChoice = EVERY_TASK  # whose output is shown
    progress_every: float = 0.0  # seconds between two looks at a progress bar; 0: nobody looks
    start_timeout: float | None = None
    restarts: RestartPolicy = USUAL_RESTARTS
    success: TaskChoice | None = None  # who decides about it, if given
    run_timeout: float | None = None  # seconds
    checkpoint_before: float | None = None  # seconds before that, in which the tasks end
    grow_every: float | None = None  # seconds between two looks for room for more tasks
    hang_timeout: float | None = None  # seconds of silence that end the run
    hang_of_any: bool = False  # of any task, or of all
    tensorboard_stays: bool = False  # when all others have ended
    tensorboard_public: bool = False  # at the address of its node
    evaluator_grace: float = DEFAULTS["evaluator_grace"]  # seconds after all others
    stop_grace: float | None = None  # seconds from the signal below to SIGKILL, if given
    stop_signal: str = DEFAULTS["stop_signal"]
    resumes: bool = False  # will whoever starts it start it again, perhaps on another node?
    survive: float | None = None  # seconds that tasks wait for another launcher, if given
    advertise: tuple[str, int] | None = None
    tf_config: str = DEFAULTS[
        "tf_config"
    ]  # for every task of a run of several; "always": of one task, too
    record: bool = True  # keep a record of the run
    pause_on_failure: float | None = None  # seconds that a failed task is held, at most
    check: str | None = None  # a command that says whether a node is fit
    allow_exec: bool = True  # may its owner do something inside its tasks?
    bring: tuple[str, ...] = ()  # which files of each task are collected at the end
    bring_limit: int = 1024**3  # bytes of a task
    output_dir: str | None = None  # where the output of each task goes, too
    metrics_file: str | None = None  # for Prometheus
    on_end: str | None = None  # a shell command of this machine, or a URL
    local_chief: bool = False  # run the chief, or worker 0, as a child of the launcher
    secrets: TaskSecrets = TaskSecrets()
    link_tls: bool = False  # between the launcher and the runners, wherever they are
    pods: PodSettings = PodSettings()  # of Kubernetes
    generation: int = 0  # of the run, that these jobs are of
    slurm: SlurmRequest = SlurmRequest()
    remark: str = ""  # what the user should know about these settings
    warnings: tuple[str, ...] = ()  # what a job file says that has no effect here

    def __post_init__(self) -> None:
        self._check_texts()
        self._check_user()
        if self.local_chief and self.chief.job.cmd is None:
            problem = f"needs a command, but {self.chief.name} is a bare server"
            raise SpecError(None, "local_chief", problem)
        if self.local_chief and self.hang_timeout is not None:
            problem = (
                "cannot be combined with a local chief: tfrun does not see the output of the chief"
            )
            raise SpecError(None, "hang_timeout", problem)
        if self.local_chief and self.restarts.after_start == "all":
            problem = "'all' cannot be combined with a local chief: the chief is not restarted"
            raise SpecError(None, "restart_policy", problem)
        self._check_checkpoint()
        self._check_growth()
        self._check_ship()
        if self.tensorboard_stays and not any(task.is_auxiliary for task in self.tasks):
            raise SpecError(None, "tensorboard_stays", "needs a run with TensorBoard")
        if self.bring and not self.record:
            problem = "needs the record of the run, which holds the files"
            raise SpecError(None, "bring", problem)
        if problem := wrong_name(self.env):
            raise SpecError(None, "env", problem)
        for key in self.secrets.variables:
            if key in self.env:
                raise SpecError(None, "secret_env", f"and env both set {key}: give it once")
        for job in self.jobs:
            if problem := large_environment(self.env_of(job)):
                raise SpecError(None, "env", problem)
        self._check_volumes()
        self._check_survival()
        if self.engine.is_here:
            self._check_ports()
        if not self.engine.runs_pods:
            self._check_templates()

    def _check_checkpoint(self) -> None:
        if self.checkpoint_before is None:
            return
        if self.engine.limits_time and self.run_timeout is None:
            return
        if self.run_timeout is None or self.checkpoint_before >= self.run_timeout:
            problem = f"must be shorter than the run timeout, got {self.checkpoint_before:g}"
            raise SpecError(None, "checkpoint_before", problem)

    def _check_growth(self) -> None:
        if self.grow_every is None or self.generation:
            return  # an update may leave no range
        if all(job.at_least is None for job in self.jobs):
            raise SpecError(None, "grow_every", "needs a job that asks for MIN:MAX tasks")
        if self.restarts.after_start != "all":
            problem = "needs the restart policy 'all': growing starts all tasks again"
            raise SpecError(None, "grow_every", problem)

    def _check_survival(self) -> None:
        if not self.survive:
            return
        if not self.engine.survives:
            problem = "needs a cluster: on this machine tasks end with their launcher"
            raise SpecError(None, "survive", problem)
        for field, is_wrong in (("local_chief", self.local_chief), ("record", not self.record)):
            if is_wrong:
                problem = "cannot be combined with survive: another launcher could not continue"
                raise SpecError(None, field, problem)

    def _check_volumes(self) -> None:
        plain = [job.name for job in self.jobs if self.image_of(job) is None]
        for volume in self.volumes:
            if plain and volume.host != volume.container:
                whose = f", but {plain[0]} has none" if self.images else ""
                problem = (
                    f"{volume.host}:{volume.container} needs an image{whose}: "
                    "without one a task sees the node's own files"
                )
                raise SpecError(None, "volumes", problem)

    def _check_templates(self) -> None:
        for job in self.jobs:
            if job.pod_template:
                problem = "is supported only on Kubernetes (master k8s://)"
                raise SpecError(job.name, "pod_template", problem)

    def _check_ports(self) -> None:
        """On one machine, no two tasks can require the same port."""
        taken: set[int] = set()
        for task in self.tasks:
            if task.job.insists_on_port and task.job.wanted_port in taken:
                problem = f"{task.job.port} cannot be the port of two tasks on this machine"
                raise SpecError(task.job.name, "port", problem)
            taken.add(task.job.wanted_port if task.job.insists_on_port else 0)

    def _check_texts(self) -> None:
        """Mesos takes UTF-8 only."""
        for name, value in self._values().items():
            for text in () if name in _MAY_BE_BYTES else _texts_in(value):
                if _NO_TEXT.search(text):
                    field = "user" if name == "task_user" else name
                    raise SpecError(None, field, f"must be UTF-8, got {text!r}")

    def _check_ship(self) -> None:
        if self.ship is not None and self.local_chief and (self.ship.files or self.ship.address):
            problem = "cannot be combined with a local chief: it runs where your files are"
            raise SpecError(None, "ship" if self.ship.address else "ship_files", problem)
        self._check_cwd(None, self.cwd if self.cwd_is_given else None)
        for job in self.jobs:
            self._check_cwd(job.name, job.cwd)

    def _check_cwd(self, job: str | None, cwd: str | None) -> None:
        if not cwd or cwd.startswith("/"):
            return
        if self.ship is None:
            problem = f"must be an absolute path, got {cwd!r}; a relative path needs ship"
            raise SpecError(job, "cwd", problem)
        if ".." in cwd.split("/"):
            raise SpecError(job, "cwd", f"must be inside the shipped files, got {cwd!r}")

    def _check_user(self) -> None:
        if self.task_user in (None, self.user) or self.all_in_images or not self.engine.is_here:
            return
        problem = f"{self.task_user!r} needs an image or a cluster (-m): here you are {self.user!r}"
        raise SpecError(None, "user", problem)

    def asks_for_link_tls(self, host: str) -> str:
        """The setting for which the runners, who find us at *host*, use TLS; empty if none does."""
        if self.link_tls:
            return "link_tls"
        return "" if _is_loopback(host) else self.secrets.given_by

    def image_of(self, job: Job) -> str | None:
        """The image of the job, else of the run; an empty string means none."""
        return (self.image if job.image is None else job.image) or None

    @property
    def images(self) -> tuple[str, ...]:
        found = dict.fromkeys(self.image_of(job) for job in self.jobs if job.size)
        return tuple(image for image in found if image)

    @property
    def all_in_images(self) -> bool:
        return all(self.image_of(job) for job in self.jobs if job.size)

    def python_of(self, job: Job) -> str:
        """The interpreter of its tasks."""
        return self.python or ("python3" if self.image_of(job) else self.own_python)

    def directory_of(self, job: Job) -> str | None:
        """The directory in which its command runs: the launcher's own, if the container mounts it.

        A directory of the same name inside the image does not count.
        """
        if job.cwd or self.cwd_is_given or self.cwd is None or self.image_of(job) is None:
            return job.cwd or self.cwd
        is_here = is_mounted(self.cwd, job, self.volumes, self.pods)
        return self.cwd if is_here else None

    def env_of(self, job: Job) -> dict[str, str]:
        """What the user sets for its tasks."""
        return {**self.env, **dict(job.env)}

    def reserves_port(self, job: Job) -> bool:
        return self.reserve_port if job.reserve_port is None else job.reserve_port

    def in_generation(self, number: int, jobs: tuple[Job, ...]) -> LaunchConfig:
        """The same run with different jobs; new jobs show their output if the others do."""
        old = {job.name for job in self.jobs}
        speaking = {job.name for job in jobs if job.cmd is not None and not job.is_auxiliary}
        new = {(name, "*") for name in speaking - old} if self.logs.chosen else set()
        return self.replace(
            jobs=jobs,
            generation=number,
            logs=TaskChoice(self.logs.chosen | new),
        )

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tasks_of(self.jobs)

    @property
    def size(self) -> int:
        """The number of its tasks."""
        return sum(job.size for job in self.jobs)

    @property
    def chief(self) -> Task:
        """The task that leads: the chief's, else worker 0, else the first of all."""
        first = {task.type: task for task in reversed(self.tasks) if task.number == 0}
        return first.get("chief") or first.get("worker") or self.tasks[0]

    @property
    def kill_grace(self) -> float:
        """Seconds that a task has to end when it is asked to."""
        return DEFAULT_GRACE if self.stop_grace is None else self.stop_grace

    @property
    def elastic_hold(self) -> float:
        """Seconds for which a run waits for the last tasks of a range."""
        return self.pods.gang_hold if self.engine.holds_places else ELASTIC_HOLD

    @property
    def keeps_output(self) -> bool:
        """Of all tasks, shown or not."""
        return self.record or self.output_dir is not None or self.metrics_file is not None

    @property
    def has_servers(self) -> bool:
        return any(job.cmd is None for job in self.jobs)

    @property
    def engine(self) -> EngineKind:
        """The engine of the run, which the master names."""
        return engine_at(self.master)

    def hides(self, task: Task) -> bool:
        """Does it listen on the loopback of its node, where its runner connects us to it?"""
        return self.engine.hides_boards and task.is_private and not self.tensorboard_public


def _is_loopback(host: str) -> bool:
    return bool(re.fullmatch(r"localhost|::1|127(\.\d{1,3}){3}", host, re.A))


def _texts_in(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            yield from _texts_in((*value.keys(), *value.values()))
        case Record():
            yield from _texts_in(tuple(value._values().values()))
        case tuple() | frozenset():
            for one in value:
                yield from _texts_in(one)
