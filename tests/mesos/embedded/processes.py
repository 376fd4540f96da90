"""Tasks without an image: plain processes of this machine, each in a sandbox."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
from pathlib import Path

from tfmesos.json_types import Json
from tfmesos.shared import process

from .entities import Task

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_DEPTH = 8  # directories from the work directory to a sandbox


class Refusal(Exception):
    """The task cannot be started; the arguments are state, reason and message of the update."""


def exit_message(returncode: int) -> str:
    if returncode < 0:
        return f"Command terminated with signal {signal.strsignal(-returncode)}"
    return f"Command exited with status {returncode}"


def environment(task: Task, sandbox: Path) -> dict[str, str]:
    """What a genuine agent gives a command task: nothing of its own environment."""
    given = task.info["command"].get("environment", {}).get("variables", [])
    return {
        "PATH": PATH,
        "MESOS_SANDBOX": str(sandbox),
        "MESOS_DIRECTORY": str(sandbox),
        "MESOS_TASK_ID": task.id,
        "MESOS_EXECUTOR_ID": task.id,
        "MESOS_FRAMEWORK_ID": task.framework.id,
        "MESOS_SLAVE_ID": task.agent.id,
        "MESOS_ALLOCATION_ROLE": task.role,
        "MESOS_CHECKPOINT": "1" if task.framework.info.get("checkpoint") else "0",
        "LIBPROCESS_PORT": "0",
        **({"CUDA_VISIBLE_DEVICES": ",".join(task.gpu_ids)} if task.gpu_ids else {}),
        **{variable["name"]: variable.get("value", "") for variable in given},
    }


def start_process(task: Task, sandbox: Path, switch_user: bool = False) -> subprocess.Popen[bytes]:
    """The task as a process of this machine; raises Refusal.

    It is ours, or with *switch_user* that of the user whom it or its framework names.
    """
    _refuse_unsupported(task.info, task.container_id)
    named = task.info["command"].get("user")
    user = _other_user(named or (task.framework.info.get("user") if switch_user else None), sandbox)
    identity = _identity(user, sandbox) if user and switch_user else {}
    try:
        make_sandbox(sandbox)
        with open(sandbox / "stdout", "wb") as out, open(sandbox / "stderr", "wb") as err:
            if identity:
                _hand_over(sandbox, [out.fileno(), err.fileno()], identity)
            return _spawn(task, sandbox, out.fileno(), err.fileno(), identity)
    except (OSError, ValueError) as error:  # ValueError: a NUL in an argument or a variable
        raise launch_failed(process.in_words(error)) from error


def make_sandbox(sandbox: Path, mode: int = 0o700) -> None:
    sandbox.mkdir(mode=mode, parents=True)
    sandbox.chmod(mode)  # whatever the umask says
    sandbox.parent.chmod(0o700)
    if sandbox.parent.name == "runs":  # of one task
        latest = sandbox.parent / "latest"
        latest.unlink(missing_ok=True)
        latest.symlink_to(sandbox.name)


def _hand_over(sandbox: Path, files: list[int], identity: Json) -> None:
    """Give the sandbox to its user, who must be let through the directories above it."""
    places: list[Path | int] = [sandbox, *files]
    for place in places:
        os.chown(place, identity["user"], identity["group"])
    for directory in sandbox.parents[:_DEPTH]:
        directory.chmod(directory.stat().st_mode | 0o011)


def _spawn(
    task: Task, sandbox: Path, out: int, err: int, identity: Json
) -> subprocess.Popen[bytes]:
    command = task.info["command"]
    value = command.get("value", "")
    if command.get("shell", True):
        program, argv = "/bin/sh", ["sh", "-c", value]
    else:
        program, argv = value, command.get("arguments") or [value]
    try:
        return _popen(program, argv, environment(task, sandbox), sandbox, out, err, identity)
    except OSError as error:
        if process.is_limit(error):
            raise
        # Mesos learns of it only after the fork: the task runs, and exits with status 1.
        complaint = f"Failed to execute '{program}': {error.strerror}"
        argv = ["sh", "-c", 'echo "$0" >&2; exit 1', complaint]
        return _popen("/bin/sh", argv, {"PATH": PATH}, sandbox, out, err, identity)


def _popen(
    program: str,
    argv: list[str],
    env: dict[str, str],
    sandbox: Path,
    out: int,
    err: int,
    identity: Json,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        executable=program,
        env=env,
        cwd=sandbox,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
        user=identity.get("user"),
        group=identity.get("group"),
        extra_groups=identity.get("extra_groups"),
    )


def _refuse_unsupported(info: Json, container_id: str) -> None:
    if info.get("container", {}).get("volumes"):
        raise launch_failed(
            "the embedded agent mounts volumes only into images; other tasks see this machine"
        )
    refuse_uris(info, container_id)


def refuse_uris(info: Json, container_id: str) -> None:
    if info["command"].get("uris"):
        raise launch_failed(
            f"Failed to fetch all URIs for container '{container_id}': "
            "the embedded agent has no fetcher"
        )


def _other_user(name: str | None, sandbox: Path) -> pwd.struct_passwd | None:
    """Whom *name* means, unless it is us; raises Refusal if nobody has that name."""
    if not name or name == str(os.geteuid()):  # in a container a user often has a number only
        return None
    try:
        found = pwd.getpwnam(name)
    except (KeyError, ValueError):
        raise _dropped(name, f"No such user '{name}'", sandbox) from None
    return None if found.pw_uid == os.geteuid() else found


def _identity(user: pwd.struct_passwd, sandbox: Path) -> Json:
    """What makes a process that of *user*; raises Refusal if we may not."""
    if os.geteuid() != 0:
        raise _dropped(user.pw_name, "Operation not permitted", sandbox)
    groups = os.getgrouplist(user.pw_name, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": groups}


def _dropped(user: str, why: str, sandbox: Path) -> Refusal:
    failed = f"Failed to chown directory to '{user}': {why}"
    message = f"Failed to create executor directory '{sandbox}': {failed}"
    return Refusal("TASK_DROPPED", "REASON_EXECUTOR_TERMINATED", message)


def launch_failed(why: str) -> Refusal:
    message = f"Failed to launch container: {why}"
    return Refusal("TASK_FAILED", "REASON_CONTAINER_LAUNCH_FAILED", message)
