"""TFJobs of Kubeflow, and their ancestor TfJob v1alpha1, as documents of ours."""

from __future__ import annotations

import copy

import pytest
import yaml

from tests.sentences import begins, names
from tfmesos.jobfiles.formats import translate
from tfmesos.jobfiles.reading import read
from tfmesos.jobfiles.tfjob.document import is_mine, to_ours
from tfmesos.jobfiles.translation import Beside, JobFileError

RETRIED = {"restart_policy": "task", "retry_codes": "128-255", "restarts": "unlimited"}
ALWAYS = {**RETRIED, "retry_codes": "1-255"}
IMAGE = "registry.example/train:1"


def replica(type_=None, replicas=1, **more):
    container = {"name": "tensorflow", "image": IMAGE, **more}
    pod = {"template": {"spec": {"containers": [container], "restartPolicy": "OnFailure"}}}
    return {"tfReplicaType": type_, "replicas": replicas, **pod}


def old(*replicas, **spec):
    return {
        "apiVersion": "tensorflow.org/v1alpha1",
        "kind": "TfJob",
        "metadata": {"name": "example-job"},
        "spec": {"replicaSpecs": list(replicas), **spec},
    }


def new(spec=(), **replicas):
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "dist-mnist"},
        "spec": {"tfReplicaSpecs": replicas, **dict(spec)},
    }


def typed(num=1, policy="Never", pod=(), **container):
    one = {"name": "tensorflow", "image": IMAGE, "command": ["python", "train.py"], **container}
    spec = {"containers": [one], **dict(pod)}
    return {"replicas": num, "restartPolicy": policy, "template": {"spec": spec}}


def ours(tree):
    return to_ours(copy.deepcopy(tree)).document


def remarks(tree):
    return list(to_ours(tree).remarks)


# v1alpha1


def test_a_master_workers_and_ps_of_the_first_version_become_one_run():
    master = replica("MASTER", command=["python", "/smoke.py"])
    worker = replica("WORKER", 2, command=["python", "/smoke.py"])
    assert ours(old(master, worker, {"replicas": 2, "tfReplicaType": "PS"})) == {
        "name": "example-job",
        "image": IMAGE,
        "restart_policy": "task",
        "restarts": "unlimited",
        "jobs": {
            "master": {"num": 1, "cmd": ["python", "/smoke.py"], "retry_codes": "128-255"},
            "worker": {"num": 2, "cmd": ["python", "/smoke.py"], "retry_codes": "1-255"},
            "ps": {"num": 2, "serve": True, "retry_codes": "1-255"},
        },
    }


def test_the_earlier_spelling_ports_and_the_gpus_of_that_time_are_understood():
    gpu = {"limits": {"alpha.kubernetes.io/nvidia-gpu": 1}}
    tree = old()
    tree["spec"] = {"replica_specs": [{**replica("MASTER", resources=gpu), "tfPort": 2222}]}
    assert ours(tree)["jobs"] == {"master": {"num": 1, "args": [], "gpus": 1, "port": 2222}}


def test_what_the_operator_wrote_into_its_object_is_passed_over():
    tree = old(
        replica("MASTER", resources={}),
        {
            "IsDefaultPS": True,
            "replicas": 2,
            "tfPort": 2222,
            "tfReplicaType": "PS",
            "template": {
                "metadata": {"creationTimestamp": None},
                "spec": {
                    "containers": [
                        {
                            "name": "tensorflow",
                            "image": "tensorflow/tensorflow:1.3.0",
                            "volumeMounts": [{"mountPath": "/ps-server", "name": "config"}],
                        }
                    ]
                },
            },
        },
        RuntimeId="76no",
        tfImage="tensorflow/tensorflow:1.3.0",
        tensorboard={"logDir": "/tmp/logs", "serviceType": "", "volumes": None},
    )
    tree["metadata"] |= {"uid": "e11f", "resourceVersion": "1881", "clusterName": ""}
    tree["status"] = {"phase": "Done"}
    found = to_ours(tree)
    assert found.remarks == ()
    jobs = found.document["jobs"]
    assert jobs["ps"] | {"port": 2222} == jobs["ps"] and jobs["ps"]["serve"] is True
    assert jobs["ps"]["image"] == jobs["tensorboard"]["image"] == "tensorflow/tensorflow:1.3.0"
    assert jobs["master"]["image"] == IMAGE


def test_tensorboard_becomes_a_job_that_shares_the_volumes_of_the_run():
    board = {
        "logDir": "/logs of mine",
        "volumes": [{"name": "logs", "hostPath": {"path": "/srv/logs"}}],
        "volumeMounts": [{"name": "logs", "mountPath": "/logs"}],
        "serviceType": "LoadBalancer",
    }
    found = to_ours(old(replica("MASTER"), tensorboard=board))
    job = found.document["jobs"]["tensorboard"]
    assert job["cmd"].startswith("at={tensorboard_hosts}; exec env TMPDIR=")
    assert job["cmd"].endswith(" --logdir '/logs of mine'")
    assert found.document["volumes"] == ["/srv/logs:/logs"]
    service, volumes = found.remarks
    assert names(service, "spec.tensorboard.serviceType", "no effect", "TensorBoard prints")
    assert names(volumes, "every task", "/logs")


def test_a_termination_policy_names_the_task_that_decides():
    policy = {"chief": {"replicaName": "WORKER", "replicaIndex": 0}}
    assert ours(old(replica("WORKER", 2), terminationPolicy=policy))["success"] == "worker:0"
    policy = {"chief": {"replicaName": "MASTER", "replicaIndex": 0}}
    assert "success" not in ours(old(replica("MASTER"), terminationPolicy=policy))


# v1


def test_a_tfjob_becomes_one_run():
    chief = typed(policy="OnFailure", args=["--steps", "5"])
    worker = typed(
        2,
        "OnFailure",
        env=[{"name": "A", "value": "1"}],
        workingDir="/work",
        resources={
            "limits": {"cpu": 2, "memory": "2Gi", "nvidia.com/gpu": "1"},
            "requests": {"cpu": "500m", "memory": "1Gi"},
        },
        ports=[{"name": "tfjob-port", "containerPort": 3333, "protocol": "TCP"}],
    )
    assert ours(new(Chief=chief, Worker=worker)) == {
        "name": "dist-mnist",
        "image": IMAGE,
        **ALWAYS,
        "jobs": {
            "chief": {"num": 1, "cmd": ["python", "train.py", "--steps", "5"]},
            "worker": {
                "num": 2,
                "cmd": ["python", "train.py"],
                "cwd": "/work",
                "env": {"A": "1"},
                "cpus": 0.5,
                "mem": 2048,
                "gpus": 1,
                "port": 3333,
            },
        },
    }


@pytest.mark.parametrize(
    "policy, fields",
    [("Never", {}), ("OnFailure", ALWAYS), ("Always", ALWAYS), ("ExitCode", RETRIED)],
)
def test_the_restart_policy_of_a_replica_type_is_that_of_its_job(policy, fields):
    document = ours(new(Chief=typed(policy="Never"), PS=typed(policy=policy)))
    assert document["jobs"]["ps"] == {"num": 1, "cmd": ["python", "train.py"], **fields}
    assert document["jobs"]["chief"] == {"num": 1, "cmd": ["python", "train.py"]}


def test_without_a_restart_policy_nothing_is_started_again():
    one = typed()
    del one["restartPolicy"]
    assert "restart_policy" not in str(ours(new(Worker=one)))


@pytest.mark.parametrize(
    "policy, replicas, success",
    [
        ("", {"Worker": 2}, "worker:0"),
        (None, {"Worker": 2, "PS": 1}, "worker:0"),
        ("AllWorkers", {"Worker": 2}, None),
        ("", {"Worker": 1}, None),
        ("", {"Worker": 2, "Chief": 1}, None),
        ("AllWorkers", {"Worker": 2, "Master": 1}, None),
    ],
)
def test_worker_0_decides_where_there_is_no_chief_unless_all_workers_shall(
    policy, replicas, success
):
    types = {name: typed(num) for name, num in replicas.items()}
    assert ours(new({"successPolicy": policy}, **types)).get("success") == success


@pytest.mark.parametrize("place", [lambda policy: {"runPolicy": policy}, lambda policy: policy])
def test_the_run_policy_is_honoured_as_far_as_it_has_a_meaning(place):
    policy = {
        "activeDeadlineSeconds": 60,
        "backoffLimit": 4,
        "cleanPodPolicy": "None",
        "ttlSecondsAfterFinished": 100,
        "schedulingPolicy": {"minAvailable": 2},
    }
    found = to_ours(new(place(policy), Worker=typed(policy="OnFailure")))
    assert found.document["run_timeout"] == 60 and found.document["restarts"] == 4
    assert [remark.split(" ", 1)[0].rpartition(".")[2] for remark in found.remarks] == [
        *("backoffLimit", "cleanPodPolicy", "ttlSecondsAfterFinished", "schedulingPolicy")
    ]


def test_variables_are_filled_in_as_kubernetes_does_it():
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)2 $(C) $$(A)"},
        {"name": "C", "value": "3"},
    ]
    words = {"command": ["sh", "$(B)"], "args": ["$(C)", "$$(C)", "$C", "$(D)", "a$"]}
    document = ours(new(Worker=typed(env=env, **words)))
    assert document["env"] == {"A": "1", "B": "12 $(C) $(A)", "C": "3"}
    assert document["jobs"]["worker"]["cmd"] == [
        *("sh", "12 $(C) $(A)", "3", "$(C)", "$C", "$(D)", "a$")
    ]


def test_a_container_without_a_command_runs_what_its_image_does():
    assert ours(old(replica("MASTER")))["jobs"]["master"]["args"] == []
    assert ours(old(replica("MASTER", args=["--x"])))["jobs"]["master"]["args"] == ["--x"]


def test_a_shells_command_is_one_text():
    document = ours(new(Worker=typed(command=["/bin/sh", "-c", "echo $HOME"])))
    assert document["jobs"]["worker"]["cmd"] == "echo $HOME"


def test_volumes_of_the_node_and_empty_ones_are_had():
    volumes = [
        {"name": "data", "hostPath": {"path": "/data", "type": "Directory"}},
        {"name": "scratch", "emptyDir": {}},
        {"name": "unused", "persistentVolumeClaim": {"claimName": "x"}},
    ]
    mounts = [
        {"name": "data", "mountPath": "/in", "readOnly": True},
        {"name": "data", "mountPath": "/mnist", "subPath": "mnist"},
        {"name": "scratch", "mountPath": "/tmp/my scratch"},
    ]
    found = to_ours(new(Worker=typed(pod={"volumes": volumes}, volumeMounts=mounts)))
    assert found.document["volumes"] == ["/data:/in:ro", "/data/mnist:/mnist"]
    assert found.document["extra_config"] == {"initializer": "mkdir -p '/tmp/my scratch'"}
    assert found.remarks == ()


@pytest.mark.parametrize("kind", ["persistentVolumeClaim", "secret", "hostPath"])
def test_what_a_flag_mounts_takes_the_place_of_a_volume(kind):
    volumes = [{"name": "v", kind: {"path": "/file's"}}]
    mounts = [{"name": "v", "mountPath": "/data"}]
    tree = new(Worker=typed(pod={"volumes": volumes}, volumeMounts=mounts))
    found = to_ours(tree, Beside(mounted=("/data",)))
    assert "volumes" not in found.document and found.remarks == ()


def test_the_clean_up_policy_of_the_first_version_is_known():
    assert remarks(old(replica("MASTER"), cleanupPodPolicy="All")) == []
    (said,) = remarks(old(replica("MASTER"), cleanupPodPolicy="None"))
    assert said.startswith("spec.cleanupPodPolicy has no effect here")


def test_what_has_no_meaning_here_is_named_once_each():
    tree = new(
        Worker=typed(
            policy="Always",
            pod={
                "nodeSelector": {"gpu": "a100"},
                "hostNetwork": True,
                "tolerations": [],
                "restartPolicy": "OnFailure",
            },
            livenessProbe={"exec": {}},
            ports=[{"containerPort": 8080}],
        )
    )
    tree["metadata"]["namespace"] = "kubeflow"
    assert [remark.split(" ")[0] for remark in remarks(tree)] == [
        "metadata.namespace",
        "spec.tfReplicaSpecs.Worker.template.spec.nodeSelector",
        "spec.tfReplicaSpecs.Worker.template.spec.containers[0].ports[0].containerPort",
        "spec.tfReplicaSpecs.Worker.template.spec.containers[0].livenessProbe",
        "spec.tfReplicaSpecs.Worker.template",
        "spec.tfReplicaSpecs.Worker.restartPolicy",
    ]


CONTAINER = "spec.tfReplicaSpecs.Worker.template.spec.containers[0]"
OF_KUBERNETES = "is a volume of Kubernetes: ... -m k8s://, ... -V "


REFUSED = [
    (new(Chief=typed(2)), "spec.tfReplicaSpecs.Chief.replicas must be 1 ... got 2"),
    (new(Chief=typed(), Master=typed()), "spec.tfReplicaSpecs.Master is a second chief"),
    (new(Worker=typed(), worker=typed()), "spec.tfReplicaSpecs.worker is a duplicate"),
    (new(Boss=typed()), "spec.tfReplicaSpecs.Boss ... Chief, Master, Worker, PS, "),
    (new(), "spec.tfReplicaSpecs names no replicas"),
    (new(Evaluator=typed(3)), "spec.tfReplicaSpecs.Evaluator.replicas must be 1 ... got 3"),
    (new(PS=typed(resources={"limits": {"nvidia.com/gpu": 1}})),
     "spec.tfReplicaSpecs.PS.template.spec.containers[0].resources must ask for no GPUs"),
    (new(Worker=typed("two")), "spec.tfReplicaSpecs.Worker.replicas must be a whole number"),
    (new(Worker=typed(-1)), "spec.tfReplicaSpecs.Worker.replicas must not be negative, got -1"),
    (new(Worker=typed(policy="Sometimes")), "spec.tfReplicaSpecs.Worker.restartPolicy must be"),
    (new(Worker=typed(name="tf")), f"{CONTAINER}.name must be tensorflow"),
    (new(Worker=typed(imag="x")), f"{CONTAINER}.imag is unknown ... image?"),
    (new(Worker=typed(args=[5])), f"{CONTAINER}.args[0] must be a string ... got 5"),
    (new(Worker=typed(args="x")), f"{CONTAINER}.args ... list of strings, got 'x'"),
    (new(Worker=typed(args=["$(TF_CONFIG)"])), f"{CONTAINER}.args[0] $(TF_CONFIG) is known on"),
    (new(Worker=typed(env=[{"name": "A", "valueFrom": {"secretKeyRef": {}}}])),
     f"{CONTAINER}.env[0].valueFrom ... Kubernetes only: ... A"),
    (new(Worker=typed(envFrom=[{}])), f"{CONTAINER}.envFrom is known to Kubernetes only"),
    (new(Worker=typed(resources={"limits": {"cpu": "2x"}})),
     f"{CONTAINER}.resources.limits.cpu ... such as 500m or 2Gi, got '2x'"),
    (new(Worker=typed(resources={"limits": {"amd.com/gpu": 1}})),
     f"{CONTAINER}.resources.limits.amd.com/gpu is not a resource"),
    (new(Worker=typed(volumeMounts=[{"name": "v", "mountPath": "/v"}])),
     f"{CONTAINER}.volumeMounts[0].name names no volume ... got 'v'"),
    (new(Worker=typed(volumeMounts=[{"name": "v", "mountPath": "v"}])),
     f"{CONTAINER}.volumeMounts[0].mountPath ... absolute path ... colon"),
    (new(Worker=typed(pod={"volumes": [{"name": "v", "hostPath": {"path": "data"}}]},
                      volumeMounts=[{"name": "v", "mountPath": "/v"}])),
     "spec.tfReplicaSpecs.Worker.template.spec.volumes[0].hostPath.path ... absolute"),
    (new(Worker=typed(pod={"volumes": [{"name": "v", "persistentVolumeClaim": {}}]},
                      volumeMounts=[{"name": "v", "mountPath": "/v"}])),
     f"spec.tfReplicaSpecs.Worker.template.spec.volumes[0].persistentVolumeClaim "
     f"{OF_KUBERNETES}DIR:/v"),
    (new(Worker=typed(pod={"initContainers": [{}]})),
     "spec.tfReplicaSpecs.Worker.template.spec.initContainers is not supported"),
    (new({"successPolicy": "Most"}, Worker=typed()), "spec.successPolicy must be empty or All"),
    (new({"enableDynamicWorker": True}, Worker=typed()), "spec.enableDynamicWorker is"),
    (new({"runPolicy": {"suspend": True}}, Worker=typed()), "spec.runPolicy.suspend is not "
    "supported"),
    (new({"runPolicy": {"x": 1}}, Worker=typed()), "spec.runPolicy.x is unknown here"),
    (old(replica("WORKER")), "spec.replicaSpecs ... one replica ... MASTER"),
    (old(replica("MASTER", 2)), "spec.replicaSpecs[0].replicas must be 1 ... got 2"),
    (old(replica("MASTER"), replica("MASTER")), "spec.replicaSpecs[1] is a duplicate: master"),
    (old(replica("CHIEF")), "spec.replicaSpecs[0].tfReplicaType ... MASTER, WORKER or PS"),
    (old({"tfReplicaType": "MASTER"}), "spec.replicaSpecs[0].template must have a container"),
    (old(replica("MASTER"), tensorboard={}), "spec.tensorboard.logDir is missing"),
    (old(replica("MASTER"), tensorboard={
        "logDir": "/l",
        "volumes": [{"name": "azure", "azureFile": {"secretName": "s", "shareName": "data"}}],
        "volumeMounts": [{"name": "azure", "mountPath": "/l"}]}),
     f"spec.tensorboard.volumes[0].azureFile {OF_KUBERNETES}DIR:/l"),
    ({**new(Worker=typed()), "kind": "PyTorchJob"}, "kind must be TFJob, got 'PyTorchJob'"),
    ({**new(Worker=typed()), "apiVersion": "batch/v1"}, "apiVersion must be kubeflow.org/v1 "),
]  # fmt: skip


def refusal(tree):
    with pytest.raises(JobFileError) as caught:
        to_ours(tree)
    return str(caught.value)


@pytest.mark.parametrize("tree, said", REFUSED)
def test_what_cannot_be_run_is_refused_by_its_key(tree, said):
    assert is_mine(tree)
    assert begins(refusal(tree), said)


def test_an_error_names_the_line_of_the_file():
    text = yaml.safe_dump(new(PS=typed(resources={"limits": {"nvidia.com/gpu": 1}})))
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "resources" in one)
    with pytest.raises(JobFileError, match=rf"^job\.yaml:{line}: "):
        translate(read(text.encode(), "job.yaml"))


def test_any_other_document_is_none_of_these():
    assert not is_mine({"jobs": {"worker": {}}, "kind": "x"})
