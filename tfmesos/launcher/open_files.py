"""The limit of files that this process may have open at once."""

from __future__ import annotations

import resource

_EACH = 3  # files for a task: its connection and, on this machine, its process
_SPARE = 256  # for all else


def allow_tasks(number: int) -> int:
    """Raise the limit of open files as far as this many tasks need and the system allows.

    Most systems start with 1024. Returns for how many tasks the limit is enough.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY in (soft, hard):
        return number
    wanted = min(_EACH * number + _SPARE, hard)
    if wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return min(number, max(0, max(wanted, soft) - _SPARE) // _EACH)


def limit_warning(wanted: int) -> str:
    """The warning if the limit is too low for this many tasks; empty if it is not."""
    possible = allow_tasks(wanted)
    text = f"open files are limited: enough for about {possible} of {wanted} tasks"
    return f"{text}; raise it with ulimit -n" if possible < wanted else ""
