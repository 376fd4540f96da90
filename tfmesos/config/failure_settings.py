"""The rows of the table of settings for failures, restarts and time limits."""

from collections.abc import Iterable
from typing import Annotated, Any, TypedDict

from ..errors import SpecError
from .setting import (
    FAILURES,
    UNLIMITED,
    Naming,
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
    """The seconds, and whether they apply to any single task. Raises SpecError."""
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
            "tasks that decide whether the run succeeded, such as worker:0; a failure of any "
            "other task still ends the run",
            ("--success",),
            FAILURES,
            "TASKS",
            default_words="the chief, else all workers, else all commands",
        ),
    ]
    run_timeout: Annotated[
        Seconds,
        Setting(
            "end the run if it takes longer than this (seconds, or with a unit, as in 12h)",
            ("--run-timeout",),
            FAILURES,
            "TIME",
            default_words="no limit",
            check=above_zero,
        ),
    ]
    checkpoint_before: Annotated[
        Seconds,
        Setting(
            "stop the tasks this long before --run-timeout (seconds, or with a unit, as in 2m), so "
            "that they can write a checkpoint",
            ("--checkpoint-before",),
            FAILURES,
            "TIME",
            default_words="stop them at the limit",
            check=above_zero,
        ),
    ]
    grow_every: Annotated[
        Seconds,
        Setting(
            "how often a run with fewer workers than the MAX of -w MIN:MAX looks for room for "
            "more (seconds, or with a unit, as in 30m); if there is room, the run stops all tasks "
            "within their grace period and begins its next generation",
            ("--grow-every",),
            FAILURES,
            "TIME",
            default_words="only with tfrun update",
            check=above_zero,
        ),
    ]
    restarts: Annotated[
        str | int | None,
        Setting(
            "how often to restart a failed task: before all tasks have started, and afterwards as "
            f"the restart policy allows; {UNLIMITED}: no limit once all have started",
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
            "what to restart when a task is lost or killed after the start: never, task (that "
            "task only) or all (every task, with a fresh cluster spec)",
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
            "exit codes after which a task is restarted as if its node had been lost, such as 137 "
            "or 128-255",
            ("--retry-codes",),
            FAILURES,
            "CODES",
            default=DEFAULT_CODES,
        ),
    ]
    stop_grace: Annotated[
        Seconds,
        Setting(
            "time that a stopped task has to write a checkpoint and end before it is killed "
            "(seconds, or with a unit, as in 5m)",
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
            "signal that asks a task to stop: TERM, or INT as sent by Ctrl-C",
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
            "how long tasks on a cluster wait for a new launcher (tfrun adopt) after this one is "
            "gone (seconds, or with a unit, as in 1h); 0: not at all",
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
            "end the run when no task has written anything for this long (seconds, or with a "
            "unit, as in 5m), and show what the Python code of the tasks is doing and which tasks "
            "they can reach; any:5m ends the run when any single task is silent",
            ("--hang-timeout",),
            FAILURES,
            "[any:]TIME",
            default_words="only name the silent tasks",
            check=hang_time,
        ),
    ]
    pause_on_failure: Annotated[
        Seconds,
        Setting(
            "hold a task whose command fails for at most this long, so that tfrun exec and cp can "
            "look inside; tfrun continue and tfrun stop release the task",
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
            "run this command on the node of each task before any task starts; if the command "
            "fails, show its last line and avoid the node for a while",
            ("--check",),
            FAILURES,
            "COMMAND",
            check=Naming("a command"),
        ),
    ]
    evaluator_grace: Annotated[
        Seconds,
        Setting(
            "how long the evaluator may continue after all other tasks have finished (seconds, or "
            "with a unit, as in 5m)",
            ("--evaluator-grace",),
            FAILURES,
            "TIME",
            default=DEFAULT_EVALUATOR_GRACE,
            check=not_negative,
        ),
    ]
