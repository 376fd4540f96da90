"""Every error that tfmesos raises on purpose, each with its exit code."""

from __future__ import annotations


class TFMesosError(Exception):
    """Base of every error this package raises on purpose.

    ``exit_code`` is what ``tfrun`` exits with when the error reaches the top.
    """

    exit_code = 1


class SpecError(TFMesosError):
    """The caller asked for something impossible; nothing was started.

    The error names a *field*; ``tfrun`` names the flag that sets it.
    ``job`` is None when the field belongs to the whole run.
    """

    exit_code = 2

    def __init__(self, job: str | None, field: str, problem: str) -> None:
        where = "" if job is None else f"job {job!r}: "
        super().__init__(f"{where}{field} {problem}")
        self.job = job
        self.field = field
        self.problem = problem

    @property
    def is_about_name_of_job(self) -> bool:
        """The field may also be the name of the run."""
        return self.job is not None and self.field == "name"


class UnreadableFile(SpecError):
    """The file that a setting names is not there or cannot be read."""

    exit_code = 66  # EX_NOINPUT


class CannotRead(TFMesosError):
    """A file, or what an address stands for, is not there or cannot be read."""

    exit_code = 66  # EX_NOINPUT


class CannotWrite(TFMesosError):
    """There is no room for a file that is needed here."""

    exit_code = 74  # EX_IOERR


class FrameError(TFMesosError):
    """Bytes from the other side do not follow the protocol."""


class HandshakeError(TFMesosError):
    """The other side could not prove that it belongs to this run."""


class EngineError(TFMesosError):
    """The cluster cannot be reached, refused the request or went away."""

    exit_code = 69  # EX_UNAVAILABLE


class MasterError(EngineError):
    """The Mesos master cannot be reached, refused the request or went away."""


class Refused(EngineError):
    """The engine understood the request, and says that it is invalid."""

    exit_code = 2


class ResourcesError(TFMesosError):
    """The cluster did not offer the resources of the jobs."""

    exit_code = 75  # EX_TEMPFAIL


class StartTimeout(TFMesosError):
    """The tasks were launched, but did not all report back in time."""

    exit_code = 124  # as timeout(1)


class Hung(TFMesosError):
    """The tasks ran, but wrote nothing for longer than ``hang_timeout``."""

    exit_code = 124


class RunTimeout(TFMesosError):
    """The run took longer than is allowed."""

    exit_code = 124


class Preempted(TFMesosError):
    """The tasks had to leave their nodes and were stopped with their grace period; run it again."""

    exit_code = 75  # EX_TEMPFAIL


class Interrupted(TFMesosError):
    """The run was stopped by a signal or by its user."""

    exit_code = 130

    def __init__(self, reason: str, exit_code: int = 130) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


class TaskFailed(TFMesosError):
    """A task failed; the first one to fail is reported as the cause."""

    def __init__(self, task: str, reason: str, exit_code: int = 1) -> None:
        super().__init__(f"{task} {reason}")
        self.task = task
        self.reason = reason
        self.exit_code = exit_code


MAX_CODE = 255  # of exit codes: an exit status holds eight bits of them

# The runner's own exit codes, outside of what commands and signals usually give.
CANNOT_REACH_LAUNCHER = 211
HANDSHAKE_FAILED = 212
LAUNCHER_LOST = 213
BAD_SETTINGS = 214
PORT_TAKEN = 215
RUNNER_BROKEN = 216
NODE_REFUSED = 217
CANNOT_UNPACK = 218
OLD_PYTHON = 219
NODE_UNFIT = 220

EVICTED = "was ended by its node"  # what the runner reports of itself then
DRAINED = EVICTED + ", which the operator is draining"

RUNNER_EXITS = {
    CANNOT_REACH_LAUNCHER: "could not reach the launcher from its node",
    HANDSHAKE_FAILED: "could not agree with the launcher: their secrets differ, or it had no room",
    LAUNCHER_LOST: "lost touch with the launcher and stopped",
    BAD_SETTINGS: "was started with settings its runner does not understand",
    PORT_TAKEN: "could not get its port: another program on the node uses it",
    RUNNER_BROKEN: "was ended by an internal error in the runner; its stderr has the traceback",
    NODE_REFUSED: "was refused a resource that its runner needs; its stderr says which",
    CANNOT_UNPACK: "could not unpack the files that were sent to it",
    NODE_UNFIT: "failed the check of its node",
    OLD_PYTHON: "was started with a Python older than 3.8",
}
