"""The rows of the table of settings that say when a run fails, and what it survives."""

from collections.abc import Iterable
from typing import Annotated, Any, TypedDict

from ..errors import SpecError
from .setting import (
    FAILURES,
    UNLIMITED,
    OneOf,
    Seconds,
    Setting,
    Text,
    above_zero,
    how_often,
    not_negative,
)
from .units import TIME, seconds

DEFAULT_RESTARTS = 3
DEFAULT_POLICY = "never"
DEFAULT_GRACE = 5.0  # seconds
DEFAULT_EVALUATOR_GRACE = 60.0  # seconds
DEFAULT_SURVIVAL = 600.0  # seconds
OF_ANY = "any:"  # before a time without output: that of any task, not of all
# Ended by SIGINT, SIGKILL, SIGTERM, or by TensorFlow's PreemptionCheckpointHandler: from outside.
DEFAULT_CODES = (42, 130, 137, 143)
policy_word = OneOf("never", "task", "all")


def parse_hang_timeout(value: Any) -> tuple[float | None, bool]:
    """The seconds, and whether they are those of any single task. Raises SpecError."""
    if value is None:
        return None, False
    is_of_any = isinstance(value, str) and value.startswith(OF_ANY)
    found = seconds(value.removeprefix(OF_ANY)) if isinstance(value, str) else value
    if found is None:
        raise SpecError(None, "hang_timeout", f"must be {TIME}, got {value!r}")
    return found, is_of_any


def hang_time(value: Any) -> str:
    try:
        found, _ = parse_hang_timeout(value)
    except SpecError as error:
        return error.problem
    return above_zero(found)


class FailureSettings(TypedDict, total=False):
    """A part of ``Settings``."""

    success: Annotated[
        Text,
        Setting(
            "tasks whose success is that of the run, such as worker:0",
            ("--success",),
            FAILURES,
            "TASKS",
            default_words="the chief, else all workers, else all commands",
        ),
    ]
    run_timeout: Annotated[
        Seconds,
        Setting(
            "end a run that is not over by then: seconds, or as in 12h",
            ("--run-timeout",),
            FAILURES,
            "TIME",
            default_words="let it run",
            check=above_zero,
        ),
    ]
    checkpoint_before: Annotated[
        Seconds,
        Setting(
            "stop the tasks so long before run_timeout (seconds, or as in 2m), and give them this "
            "time to write a checkpoint",
            check=above_zero,
        ),
    ]
    restarts: Annotated[
        str | int | None,
        Setting(
            "how often a task that fails before all have started, or as the policy says after "
            f"that, is started again; {UNLIMITED}: without end, once all have started",
            ("--restarts",),
            FAILURES,
            "N",
            default=DEFAULT_RESTARTS,
            check=how_often,
        ),
    ]
    restart_policy: Annotated[
        Text,
        Setting(
            "what to start again when a task is lost or killed after the start: never, "
            "task (it alone) or all (every task, with a fresh cluster spec)",
            ("--restart-policy",),
            FAILURES,
            "WHAT",
            default=DEFAULT_POLICY,
            check=policy_word,
        ),
    ]
    retry_codes: Annotated[
        str | Iterable[int] | None,
        Setting(
            "exit codes that are worth a restart, besides lost nodes, such as 137 or 128-255",
            ("--retry-codes",),
            FAILURES,
            "CODES",
            default=DEFAULT_CODES,
        ),
    ]
    stop_grace: Annotated[
        Seconds,
        Setting(
            "how long a task may take to end when it is told to (seconds, or as in 5m), before it "
            "is killed: time to write a checkpoint",
            ("--stop-grace",),
            FAILURES,
            "TIME",
            default_words=f"{DEFAULT_GRACE:g}",
            check=above_zero,
        ),
    ]
    stop_signal: Annotated[
        Text,
        Setting(
            "what tells a task to end: TERM, or INT as Ctrl-C does",
            ("--stop-signal",),
            FAILURES,
            "SIGNAL",
            default="TERM",
            check=OneOf("TERM", "INT"),
        ),
    ]
    survive: Annotated[
        Seconds,
        Setting(
            "how long the tasks on a cluster wait for another launcher (tfrun adopt) when this one "
            "is gone: seconds, or as in 1h; 0: they end soon",
            ("--survive",),
            FAILURES,
            "TIME",
            default_words=f"{DEFAULT_SURVIVAL / 60:g}m on a cluster",
            check=not_negative,
        ),
    ]
    hang_timeout: Annotated[
        str | int | float | None,
        Setting(
            "end the run when no task has written anything for so long (seconds, or as in 5m), and "
            "show first what their Python code is doing and whom they can reach; any:5m, when any "
            "single task has not",
            ("--hang-timeout",),
            FAILURES,
            "[any:]TIME",
            default_words="only say who is silent",
            check=hang_time,
        ),
    ]
    pause_on_failure: Annotated[
        Seconds,
        Setting(
            "hold a task whose command fails, for so long at most, so that tfrun exec and cp can "
            "look inside until tfrun continue or tfrun stop",
            ("--pause-on-failure",),
            FAILURES,
            "[=TIME]",
            implied="1h",
            check=above_zero,
        ),
    ]
    check: Annotated[
        Text,
        Setting(
            "run this command on the node of each task before any task starts; a node where it "
            "fails is left out for a while, and its last line is shown",
            ("--check",),
            FAILURES,
            "COMMAND",
        ),
    ]
    evaluator_grace: Annotated[
        Seconds,
        Setting(
            "how long an evaluator may go on when all others have finished (seconds, or as in "
            "5m); the run ends after it",
            ("--evaluator-grace",),
            FAILURES,
            "TIME",
            default=DEFAULT_EVALUATOR_GRACE,
            check=not_negative,
        ),
    ]
