"""The volumes of a pod: directories of its node, or empty ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..parts import Part


def volumes_of(spec: Part) -> dict[str, Part]:
    """The volumes by name; their kind matters only where they are mounted."""
    return {str(one.text("name")): one for one in spec.parts("volumes")}


def mounts_of(
    one: Part, volumes: Mapping[str, Part], mounted: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """HOST:CONTAINER[:ro] by path, and the paths of empty directories.

    Skips paths at which a flag has *mounted* something, which replaces any volume.
    """
    mounts: dict[str, str] = {}
    scratch: list[str] = []
    hosts: dict[str, str | None] = {}  # by volume
    for mount in one.parts("volumeMounts"):
        name, path = mount.text("name") or "", mount.path("mountPath") or ""
        below, read_only = mount.text("subPath"), mount.flag("readOnly")
        mount.drop("recursiveReadOnly")
        mount.refuse(mountPropagation="is not supported", subPathExpr="is not understood")
        mount.close()
        if name not in volumes:
            mount.fail("name", f"names no volume of the pod, got {name!r}")
        if path in mounted:
            continue
        if name not in hosts:
            hosts[name] = host_path(volumes[name], path)
        if (host := hosts[name]) is None:
            scratch.append(path)
        else:
            host = f"{host.rstrip('/')}/{below}" if below else host
            mounts[path] = f"{host}:{path}" + (":ro" if read_only else "")
    return mounts, tuple(scratch)


def host_path(volume: Part, mount_path: str) -> str | None:
    """The path of a volume on its node; None for an empty one."""
    if "emptyDir" in volume:
        empty = volume.part("emptyDir")
        empty.refuse(medium="is not supported")
        empty.warn(sizeLimit="has no effect here: use disk")
        empty.close()
        volume.close()
        return None
    if "hostPath" not in volume:
        kind = next(iter(volume), "nothing")
        ways_out = f"run with -m k8s://, or mount a directory instead: -V DIR:{mount_path}"
        volume.fail(kind, f"is a volume of Kubernetes: {ways_out}")
    found = volume.part("hostPath")
    path, kind = found.path("path"), found.text("type") or ""
    if not path:
        found.fail("path", "is missing")
    if kind.endswith("OrCreate"):
        found.remark("type", "has no effect here: the directory must be there")
    found.close()
    volume.close()
    return path
