"""From the flags of tfrun to jobs and settings, and from a wrong field back to its flag."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ..config.job import Job
from ..errors import SpecError
from ..node import json_reader
from .arguments import build_parser

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
    (None, "tf_config"): "--tf-config",
    (None, "advertise"): "--advertise",
    (None, "constraints"): "--constraint",
    (None, "serve"): "--serve",
    (None, "local_chief"): "--local-chief",
    (None, "image"): "--image",
    (None, "role"): "-r/--role",
    (None, "user"): "--user",
    (None, "task_user"): "--user",
    (None, "cwd"): "--cwd",
    (None, "cmd"): "the command",
    (None, "python"): "--python",
    (None, "chief"): "--chief",
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


def flag_of(field: str) -> str:
    """What a user of tfrun calls the setting *field*."""
    return FIELD_FLAGS.get((None, field), field)


def in_flags(error: SpecError) -> str:
    """The error with the flag in the place of the field."""
    if error.field == "jobs":
        return "no task to run: say how many workers with -w/--nworker (or use --chief)"
    of_all = FIELD_FLAGS.get((None, error.field))  # of a job, too: the flag is the same for all
    flag = FIELD_FLAGS.get((error.job, error.field), of_all)
    return f"{flag} {error.problem}" if flag else str(error)


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
        "tf_config": args.tf_config,
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
        with open(path, "rb") as file:
            return json_reader.read(file.read())
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
