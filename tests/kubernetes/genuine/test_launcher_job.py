"""A launcher that a Job starts again, as the documentation says: its run goes on."""

from __future__ import annotations

import json
import shlex

import pytest
import yaml

from tests.mesos.genuine.cluster import wait_until

from .conftest import IMAGE
from .namespace import documented
from .pods import is_running
from .test_in_cluster import SCRIPT, lend

pytestmark = pytest.mark.rig("its nodes have the files of this machine")

# Until a file is there, which the test makes in the pod of each task.
TRAINING = (
    "i=0; until [ -e /tmp/go ]; do i=$((i + 1)); echo line $i; sleep 0.05; done; echo done $i"
)


class TrainingJob:
    def __init__(self, kube, state):
        self._kube, self._state = kube, state

    def pods(self):
        found = self._kube.admin.items(f"{self._kube.path}/pods?labelSelector=job-name=training")
        return {pod["metadata"]["name"]: pod for pod in found}

    def launcher(self, *but):
        """The name of a pod of the Job that runs, and is none of these."""
        found = [name for name, pod in self.pods().items() if name not in but and is_running(pod)]
        return found[0] if found else None

    def tasks(self):
        """The pods of the tasks: their names, and which ones they are."""
        labels = "labelSelector=app.kubernetes.io/managed-by=tfrun"
        found = self._kube.admin.items(f"{self._kube.path}/pods?{labels}")
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in found}

    def status(self):
        words = ("exec", "job/training", "-c", "tfrun", "--", "tfrun", "status", "--json")
        done = self._kube.kubectl(*words)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def run(self):
        (found,) = (self._state / "tfmesos" / "runs").iterdir()
        return found

    def log(self, number):
        log = self.run() / "output" / f"worker-{number}.log"
        text = log.read_text() if log.exists() else ""
        return [line.split(" ", 2)[2] for line in text.splitlines()]

    def is_complete(self):
        path = f"/apis/batch/v1/namespaces/{self._kube.name}/jobs/training"
        return self._kube.admin.get(path)["status"].get("succeeded")


@pytest.fixture
def volume(kube, tmp_path):
    """This cluster provisions nothing: a directory of this machine, for the claim of the page."""
    place = tmp_path / "volume"
    place.mkdir(mode=0o755)
    name = f"volume-{kube.name}"
    claim = {"namespace": kube.name, "name": "training"}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "claimRef": claim}
    body = {"metadata": {"name": name}, "spec": {**spec, "hostPath": {"path": str(place)}}}
    kube.admin.post("/api/v1/persistentvolumes", body)
    yield place
    kube.admin.delete(f"/api/v1/persistentvolumes/{name}")


@pytest.fixture
def job(kube, volume, tmp_path):
    """The objects of the page, applied as it says; the image of the tests is in place of its own.

    It has no tfmesos, but the nodes have.
    """
    (tmp_path / "tfrun").write_text(SCRIPT)
    (tmp_path / "tfrun").chmod(0o755)
    claim, training = yaml.safe_load_all(documented("job").replace("me/train", IMAGE))
    spec = training["spec"]["template"]["spec"]
    for container in (*spec["initContainers"], *spec["containers"]):
        container["image"] = IMAGE
    spec["containers"][0]["args"] = ["sh", "-c", TRAINING]
    lend(spec, tmp_path / "tfrun")
    (tmp_path / "training.yaml").write_text(yaml.safe_dump_all([claim, training]))
    account = documented("account").replace("NAMESPACE", kube.name).splitlines()[:-1]
    for line in (*account, documented("resumed").splitlines()[0]):
        done = kube.kubectl(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    yield TrainingJob(kube, volume)
    kube.kubectl("delete", "job,pvc", "training", "--ignore-not-found", "--wait=false")
    kube.kubectl("delete", "configmap", "-l", "app.kubernetes.io/managed-by=tfrun")  # if it failed


def test_a_job_goes_on_with_the_run_of_a_launcher_whose_pod_was_deleted(kube, job):
    wait_until("the run is there", job.status)
    wait_until("both write", lambda: len(job.tasks()) == 2 and job.log(0) and job.log(1))
    tasks, first = job.tasks(), job.launcher()
    assert kube.kubectl("delete", "pod", first, "--wait=false").returncode == 0
    wait_until("the Job has made another pod", lambda: job.launcher(first))
    about = job.run() / "run.json"
    wait_until("it has the run", lambda: json.loads(about.read_text()).get("launchers") == 2)
    assert job.tasks() == tasks
    for name in tasks:
        assert kube.kubectl("exec", name, "--", "touch", "/tmp/go").returncode == 0
    wait_until("the Job is complete", job.is_complete)
    assert json.loads((job.run() / "outcome.json").read_text())["exit_code"] == 0
    for number in range(2):
        *lines, last = job.log(number)
        assert lines == [f"line {n}" for n in range(1, int(last.removeprefix("done ")) + 1)]
    assert not (job.run() / "keys").exists()
    # The cluster removes what belonged to the owner of the run, after the run.
    wait_until(
        "nothing of the run is left",
        lambda: all("training" in name for name in kube.left()),
    )
