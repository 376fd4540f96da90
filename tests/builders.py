"""Short ways to write down jobs."""

from __future__ import annotations

from tfmesos.config.job import Job


def workers(num=1, **fields):
    return Job("worker", num, **{"cmd": "true", **fields})


def servers(num=1, **fields):
    return Job("ps", num, **{"cmd": "sleep 60", **fields})
