"""What ``tfrun`` understands on its command line, and its ``--help``."""

from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn

from ..config.job import DEFAULT_CPUS, DEFAULT_MEM
from ..config.launch import USUAL_RESTARTS
from ..errors import SpecError
from ..version import __version__

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


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"{self.prog}: {message} (see {self.prog} --help)\n")
        sys.exit(SpecError.exit_code)


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
    add("--ca-file", metavar="FILE", help="speak TLS to the masters, and trust these certificates")
    add(
        "--cert-file",
        metavar="FILE",
        help="speak TLS to the masters, with this certificate of ours",
    )
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
        "--tf-config",
        metavar="WHEN",
        help="who finds TF_CONFIG in the environment: auto (default), the tasks of a run of "
        "several, or always, a single one, too",
    )
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
    add(
        *("-v", "--verbose"),
        action="count",
        default=0,
        help="tell the story of the run, with times; -vv: everything that happens",
    )
    add("--version", action="version", version=f"tfmesos {__version__}")
