"""What the container of a task may do.

If it is known not to run as root, only what the Pod Security Standard "restricted" allows: such a
process loses nothing by that. Root may need its capabilities, for files of others for instance, so
a container that may be root is left as the cluster would have it. A template overrides each field
that it sets; null leaves the field out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....json_types import Json

_RESTRICTED: Json = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def security_context(user: str | None, of_pod: Any, of_container: Any) -> Json:
    """The one of the container; *user* is ``UID[:GID]``, the others are those of the template."""
    said = {**_mapping(of_pod), **_mapping(of_container)}
    ours = _ids(user)
    if not _is_plain_user({**said, **ours}):
        return ours
    defaults = {name: value for name, value in _RESTRICTED.items() if name not in said}
    if "SYS_ADMIN" in str(said.get("capabilities")):  # which is a privilege, to the API server
        defaults.pop("allowPrivilegeEscalation", None)
    return {**defaults, **ours}


def _ids(user: str | None) -> Json:
    if user is None:
        return {}
    uid, _, gid = user.partition(":")
    return {"runAsUser": int(uid), **({"runAsGroup": int(gid)} if gid else {})}


def _is_plain_user(context: Mapping[str, Any]) -> bool:
    """Is this user certainly not root?"""
    if context.get("privileged") is True:
        return False
    uid = context.get("runAsUser")
    return uid != 0 if uid is not None else context.get("runAsNonRoot") is True


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
