"""The flags of tfrun: the only place that knows both flags and fields."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from .errors import SpecError
from .launch import USUAL_RESTARTS
from .spec import DEFAULT_CPUS, DEFAULT_MEM, Job
from .version import __version__

DESCRIPTION = "Run a command on a cluster made for it, and tell every copy who the others are."

EXAMPLES = """
examples:
  two workers and a parameter server on this machine:
    tfrun -w 2 -s 1 -- python train.py --ps {ps_hosts} --workers {worker_hosts} \\
                                       --job {job_name} --index {task_index}
  the same on a Mesos cluster, one GPU for each worker, in a container:
    tfrun -m mesos-master:5050 --image me/train -w 2 -s 1 -Gw 1 -- python train.py
  a chief and three workers that read TF_CONFIG, only the chief's output:
    tfrun --chief -w 3 --logs chief -- python train.py
"""

# Field of the library -> flag, for error messages.
FIELD_FLAGS = {
    (None, "jobs"): "-w/--nworker",
    (None, "master"): "-m/--master",
    (None, "logs"): "--logs",
    (None, "volumes"): "-V/--volume",
    (None, "env"): "--env",
    (None, "extra_config"): "-e/--extra-config",
    (None, "containerizer_type"): "-C/--containerizer-type",
    (None, "start_timeout"): "--start-timeout",
    (None, "restarts"): "--restarts",
    (None, "restart_policy"): "--restart-policy",
    (None, "retry_codes"): "--retry-codes",
    (None, "hang_timeout"): "--hang-timeout",
    (None, "advertise"): "--advertise",
    (None, "constraints"): "--constraint",
    (None, "serve"): "--serve",
    (None, "local_chief"): "--local-chief",
    (None, "image"): "--image",
    (None, "user"): "--user",
    (None, "cwd"): "--cwd",
    (None, "cmd"): "the command",
    (None, "principal"): "--principal",
    (None, "secret_file"): "--secret-file",
    (None, "token_file"): "--token-file",
    (None, "ca_file"): "--ca-file",
    (None, "cert_file"): "--cert-file",
    (None, "key_file"): "--key-file",
    ("worker", "num"): "-w/--nworker",
    ("ps", "num"): "-s/--nserver",
    ("worker", "cpus"): "-Cw/--worker-cpus",
    ("worker", "gpus"): "-Gw/--worker-gpus",
    ("worker", "mem"): "-Mw/--worker-mem",
    ("worker", "disk"): "--worker-disk",
    ("ps", "disk"): "--server-disk",
    ("chief", "disk"): "--chief-disk",
    ("evaluator", "disk"): "--evaluator-disk",
    ("ps", "cpus"): "-Cs/--server-cpus",
    ("ps", "gpus"): "-Gs/--server-gpus",
    ("ps", "mem"): "-Ms/--server-mem",
    ("chief", "cpus"): "--chief-cpus",
    ("chief", "gpus"): "--chief-gpus",
    ("chief", "mem"): "--chief-mem",
    ("evaluator", "cpus"): "--evaluator-cpus",
    ("evaluator", "gpus"): "--evaluator-gpus",
    ("evaluator", "mem"): "--evaluator-mem",
}


def in_flags(error: SpecError) -> str:
    """The error with the flag in the place of the field."""
    if error.field == "jobs":
        return "no task to run: say how many workers with -w/--nworker (or use --chief)"
    flag = FIELD_FLAGS.get((error.job, error.field))
    return f"{flag} {error.problem}" if flag else str(error)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"{self.prog}: {message} (see {self.prog} --help)\n")
        sys.exit(SpecError.exit_code)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    args = build_parser().parse_args(argv)
    if args.cmd[:1] == ["--"]:
        del args.cmd[0]
    return args


def jobs_of(args: argparse.Namespace) -> list[Job]:
    """The jobs the flags ask for; chief and evaluator are like workers unless told otherwise."""
    if not args.cmd:
        raise SpecError(
            None, "cmd", "is missing: give it at the end, tfrun -w 2 -- python train.py"
        )
    cmd = args.cmd[0] if len(args.cmd) == 1 else tuple(args.cmd)
    worker, server = _amounts_of(args, "worker"), _amounts_of(args, "server")
    like_worker = {
        role: {**worker, **{k: v for k, v in _amounts_of(args, role).items() if v is not None}}
        for role in ("chief", "evaluator")
    }
    jobs = [
        Job("ps", args.nserver, cmd=cmd, **server),
        Job("worker", args.nworker, cmd=cmd, **worker),
        Job("chief", int(args.chief), cmd=cmd, **like_worker["chief"]),
        Job("evaluator", int(args.evaluator), cmd=cmd, **like_worker["evaluator"]),
    ]
    served = _served(args.serve, [job for job in jobs if job.num])
    return [job.but(cmd=None) if job.name in served else job for job in jobs if job.num]


def _amounts_of(args: argparse.Namespace, role: str) -> dict[str, Any]:
    return {kind: getattr(args, f"{role}_{kind}") for kind in ("cpus", "mem", "gpus", "disk")}


def _served(text: str, jobs: Sequence[Job]) -> set[str]:
    """The jobs of --serve: they run the stock server instead of the command."""
    served = {name.strip() for name in text.split(",") if name.strip()}
    there = [job.name for job in jobs]
    for name in sorted(served):
        if name not in there:
            problem = f"names no job of this run: {name!r} (there is {', '.join(there)})"
            raise SpecError(None, "serve", problem)
    if served and served.issuperset(there):
        raise SpecError(None, "serve", f"leaves no task to run the command, got {text!r}")
    return served


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    """Everything but the jobs, in the words of config.make_config."""
    return {
        "role": args.role,
        "master": args.master,
        "name": args.name,
        "volumes": args.volume,
        "containerizer_type": args.containerizer_type,
        "force_pull_image": args.force_pull_image,
        "env": dict(_variable(text) for text in args.env),
        "extra_config": _extra_config(args.extra_config),
        "image": args.image,
        "user": args.user,
        "cwd": args.cwd,
        "python": args.python,
        "logs": _logs(args),
        "start_timeout": args.start_timeout,
        "restarts": args.restarts,
        "restart_policy": args.restart_policy,
        "retry_codes": args.retry_codes,
        "hang_timeout": args.hang_timeout,
        "advertise": args.advertise,
        "constraints": args.constraint,
        "local_chief": args.local_chief,
        "principal": args.principal,
        "secret_file": args.secret_file,
        "token_file": args.token_file,
        "ca_file": args.ca_file,
        "cert_file": args.cert_file,
        "key_file": args.key_file,
    }


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SpecError(None, "env", f"must be KEY=VALUE, got {text!r}")
    return name, value


def _extra_config(path: str | None) -> Any:
    if path is None:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        problem = f"cannot be read: {path}: {error.strerror}"
    except ValueError as error:
        problem = f"must hold a JSON object: {path}: {error}"
    raise SpecError(None, "extra_config", problem)


def _logs(args: argparse.Namespace) -> str | None:
    """--worker-logs of TFMesos: worker numbers, or * for all of them."""
    if args.worker_logs is None:
        return str(args.logs) if args.logs is not None else None
    if args.logs is not None:
        raise SpecError(None, "logs", "and --worker-logs exclude each other: give one of them")
    numbers = [number.strip() for number in args.worker_logs.split(",") if number.strip()]
    return ",".join(f"worker:{number}" for number in numbers)


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tfrun",
        usage="tfrun -w N [-s N] [options] -- command [argument ...]",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_tasks(parser.add_argument_group("what to run"))
    _add_resources(parser.add_argument_group("resources of each task"))
    _add_place(parser.add_argument_group("where to run it"))
    _add_failures(parser.add_argument_group("when tasks fail"))
    _add_access(parser.add_argument_group("how to be let in"))
    _add_container(parser.add_argument_group("in what surroundings"))
    _add_screen(parser.add_argument_group("what you see"))
    return parser


def _add_tasks(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("-w", "--nworker", type=int, default=0, metavar="N", help="number of worker tasks")
    add("-s", "--nserver", type=int, default=0, metavar="N", help="number of ps tasks (default 0)")
    add("--chief", action="store_true", help="also a chief; its end is the end of the run")
    add("--evaluator", action="store_true", help="also an evaluator")
    add(
        "--serve",
        default="",
        metavar="JOBS",
        help="jobs that run a bare TensorFlow server instead of the command, such as ps,worker",
    )
    add(
        "--local-chief",
        action="store_true",
        help="run the chief (or worker 0) right here in this terminal, the others remotely",
    )
    add(
        "cmd",
        nargs=argparse.REMAINDER,
        metavar="command",
        help="run in every task; {ps_hosts}, {worker_hosts}, {job_name}, {task_index} are filled "
        "in. A single argument goes to a shell, several are executed as they are",
    )


def _add_resources(group: argparse._ArgumentGroup) -> None:
    _add_amounts(group, "w", "worker", "a worker")
    _add_amounts(group, "s", "server", "a ps")
    _add_amounts(group, "", "chief", "the chief")
    _add_amounts(group, "", "evaluator", "the evaluator")


def _add_amounts(group: argparse._ArgumentGroup, short: str, name: str, what: str) -> None:
    """Four flags for one role; without short forms its defaults are those of a worker."""
    amounts: list[tuple[str, str, Any, float, str]] = [
        ("C", "cpus", float, DEFAULT_CPUS, "cpus of"),
        ("G", "gpus", float, 0, "gpus of"),
        ("M", "mem", float, DEFAULT_MEM, "memory, in MiB, of"),
        ("", "disk", float, 0.0, "disk space, in MiB, of"),
    ]
    for letter, kind, type_, default, words in amounts:
        names = [f"-{letter}{short}"] if letter and short else []
        group.add_argument(
            *names,
            f"--{name}-{kind}",
            type=type_,
            default=default if short else None,
            metavar="MIB" if "MiB" in words else "N",
            help=f"{words} {what} (default{' %(default)g' if short else ': as a worker'})",
        )


def _add_place(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "-m",
        "--master",
        help="Mesos master: HOST, HOST:PORT, http(s)://HOST:PORT, a comma-separated list, "
        "zk://HOSTS/PATH, or local: an embedded Mesos on this machine "
        "(default: $MESOS_MASTER, else local)",
    )
    add("-n", "--name", help="name of the framework (default: made of this command line)")
    add("-r", "--role", default="*", help="Mesos role (default: %(default)s)")
    add(
        "--advertise",
        metavar="HOST[:PORT]",
        help="where the tasks find this launcher (default: its address on the way to the master)",
    )
    add(
        "--constraint",
        action="append",
        default=[],
        metavar="[JOB=]FIELD:OPERATOR[:VALUE]",
        help="which agents to use, by hostname or an attribute: UNIQUE, CLUSTER[:VALUE], "
        "GROUP_BY[:N], MAX_PER:N, IS:VALUE, LIKE:REGEX, UNLIKE:REGEX, for each job or for JOB "
        "alone; may be given several times",
    )
    add(
        "--start-timeout",
        type=float,
        metavar="SECONDS",
        help="give up when not all tasks run by then (default: wait, and say what for)",
    )


def _add_failures(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--restarts",
        type=int,
        metavar="N",
        help="how often a task that fails before all have started, or as the policy says after "
        f"that, is started again (default {USUAL_RESTARTS.limit})",
    )
    add(
        "--restart-policy",
        metavar="WHAT",
        help="what to start again when a task is lost or killed after the start: never (default), "
        "task (it alone) or all (every task, with a fresh cluster spec)",
    )
    add(
        "--retry-codes",
        metavar="CODES",
        help="exit codes that are worth a restart, besides lost nodes (default "
        f"{','.join(str(code) for code in sorted(USUAL_RESTARTS.codes))})",
    )
    add(
        "--hang-timeout",
        type=float,
        metavar="SECONDS",
        help="end the run when no task has written anything for so long, and show first what "
        "their Python code is doing and whom they can reach (default: only say who is silent)",
    )


def _add_access(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--principal", help="principal for the master (default: $MESOS_PRINCIPAL)")
    add("--secret-file", metavar="FILE", help="its secret (default: $MESOS_SECRET_FILE)")
    add("--token-file", metavar="FILE", help="a token to send instead, as DC/OS wants it")
    add("--ca-file", metavar="FILE", help="certificates to trust for https masters")
    add("--cert-file", metavar="FILE", help="our own certificate for https masters")
    add("--key-file", metavar="FILE", help="its key, if it is not in the same file")


def _add_container(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--image", help="Docker image of the tasks (default: $DOCKER_IMAGE, else none)")
    add(
        "-C",
        "--containerizer-type",
        "--containerizer_type",
        nargs="?",
        metavar="TYPE",
        help="MESOS or DOCKER: which containerizer runs the image (default: MESOS)",
    )
    add(
        "-f",
        "--force-pull-image",
        "--force_pull_image",
        action="store_true",
        help="pull the image even if the node has it",
    )
    add(
        "-V",
        "--volume",
        action="append",
        default=[],
        metavar="HOST:CONTAINER[:ro|rw]",
        help="mount a path of the node; may be given several times",
    )
    add(
        "--env",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a variable for the command; may be given several times",
    )
    add("--user", help="user that runs the tasks (default: you; in Docker the image's)")
    add(
        "--cwd",
        metavar="DIR",
        help="directory of the command on the nodes (default: this one where it exists, "
        "else the sandbox)",
    )
    add("--python", help="interpreter on the nodes (default: this one; python3 in an image)")
    add(
        "-e",
        "--extra-config",
        "--extra_config",
        metavar="FILE",
        help="JSON object with initializer and finalizer: shell commands to run before and after",
    )


def _add_screen(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--logs",
        metavar="TASKS",
        help="whose output to show: all (default), none, or a list such as worker:0,ps:*",
    )
    add("--worker-logs", metavar="NUMBERS", help="as in TFMesos: numbers of workers, or *")
    add("--dry-run", action="store_true", help="print what would be sent to Mesos, send nothing")
    add("-v", "--verbose", action="store_true", help="tell everything that happens")
    add("--version", action="version", version=f"tfmesos {__version__}")
