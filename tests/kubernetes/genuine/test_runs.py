"""tfrun on Kubernetes, from the outside: the promises that it keeps on each kind of Mesos."""

from __future__ import annotations

import ipaddress
import json
import re
import signal

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

from .conftest import GIVEN
from .pods import SMALL, on_kubernetes

TEST_NETWORK = ipaddress.ip_network("198.18.0.0/15")


def tagged(text, tag):
    """What was printed after *tag*, per task."""
    return dict(re.findall(rf"(?m)^\[(\S+)\] {tag} ?(.*)$", text))


def test_the_tasks_know_each_other_by_the_addresses_of_their_pods(kube):
    script = "echo hosts {ps_hosts} {worker_hosts}; echo own $(hostname -i)"
    done = tfrun(*on_kubernetes("-w", 2, "-s", 1, *SMALL), "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    (hosts,) = set(tagged(done.stdout, "hosts").values())
    told = [address.rpartition(":")[0] for address in re.split("[ ,]", hosts)]
    assert sorted(told) == sorted(tagged(done.stdout, "own").values()) and len(set(told)) == 3
    if not GIVEN:
        assert all(ipaddress.ip_address(address) in TEST_NETWORK for address in told)


@pytest.mark.rig("its nodes are of known sizes and names")
def test_tasks_that_fill_a_node_are_spread(kube):
    sizes = ("-w", 3, "-Cw", 1.5, "-Mw", 64)
    with running_tfrun(*on_kubernetes(*sizes), "--", "echo up; exec sleep 600") as run:
        read_until(run.stdout, *(f"[worker:{index}] up" for index in range(3)))
        nodes = sorted(pod["spec"]["nodeName"] for pod in kube.pods())
        run.send_signal(signal.SIGINT)
        finish(run)
    assert nodes == ["node-1", "node-2", "node-3"]


def test_the_cluster_may_be_named_by_the_environment(kube):
    words = on_kubernetes("-w", 1, *SMALL)[2:]
    done = tfrun(*words, "--", "echo at $(hostname)", env={"MESOS_MASTER": "k8s://"})
    assert done.returncode == 0, done.stderr
    assert "worker" in tagged(done.stdout, "at")["worker:0"]


def test_a_context_and_a_namespace_may_be_named(kube):
    words = on_kubernetes("-w", 1, *SMALL)[2:]
    master = f"k8s://restricted/{kube.name}"
    done = tfrun("-m", master, *words, "--", "echo", "hello")
    assert (done.returncode, done.stdout) == (0, "[worker:0] hello\n"), done.stderr


def test_a_task_finds_its_tf_config(kube):
    done = tfrun(*on_kubernetes("-w", 2, *SMALL), "--", "echo config $TF_CONFIG")
    configs = {name: json.loads(it) for name, it in tagged(done.stdout, "config").items()}
    assert sorted(configs) == ["worker:0", "worker:1"]
    assert configs["worker:1"]["task"] == {"type": "worker", "index": 1}
    assert configs["worker:0"]["cluster"] == configs["worker:1"]["cluster"]


@pytest.mark.parametrize(
    "script, code, reason",
    [
        ("exit $((3 * {task_index}))", 3, "worker:1 exited with 3 on "),
        ("[ {task_index} = 0 ] || kill -9 $$", 137, "worker:1 was killed by SIGKILL "),
    ],
)
def test_the_exit_code_is_that_of_the_task_that_failed(kube, script, code, reason):
    words = on_kubernetes("-w", 2, *SMALL)
    done = tfrun(*words, "--", "sh", "-c", f"echo so long; {script}")
    assert done.returncode == code, done.stderr
    assert f"tfrun: {reason}" in done.stderr and "    so long\n" in done.stderr
    assert re.search(r" on node-\d", done.stderr)


def test_an_image_without_the_interpreter_is_reported_with_what_the_node_says(kube):
    words = on_kubernetes("-w", 1, *SMALL, "--python", "/no/such/python")
    done = tfrun(*words, "--", "true")
    assert done.returncode == 127, done.stderr
    assert "/no/such/python" in done.stderr


def test_every_line_comes_home_in_its_order(kube):
    script = "import sys\nfor i in range(20000): print('line', i)\nprint('last', file=sys.stderr)"
    done = tfrun(*on_kubernetes("-w", 1, *SMALL), "--", "python3", "-c", script)
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"(?m)^\[worker:0\] line (\d+)$", done.stdout)
    assert lines == [str(number) for number in range(20000)]
    assert "[worker:0] last\n" in done.stderr


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_no_task(kube, number, code):
    """That no object is left is what the fixture sees to."""
    script = 'trap "echo cleaning; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    command = on_kubernetes("-w", 2, "-s", 1, *SMALL)
    with running_tfrun(*command, "--", "sh", "-c", script) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up", "[ps:0] up")
        run.send_signal(number)
        out, err = finish(run)
    assert run.returncode == code, err
    assert sorted(tagged(out, "cleaning")) == ["ps:0", "worker:0", "worker:1"]
    assert kube.pods() == []


def test_a_run_that_is_interrupted_while_it_waits_leaves_nothing(kube):
    with running_tfrun(*on_kubernetes("-w", 1, "-Cw", 9999), "--", "true") as run:
        read_until(run.stderr, "Insufficient cpu")
        run.send_signal(signal.SIGINT)
        finish(run)
    assert run.returncode == 130 and kube.pods() == []  # the fixture waits for the rest


@pytest.mark.rig("its nodes have the files of this machine")
def test_two_runs_share_a_namespace(kube, tmp_path):
    script = "echo hosts {worker_hosts}; until [ -e /shared/go ]; do sleep 0.05; done"
    words = on_kubernetes("-w", 2, *SMALL, "-V", f"{tmp_path}:/shared:ro")
    with running_tfrun(*words, "--", script) as first, running_tfrun(*words, "--", script) as other:
        for run in (first, other):
            read_until(run.stdout, "[worker:0]", "[worker:1]")
        assert len(kube.pods()) == 4
        (tmp_path / "go").touch()
        ends = [finish(run) for run in (first, other)]
    assert [first.returncode, other.returncode] == [0, 0], ends


def test_a_pod_holds_no_token_and_carries_the_words_people_select_by(kube):
    with running_tfrun(*on_kubernetes("-w", 1, *SMALL), "--", "echo up; exec sleep 600") as run:
        read_until(run.stdout, "up")
        (pod,) = kube.pods()
        run.send_signal(signal.SIGINT)
        finish(run)
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["restartPolicy"] == "Never"
    (container,) = pod["spec"]["containers"]
    amounts = container["resources"]
    assert amounts["requests"]["memory"] == amounts["limits"]["memory"] == "64Mi"
    assert pod["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "tfrun"
    assert [owner["kind"] for owner in pod["metadata"]["ownerReferences"]] == ["ConfigMap"]


def test_many_small_runs_leave_the_namespace_as_it_was(kube):
    for _ in range(3):
        assert tfrun(*on_kubernetes("-w", 1, *SMALL), "--", "true").returncode == 0
    wait_until("nothing is left", lambda: not kube.left())
