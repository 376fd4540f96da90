"""The directory of an embedded Mesos, locked by everybody who needs it.

Its launcher holds it, and so does each of its runners. The kernel ends the hold of a process that
is killed, so whoever finds that nobody holds it may remove it.
"""

from __future__ import annotations

import fcntl
import os


def hold(path: str) -> int | None:
    """Keep others from removing *path* until the answer is closed; None if it is gone."""
    try:
        opened = _open(path)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pass  # it is being removed
    except OSError:
        return opened  # there are no locks here, and nobody removes what cannot be locked
    else:
        if _is_at(opened, path):
            return opened
    os.close(opened)
    return None


def remove_unless_held(path: str, held: int | None = None) -> None:
    """Remove *path*, if it is ours and nobody else holds it; our own hold *held* is given up."""
    try:
        opened = _open(path) if held is None else held
    except OSError:
        return
    try:
        if os.fstat(opened).st_uid == os.geteuid():
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(opened, path):
                remove(path)
    except OSError:
        pass  # others hold it, or there are no locks here
    finally:
        os.close(opened)


def remove(path: str) -> None:
    """With all that is in it, if it is there."""
    import shutil  # is rarely needed, and not cheap

    shutil.rmtree(path, ignore_errors=True)


def _open(path: str) -> int:
    """A link is not followed."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _is_at(opened: int, path: str) -> bool:
    """Does the path still lead to this directory?"""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(os.fstat(opened), found)
