"""The rights that a run needs in its namespace, and which of them its user lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....json_types import Json
from ..api.error import MissingRights

Right = tuple[str, str]  # a resource, and a verb

_ALWAYS = {
    "configmaps": ("create", "delete", "list", "patch"),
    "pods": ("create", "delete", "list", "watch"),
    "pods/log": ("get",),
    "secrets": ("create", "delete"),
}
_TO_DIAL = {"pods/portforward": ("create", "get")}


def needed(dials: bool) -> list[Right]:
    """*dials*: the links to the tasks go through the server."""
    rights = {**_ALWAYS, **_TO_DIAL} if dials else _ALWAYS
    return [(resource, verb) for resource, verbs in rights.items() for verb in verbs]


def lacking(review: Mapping[str, Any], rights: Iterable[Right]) -> list[Right]:
    """Rights that no rule of a SelfSubjectRulesReview grants; some servers do not list all."""
    status = review.get("status") or {}
    rules = [rule for rule in status.get("resourceRules") or () if isinstance(rule, dict)]
    return [right for right in rights if not any(_grants(rule, *right) for rule in rules)]


def _grants(rule: Json, resource: str, verb: str) -> bool:
    kind, slash, sub = resource.partition("/")
    names = {resource, "*", *((f"{kind}/*", f"*/{sub}") if slash else ())}
    return (
        not rule.get("resourceNames")
        and _any(rule, "verbs", {verb, "*"})
        and _any(rule, "apiGroups", {"", "*"})
        and _any(rule, "resources", names)
    )


def _any(rule: Json, name: str, wanted: set[str]) -> bool:
    found = rule.get(name)
    return isinstance(found, list) and not wanted.isdisjoint(map(str, found))


def rules_review(namespace: str) -> Json:
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }


def access_review(namespace: str, right: Right) -> Json:
    resource, _, sub = right[0].partition("/")
    asked = {"namespace": namespace, "verb": right[1], "resource": resource, "subresource": sub}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }


def is_granted(review: Mapping[str, Any]) -> bool:
    return bool((review.get("status") or {}).get("allowed"))


def forbidden(rights: Sequence[Right], namespace: str) -> MissingRights:
    """The message about missing rights: all in one line."""
    if set(rights) >= set(needed(dials=False)):
        text = f"no rights in namespace {namespace}, if it exists"
        return MissingRights(f"{text}: a run needs a Role there (docs/kubernetes.rst)")
    verbs: dict[str, list[str]] = {}
    for resource, verb in rights:
        verbs.setdefault(resource, []).append(verb)
    what = "; ".join(f"{', '.join(those)} {resource}" for resource, those in verbs.items())
    rules = ", ".join(_rule(*entry) for entry in verbs.items())
    way_out = f"a Role with {'this rule' if len(verbs) == 1 else 'these rules'} would allow it"
    text = f"not allowed in namespace {namespace}: {what}; {way_out}: {rules}"
    return MissingRights(text)


def _rule(resource: str, verbs: Sequence[str]) -> str:
    listed = ", ".join(f'"{verb}"' for verb in verbs)
    return f'{{apiGroups: [""], resources: ["{resource}"], verbs: [{listed}]}}'
