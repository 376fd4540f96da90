"""Directories that nobody else can write into: how to make them, and how to tell them from others.

What we read back from them decides what we execute.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

MOST_LINKS = 40  # on the way to a directory, as Linux has it


def make_private(path: str | os.PathLike[str]) -> None:
    """Make *path* and what is missing above it, for its owner alone, whatever the umask.

    A home directory is never made: a user who has none is meant to have none. Raises OSError.
    """
    place = os.path.normpath(path)
    if os.path.isdir(place):
        return
    if place == os.path.normpath(os.path.expanduser("~")):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place)
    if parent := os.path.dirname(place):
        make_private(parent)
    try:
        os.mkdir(place, 0o700)
    except FileExistsError:
        if not os.path.isdir(place):  # else another launcher was faster
            raise


def weakness(path: str | os.PathLike[str]) -> str:
    """Why somebody else can change what *path* holds, with a way out; empty if nobody can.

    All directories and links on the way must belong to this user or to root. In a sticky one, such
    as /tmp, others can make files but not replace ours.
    """
    try:
        for place in _steps(os.path.abspath(path)):
            if why := weakness_of(os.lstat(place), is_sticky_safe=True):
                return f"{place} {why}"
    except (FileNotFoundError, NotADirectoryError):
        pass  # nothing is there yet
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


def weakness_of(found: os.stat_result, *, is_sticky_safe: bool = False) -> str:
    """The same of one file or directory alone, as the end of a sentence."""
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to another user ({user_name(found.st_uid)})"
    is_sticky_safe = is_sticky_safe and stat.S_ISDIR(found.st_mode)
    if stat.S_ISLNK(found.st_mode) or (is_sticky_safe and found.st_mode & stat.S_ISVTX):
        return ""
    is_group_wide = found.st_mode & stat.S_IWGRP and not _is_of_us_alone(found.st_gid)
    if is_group_wide or found.st_mode & stat.S_IWOTH:
        way_out = "revoke that with chmod go-w"
        sticky = ", or make it sticky, as /tmp is, with chmod +t" if is_sticky_safe else ""
        return f"is writable by other users: {way_out}{sticky}"
    return ""


def _steps(path: str) -> Iterator[str]:
    """Every directory on the way to *path*, and every link with the way that it leads."""
    at, names, links = "/", path.split("/")[::-1], 0
    yield at
    while names:
        name = names.pop()
        if name in ("", "."):
            continue
        at = os.path.dirname(at) if name == ".." else os.path.join(at, name)
        yield at
        if os.path.islink(at):
            if (links := links + 1) > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = os.readlink(at)
            at = "/" if target.startswith("/") else os.path.dirname(at)
            names += target.split("/")[::-1]


def _is_of_us_alone(group: int) -> bool:
    """Is it the group that many systems make for each user?"""
    import grp  # most directories are for their owner alone
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    is_own = group == user.pw_gid and group != 0 and found.gr_name == user.pw_name
    return is_own and set(found.gr_mem) <= {user.pw_name}


def user_name(number: int) -> str:
    import pwd  # only a complaint needs it

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
