"""Paths of a node that are mounted in containers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..errors import SpecError
from ..record import Record


class Volume(Record):
    """A directory of the node, shown to the task at another (or the same) place."""

    host: str
    container: str
    read_only: bool = False

    @classmethod
    def parse(cls, text: str) -> Volume:
        parts = text.split(":")
        if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2] not in ("ro", "rw")):
            raise SpecError(None, "volumes", f"must be HOST:CONTAINER[:ro|rw], got {text!r}")
        volume = cls(parts[0], parts[1], parts[2:] == ["ro"])
        for path in (volume.host, volume.container):
            if not path.startswith("/"):
                raise SpecError(
                    None, "volumes", f"must name absolute paths, got {path!r} in {text!r}"
                )
        return volume


def parse_volumes(volumes: Mapping[str, str] | Iterable[str | Volume]) -> tuple[Volume, ...]:
    """Volumes as TFMesos's dict of host path to container path, or as HOST:CONTAINER texts."""
    if isinstance(volumes, str) or not isinstance(volumes, Iterable):
        problem = f"must be a dict or a list of HOST:CONTAINER[:ro|rw], got {volumes!r}"
        raise SpecError(None, "volumes", problem)
    if isinstance(volumes, Mapping):
        volumes = [f"{host}:{container}" for host, container in volumes.items()]
    return tuple(v if isinstance(v, Volume) else Volume.parse(v) for v in volumes)
