"""Short ways to write down offers of Mesos and their resources."""

from __future__ import annotations

from collections import Counter

from tfmesos.engines.mesos.offers import Offer


def scalar(name, value, role="*"):
    return {"name": name, "type": "SCALAR", "scalar": {"value": value}, "role": role}


def ports(*ranges):
    listed = [{"begin": first, "end": last} for first, last in ranges]
    return {"name": "ports", "type": "RANGES", "ranges": {"range": listed}, "role": "*"}


def _nanoseconds(seconds):
    return {"nanoseconds": int(seconds * 1e9)}


def an_offer(
    id="o1", agent="", cpus=4.0, mem=8192.0, gpus=0.0, more=(), host="", down_in=None, **attributes
):
    amounts = {"cpus": cpus, "mem": mem, "gpus": gpus}
    plan = {} if down_in is None else {"unavailability": {"start": _nanoseconds(down_in)}}
    return Offer.from_json(
        {
            **plan,
            "id": {"value": id},
            "agent_id": {"value": agent or f"agent-of-{id}"},
            "hostname": host or f"host-of-{id}",
            "attributes": [
                {"name": name, "type": "TEXT", "text": {"value": value}}
                for name, value in attributes.items()
            ],
            "resources": [scalar(n, v) for n, v in amounts.items() if v] + list(more),
        }
    )


def amounts_of(resources):
    """Sum per name and role of a list of Mesos resources; ports one by one."""
    total = Counter()
    for resource in resources:
        if "scalar" in resource:
            key = resource["name"], resource["role"]
            total[key] += round(resource["scalar"]["value"] * 1000)
        else:
            for part in resource["ranges"]["range"]:
                total.update(("port", n) for n in range(part["begin"], part["end"] + 1))
    return total
