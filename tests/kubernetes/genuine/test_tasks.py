"""What a task finds in its pod, and what nobody else finds there."""

from __future__ import annotations

import json
import re

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.packs import write

from .pods import SMALL, on_kubernetes

TRAIN = "import os, package.model\nprint('found', package.model.ANSWER)\n"


def test_a_program_that_no_node_has_is_shipped(kube, tmp_path):
    place = write(tmp_path / "project", train_py=TRAIN, package__model_py="ANSWER = 42")
    words = on_kubernetes("-w", 2, *SMALL, "--ship")
    done = tfrun(*words, "--", "python3", "train.py", cwd=place)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[worker:0] found 42", "[worker:1] found 42"]


def test_a_pod_that_is_not_root_has_a_directory_that_it_can_write_to(kube, tmp_path):
    show = "id -u; pwd; python3 train.py; touch new && cat train.py > more && ls"
    place = write(tmp_path / "project", train_py="print('trained')")
    words = on_kubernetes("-w", 1, *SMALL, "-v", "--user", "65534:65534", "--ship")
    done = tfrun(*words, "--", show, cwd=place)
    assert done.returncode == 0, done.stderr
    user, where, *rest = [line.partition("] ")[2] for line in done.stdout.splitlines()]
    assert (user, rest) == ("65534", ["trained", "more", "new", "train.py"])
    assert re.fullmatch("/tmp/tfmesos-task-[0-9a-f]+/ship", where)
    assert where[: -len("/ship")] in done.stderr


def test_secrets_come_into_a_pod_and_into_no_object_of_the_cluster(kube, tmp_path):
    token = tmp_path / "token"
    token.write_text("hush-59f0c4d1e7")
    token.chmod(0o600)
    show = "echo key $KEY; cat $TFMESOS_SECRETS_DIR/token; echo; exec sleep 600"
    flags = ("--secret", f"token={token}", "--secret-env", f"KEY={token}")
    with running_tfrun(*on_kubernetes("-w", 1, *SMALL, *flags), "--", show) as run:
        read_until(run.stdout, "key hush-59f0c4d1e7", "] hush-59f0c4d1e7")
        told = [
            json.dumps(kube.admin.get(f"{kube.path}/{kind}"))
            for kind in ("pods", "secrets", "configmaps", "events")
        ]
        run.terminate()
        finish(run)
    encoded = "aHVzaC01OWYwYzRkMWU3"
    assert not [text for text in told if "hush-59f0c4d1e7" in text or encoded in text]


def test_the_limit_of_memory_ends_its_task_and_the_report_says_why(kube):
    greedy = "import time\nif {task_index}: x = bytearray(2**30)\ntime.sleep(60)"
    words = on_kubernetes("-w", 2, "-Cw", 0.1, "-Mw", 64)
    done = tfrun(*words, "--", "python3", "-c", greedy)
    assert done.returncode == 137, done.stderr
    assert "worker:1 ran out of memory" in done.stderr


@pytest.mark.rig("its nodes have the files of this machine")
def test_a_volume_of_the_node_and_the_shared_memory_are_there(kube, tmp_path):
    (tmp_path / "data").write_text("here")
    words = on_kubernetes("-w", 1, *SMALL, "-V", f"{tmp_path}:/in:ro", "--shm", "16M")
    script = "cat /in/data; echo; df -k --output=size /dev/shm | tail -1; touch /in/new || echo ro"
    done = tfrun(*words, "--", script)
    assert done.returncode == 0, done.stderr
    assert "[worker:0] here\n" in done.stdout and "[worker:0] ro\n" in done.stdout


@pytest.mark.rig("its nodes have the files of this machine")
def test_a_claim_of_a_volume_is_mounted(kube, tmp_path):
    name = f"of-{kube.name}"
    size = {"storage": "1Mi"}
    modes = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = {"capacity": size, "hostPath": {"path": str(tmp_path)}, **modes}
    claim = {"resources": {"requests": size}, "volumeName": name, **modes}
    volumes = "/api/v1/persistentvolumes"
    kube.admin.post(volumes, {"metadata": {"name": name}, "spec": volume})
    try:
        claims = f"{kube.path}/persistentvolumeclaims"
        kube.admin.post(claims, {"metadata": {"name": "data"}, "spec": claim})
        words = on_kubernetes("-w", 2, *SMALL, "--pvc", "data:/data")
        done = tfrun(*words, "--", "echo {task_index} > /data/{task_index}")
        assert done.returncode == 0, done.stderr
        assert sorted(path.name for path in tmp_path.glob("[01]")) == ["0", "1"]
    finally:
        kube.admin.delete(f"{volumes}/{name}")


@pytest.mark.rig("its nodes are of known sizes and names")
@pytest.mark.parametrize(
    "constraint, nodes",
    [
        ("rack:IS:r1", {"node-1"}),
        ("hostname:IS:node-3", {"node-3"}),
        ("rack:LIKE:r2", {"node-2", "node-3"}),
    ],
)
def test_a_constraint_says_on_which_nodes_a_task_may_run(kube, constraint, nodes):
    words = on_kubernetes("-w", 2, *SMALL, "--constraint", constraint)
    with running_tfrun(*words, "--", "echo up; exec sleep 600") as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        found = {pod["spec"]["nodeName"] for pod in kube.pods()}
        run.terminate()
        finish(run)
    assert found <= nodes


@pytest.mark.rig("its nodes are of known sizes and names")
def test_unique_hosts_are_different_nodes(kube):
    words = on_kubernetes("-w", 3, *SMALL, "--constraint", "hostname:UNIQUE")
    with running_tfrun(*words, "--", "echo up; exec sleep 600") as run:
        read_until(run.stdout, *(f"[worker:{index}] up" for index in range(3)))
        found = sorted(pod["spec"]["nodeName"] for pod in kube.pods())
        run.terminate()
        finish(run)
    assert found == ["node-1", "node-2", "node-3"]


@pytest.mark.rig("its nodes have the files of this machine")
def test_a_run_is_left_and_found_again(kube, tmp_path):
    script = "echo up; until [ -e /shared/go ]; do sleep 0.05; done; echo end"
    words = on_kubernetes("-w", 1, *SMALL, "-V", f"{tmp_path}:/shared:ro", "--detach")
    left = tfrun(*words, "--", script)
    assert left.returncode == 0, left.stderr
    (id_,) = re.findall(r"(?m)^(\S+)$", left.stdout)
    assert len(kube.pods()) == 1
    (tmp_path / "go").touch()
    attached = tfrun("logs", "--follow", id_)
    assert "[worker:0] up\n[worker:0] end\n" in attached.stdout, attached.stderr


def test_a_run_that_was_left_can_be_stopped(kube):
    left = tfrun(*on_kubernetes("-w", 1, *SMALL, "--detach"), "--", "exec sleep 600")
    assert left.returncode == 0, left.stderr
    stopped = tfrun("stop", left.stdout.split()[-1])
    assert stopped.returncode == 0, stopped.stderr
    assert kube.pods() == []
