"""Quotas: how much all frameworks of a role may use together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...config.job import Resources
from ...json_types import Json
from ...record import Record
from .api.json_values import number, text


class Quota(Record):
    """What limits a role; other resources have no limit."""

    role: str
    limits: tuple[tuple[str, int], ...]  # in thousandths, like those of Resources
    used: Resources


def parse(body: Json, role: str) -> tuple[Quota, ...]:
    """The quotas in the answer of /roles that limit *role*: its own and those above it."""
    found = [(text(one["name"]), one.get("quota") or {}) for one in body["roles"]]
    return tuple(
        Quota(name, limits, _amounts(quota.get("consumed") or {}))
        for name, quota in found
        if (role == name or role.startswith(f"{name}/"))
        and (limits := tuple(_limits(quota.get("limit") or {})))
    )


def _limits(summary: Json) -> Iterator[tuple[str, int]]:
    for name in Resources._fields:
        if name in summary:
            yield name, round(number(summary[name]) * 1000)


def _amounts(summary: Json) -> Resources:
    return Resources.of(**{name: number(summary.get(name, 0)) for name in Resources._fields})


def exceeded(quotas: Sequence[Quota], needs: Resources) -> Iterator[str]:
    """The quota that tasks with these needs together would exceed, in words."""
    for quota in quotas:
        needed, used = dict(needs.named()), dict(quota.used.named())
        for name, limit in quota.limits:
            if needed[name] and used[name] + needed[name] > limit:
                allowed = f"{name} {limit / 1000:.10g} ({used[name] / 1000:.10g} in use)"
                yield f"the quota of the role {quota.role!r} allows {allowed}"
