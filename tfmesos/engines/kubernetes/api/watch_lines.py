"""The stream of a watch: one JSON event on each line. Lines, depth and numbers are bounded."""

from __future__ import annotations

from collections.abc import Iterator

from ....json_types import Json
from ....shared import json_reader
from .error import NotKubernetes, Question, status_error

MAX_LINE = 8 * 1024 * 1024  # bytes; etcd takes objects of 1.5 MB
_TYPES = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")


class Lines:
    """Cuts the data that arrives into lines."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._begun = bytearray()  # a line without its end

    def feed(self, data: bytes) -> Iterator[bytes]:
        first, *others = data.split(b"\n")
        self._begun += first
        for other in others:
            yield self._line()
            self._begun += other
        self._check_length()

    def _line(self) -> bytes:
        self._check_length()
        line = bytes(self._begun)
        self._begun.clear()
        return line

    def _check_length(self) -> None:
        if len(self._begun) > MAX_LINE:
            raise NotKubernetes(f"{self._server} sent a line of more than {MAX_LINE} bytes")


def event_of(line: bytes, question: Question) -> tuple[str, Json]:
    """Type and object of an event; an error that the server reports is raised."""
    try:
        event = json_reader.read(line)
    except ValueError as error:
        raise NotKubernetes(f"{question.server} sent no JSON in a watch: {error}") from None
    kind = event.get("type") if isinstance(event, dict) else None
    found = event.get("object") if isinstance(event, dict) else None
    if not isinstance(found, dict) or kind not in (*_TYPES, "ERROR"):
        raise NotKubernetes(f"{question.server} sent something other than a watch event")
    if kind == "ERROR":
        raise status_error(found, question)
    return str(kind), found
