"""Explains a refusal of pods by a security policy: which policy it is, and what to do."""

from __future__ import annotations

import re

from ....config.launch_config import LaunchConfig
from ....errors import TFMesosError
from ..api.error import ApiError

# Those of Pod Security, of PodSecurityPolicy (before 1.25) and of OpenShift.
_STANDARD = re.compile(r'violates PodSecurity "(\w+):[^"]*": (.+)', re.S)
_POLICY = re.compile(r"unable to (?:validate|admit)\b.*?: \[(.+)\]", re.S)
_ADVICE = re.compile(r" ?\([^()]*\)")
_ABOUT_USERS = ("allowPrivilegeEscalation", "capabilities", "runAs", "root", "seccomp")
_GIVE_USER = "give a user: a number above 0 that the image can run as, such as 1000"
_OTHER_USER = "choose another user, or none if the cluster chooses one"
_NODE_PATHS = "it forbids volumes that are paths of the nodes: use persistent volume claims"
_TEMPLATE = "change the pod template"


def explained(error: TFMesosError, config: LaunchConfig, namespace: str) -> TFMesosError:
    """*error* with the way out, if such a policy is its cause."""
    if not isinstance(error, ApiError) or error.code != 403:
        return error
    if found := _STANDARD.search(error.message):
        who, causes, shown = f"Pod Security {found[1]}", found[2], _ADVICE.sub("", found[2])
    elif found := _POLICY.search(error.message):
        who, causes, shown = "a security policy", found[1], found[1]
    else:
        return error
    words = f"namespace {namespace} enforces {who}, which refuses the pods: {shown.strip()}"
    words = f"{words}; {_way_out(causes, config)}"
    return ApiError(422, error.reason, error.message, error.details, words)


def _way_out(causes: str, config: LaunchConfig) -> str:
    found = []
    if config.volumes and "hostPath" in causes:
        found.append(_NODE_PATHS)
    if config.task_user is None or int(config.task_user.partition(":")[0]) == 0:
        found += [_GIVE_USER] * any(word in causes for word in _ABOUT_USERS)
    elif "runAsUser" in causes:
        found.append(_OTHER_USER)
    return "; ".join(found) or _TEMPLATE
