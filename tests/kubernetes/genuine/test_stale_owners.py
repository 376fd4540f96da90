"""What killed launchers have left, and the next run of their user."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.commands import tfrun
from tests.engines.kubernetes.test_objects import config
from tests.mesos.genuine.cluster import wait_until
from tfmesos.engines.kubernetes import objects
from tfmesos.engines.kubernetes.objects import Owner

from .pods import SMALL, create, on_kubernetes, pod

MINE = config().user


def leave(kube, name, minutes, user=MINE):
    """An owner that was renewed some *minutes* ago, with a Secret and a pod that has no node."""
    made = config().replace(user=user)
    last = (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    maps = f"{kube.path}/configmaps"
    kept = kube.user.post(maps, objects.owner(made, name, "here"))
    kube.user.patch(f"{maps}/{name}", objects.renewal(last))
    owner = Owner(name, kept["metadata"]["uid"])
    body = objects.secret(made, owner, f"{name}-secret-1", "stub", {})
    kube.user.post(f"{kube.path}/secrets", body)
    task = pod(f"{name}-worker-0", "true", nodeSelector={"rack": "none"})
    task["metadata"]["ownerReferences"] = [owner.reference]
    create(kube, task)


def owned(name):
    return [f"configmaps/{name}", f"pods/{name}-worker-0", f"secrets/{name}-secret-1"]


def test_the_next_run_deletes_what_its_user_has_not_renewed_for_ten_minutes(kube):
    leave(kube, "tfmesos-stale", 11)
    leave(kube, "tfmesos-fresh", 8)
    leave(kube, "tfmesos-theirs", 11, "somebody-else")
    done = tfrun(*on_kubernetes("-w", 1, *SMALL), "--", "true")
    assert done.returncode == 0, done.stderr
    rest = sorted([*owned("tfmesos-fresh"), *owned("tfmesos-theirs")])
    wait_until("the stale one is gone", lambda: sorted(kube.left()) == rest)
    for name in ("tfmesos-fresh", "tfmesos-theirs"):
        kube.user.delete(f"{kube.path}/configmaps/{name}")
