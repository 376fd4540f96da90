"""Exit codes as a shell counts them, and the words for ends that nobody chose."""

from __future__ import annotations

KILLED = 137  # by SIGKILL
TERMINATED = 143  # by SIGTERM
_SIGNALS = dict(  # of Linux
    enumerate(
        "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT "
        "STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS".split(),
        1,
    )
)
_SIGNALS.update({34: "RTMIN", 64: "RTMAX"})


def killed_by(number: int) -> str:
    """The words for the end by a signal."""
    name = f"SIG{_SIGNALS[number]}" if number in _SIGNALS else "a signal"
    return f"was killed by {name} (signal {number})"


def is_signal(number: int) -> bool:
    return number in _SIGNALS


def out_of_memory(detail: str) -> str:
    """The words for a task that its node has killed, as the node says itself."""
    return f"was killed: out of memory ({detail})" if detail else "was killed: out of memory"


def memory_limit(mem: float) -> str:
    return f"its limit is {mem:g} MiB"


def after_out_of_memory(reason: str) -> str:
    """The words for a command that ended so after one of its processes had been killed."""
    return f"ran out of memory and {reason}"
