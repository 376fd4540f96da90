"""Directories that go with the last process that needs them.

Every process that needs one holds it by a lock: the launcher and its runners that of a local run, a
runner its own private one. The kernel releases the lock of a killed process, so whoever finds a
directory without a lock may remove it.
"""

from __future__ import annotations

import errno
import fcntl
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_ATTEMPTS = 5


class Private:
    """A new directory in *place* that only its user can use, until ``remove``.

    What a killed process left there under the same *prefix* is removed first. *warn_guard* learns
    the path before anything is there. OSError if it cannot be made.
    """

    def __init__(self, place: str, prefix: str, warn_guard: Callable[[str], object] = str) -> None:
        sweep(place, lambda name: name.startswith(prefix))
        for _ in range(_ATTEMPTS):  # somebody may sweep it away before we hold it
            self.path = os.path.join(place, prefix + os.urandom(8).hex())
            warn_guard(self.path)
            os.mkdir(self.path, 0o700)
            self._lock = hold(self.path)
            if self._lock is not None:
                return
        remove(self.path)
        raise OSError(errno.EBUSY, "a new directory cannot be opened")

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        if self._lock is not None:
            remove_unless_held(self.path, self._lock)
        self._lock = None


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
    """With all that is in it, if it is there; a file, too."""
    for remove_it in (os.unlink, os.rmdir):  # most are empty by then
        try:
            return remove_it(path)
        except FileNotFoundError:
            return
        except OSError:
            pass
    import shutil  # is rarely needed, and costs a task 10 ms

    shutil.rmtree(path, ignore_errors=True)


def sweep(place: str, is_ours: Callable[[str], object]) -> None:
    """Remove what others of our user left in *place* who were killed, by its names."""
    try:
        names = [name for name in os.listdir(place) if is_ours(name)]
    except OSError:
        return
    for name in names:
        remove_unless_held(os.path.join(place, name))


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
