"""A file that a setting names: no more of it is read than could be used."""

from __future__ import annotations

from ..errors import UnreadableFile
from ..plain_file import beginning


def content_of(field: str, path: str, most: int) -> bytes:
    """At most this many bytes of the file that the setting *field* names, or UnreadableFile."""
    try:
        return beginning(path, most)
    except (OSError, ValueError) as error:  # a path with a zero byte is a ValueError
        why = error.strerror if isinstance(error, OSError) else error
        raise UnreadableFile(None, field, f"cannot be read: {path}: {why}") from None
