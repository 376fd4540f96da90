"""What a run makes in its namespace."""

import json
from pathlib import Path

import pytest

from tests.builders import servers, workers
from tfmesos.config.job import Job
from tfmesos.config.secret import Secret
from tfmesos.engines.kubernetes import objects
from tfmesos.engines.kubernetes.actions import NewPod
from tfmesos.engines.kubernetes.objects import Owner
from tfmesos.engines.kubernetes.refusals import check_ports
from tfmesos.errors import SpecError, UnreadableFile
from tfmesos.inputs.merging import make_config

GOLDEN = Path(__file__).parents[2] / "golden" / "pod.json"
OWNER = Owner("tfmesos-abcd", "u-1")


def config(*jobs, **settings):
    given = {"master": "k8s://", "image": "me/train", "name": "n", **settings}
    return make_config(list(jobs) or [workers(1)], **given)


def pod(made, **more):
    task = made.tasks[0]
    new = NewPod("worker-0", "tfmesos-abcd-worker-0-1", task)
    return objects.pod(made, OWNER, new, ":4444 run task 30 self", "tfmesos-abcd-1", **more)


def container(made):
    return pod(made)["spec"]["containers"][0]


def template(tmp_path, **pod):
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(pod))
    return file


def test_a_pod_is_the_golden_one():
    job = workers(2, cpus=1.5, mem=2048, gpus=1, disk=100, constraints=["hostname:UNIQUE"])
    made = config(
        job, volumes=["/data:/data:ro"], claims=["models:/models"], shm="1G", user="1000:100"
    ).replace(user="me")
    assert pod(made, avoid=["node-3"]) == json.loads(GOLDEN.read_text())


def test_a_pod_has_no_token_of_a_service_account_and_no_variables_of_services():
    spec = pod(config())["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert spec["restartPolicy"] == "Never"


def test_a_tensorboard_may_use_more_than_it_asks_for_and_listens_where_it_is_told():
    made = config(tensorboard="/logs")
    board = NewPod("tensorboard-0", "id-t", made.tasks[-1])
    told = (OWNER, board, "settings", "secret")
    (found,) = objects.pod(made, *told, is_local=True)["spec"]["containers"]
    assert found["resources"] == {
        "requests": {"cpu": "100m", "memory": "512Mi"},
        "limits": {"memory": "2048Mi"},
    }
    assert {"name": "TFMESOS_ADDRESS", "value": "127.0.0.1"} in found["env"]
    (found,) = objects.pod(made, *told)["spec"]["containers"]
    assert "status.podIP" in json.dumps(found["env"]) and "127.0.0.1" not in json.dumps(found)


def test_a_secret_is_in_the_secret_and_not_in_the_pod():
    made = config()
    hush = Secret("0123456789abcdef")
    found = objects.secret(made, OWNER, "tfmesos-abcd-1", "stub text", {"worker-0": hush})
    assert found["stringData"] == {"stub": "stub text", "worker-0": "0123456789abcdef"}
    assert "0123456789abcdef" not in json.dumps(pod(made))


def test_what_a_kubelet_would_expand_reaches_the_task_as_it_is():
    assert container(config(python="/opt/$(HOME)/$$/python"))["command"][0] == (
        "/opt/$$(HOME)/$$$$/python"
    )


def test_gpus_have_the_name_that_the_cluster_gives_them():
    limits = container(config(workers(1, gpus=2), gpu_resource="amd.com/gpu"))["resources"]
    assert limits["limits"]["amd.com/gpu"] == limits["requests"]["amd.com/gpu"] == "2"


def test_the_priority_class_is_that_of_the_run_and_not_of_the_template(tmp_path):
    file = template(tmp_path, spec={"priorityClassName": "low"})
    assert pod(config(pod_template=file))["spec"]["priorityClassName"] == "low"
    assert pod(config(pod_template=file, priority="high"))["spec"]["priorityClassName"] == "high"


def test_labels_are_such_as_kubernetes_takes():
    made = config(Job("a_", 1, cmd="true")).replace(user="Zoë-Müller@home")
    labels = pod(made)["metadata"]["labels"]
    assert labels["tfmesos/job"] == "a" and labels["tfmesos/user"] == "Zo--M-ller-home"


def test_the_image_is_pulled_anew_only_if_that_is_asked_for():
    assert container(config())["imagePullPolicy"] == "IfNotPresent"
    assert container(config(force_pull_image=True))["imagePullPolicy"] == "Always"


# The template


def test_a_template_lies_under_the_pod(tmp_path):
    file = template(
        tmp_path,
        kind="Pod",
        metadata={"labels": {"team": "a", "tfmesos/run": "x"}, "annotations": {"a": "b"}},
        spec={
            "restartPolicy": "Always",
            "priorityClassName": "high",
            "imagePullSecrets": [{"name": "registry"}],
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "containers": [
                {
                    "name": "main",
                    "image": "other",
                    "env": [{"name": "A", "value": "1"}],
                    "resources": {"limits": {"cpu": "64", "rdma/hca": "1"}},
                }
            ],
        },
    )
    found = pod(config(pod_template=file))
    spec, one = found["spec"], found["spec"]["containers"][0]
    assert found["metadata"]["labels"]["team"] == "a"
    assert found["metadata"]["labels"]["tfmesos/run"] == "tfmesos-abcd"
    assert (spec["priorityClassName"], spec["restartPolicy"]) == ("high", "Never")
    assert spec["imagePullSecrets"] and spec["tolerations"]
    assert (len(spec["containers"]), one["name"], one["image"]) == (1, "tensorflow", "me/train")
    assert {"name": "A", "value": "1"} in one["env"] and len(one["env"]) == 5
    assert one["resources"]["limits"] == {"cpu": "64", "memory": "1024Mi", "rdma/hca": "1"}


def test_other_containers_of_a_template_stay_beside_ours(tmp_path):
    beside = [{"name": "proxy", "image": "p"}, {"name": "log", "image": "l"}]
    file = template(tmp_path, spec={"containers": beside, "initContainers": [{"name": "i"}]})
    spec = pod(config(pod_template=file))["spec"]
    assert [one["name"] for one in spec["containers"]] == ["tensorflow", "proxy", "log"]
    assert spec["initContainers"] == [{"name": "i"}]


def test_the_rules_of_a_template_about_nodes_hold_beside_ours(tmp_path):
    terms = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"nodeAffinity": {key: {"nodeSelectorTerms": terms}}}
    file = template(tmp_path, spec={"affinity": affinity})
    made = config(workers(1, constraints=["zone:IS:x"]), pod_template=file)
    found = pod(made)["spec"]["affinity"]["nodeAffinity"][key]["nodeSelectorTerms"]
    assert [rule["key"] for rule in found[0]["matchExpressions"]] == [
        "a",
        "topology.kubernetes.io/zone",
    ]


def test_who_wants_the_token_of_a_service_account_gets_it(tmp_path):
    spec = {"serviceAccountName": "trainer", "automountServiceAccountToken": True}
    found = pod(config(pod_template=template(tmp_path, spec=spec)))["spec"]
    assert found["automountServiceAccountToken"] and found["serviceAccountName"] == "trainer"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: Deployment\nspec: {}", "must be a Pod, got kind 'Deployment'"),
        ("spec: 3", "only metadata and spec .*, got 'spec'"),
        ("containers: []", "only metadata and spec .*, got 'containers'"),
        ("a: [", "cannot be used: "),
        ("- 1", "must contain keys with values"),
    ],
)
def test_a_template_that_is_none_is_refused(tmp_path, text, problem):
    file = tmp_path / "pod.yaml"
    file.write_text(text)
    with pytest.raises(SpecError, match="pod_template.*" + problem.replace("[", r"\[")):
        config(pod_template=file)


def test_a_template_that_is_missing_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"none\.yaml"):
        config(pod_template=tmp_path / "none.yaml")


# What has no meaning


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("containerizer_type", {"containerizer_type": "DOCKER"}),
        ("role", {"role": "ml"}),
        ("ca_file", {"ca_file": "ca.pem"}),
        ("cert_file", {"cert_file": "cert.pem"}),
        ("restart_policy", {"restart_policy": "task"}),
        ("user", {"user": "nobody"}),
        ("local_chief", {"local_chief": True}),
        ("claims", {"claims": ["data"]}),
        ("claims", {"claims": ["data:relative"]}),
        ("claims", {"claims": ["data:/a:rx"]}),
        ("gpu_resource", {"gpu_resource": "gpu"}),
        ("queue", {"queue": "two words"}),
        ("queue", {"queue": "q" * 64}),
        ("priority", {"priority": "-"}),
        ("cpu_limit", {"cpu_limit": "all"}),
        ("cpu_limit", {"cpu_limit": 0}),
    ],
)
def test_what_has_no_meaning_on_a_kubernetes_is_refused_by_name(field, settings):
    with pytest.raises(SpecError) as error:
        config(**settings)
    assert error.value.field == field


def test_the_reason_against_restarts_of_single_tasks_is_given():
    with pytest.raises(SpecError, match="has another address"):
        config(restart_policy="task")
    with pytest.raises(SpecError, match=r"job 'worker'.*has another address"):
        config(workers(1, restart_policy="task"))


def test_a_template_of_a_job_or_of_all_that_shares_the_ports_of_a_node_is_refused_by_name(tmp_path):
    shared = {"spec": {"hostNetwork": True}}
    check_ports(config())
    with pytest.raises(SpecError, match=r"job 'worker'.*hostNetwork: true"):
        check_ports(config(workers(2, pod_template=shared)))
    with pytest.raises(SpecError, match=r"job 'worker'.*hostNetwork: true"):
        check_ports(config(workers(1, pod_template=shared), servers(1, pod_template=shared)))
    with pytest.raises(SpecError, match=r"^pod_template has hostNetwork: true"):
        check_ports(config(workers(2), pod_template=template(tmp_path, **shared)))


def test_one_task_alone_may_use_the_ports_of_its_node(tmp_path):
    shared, own = {"spec": {"hostNetwork": True}}, {"spec": {"hostNetwork": False}}
    check_ports(config(workers(3), servers(1, pod_template=shared)))
    check_ports(config(workers(3), servers(0, pod_template=shared)))
    file = template(tmp_path, **shared)
    check_ports(config(workers(1), pod_template=file))
    check_ports(config(workers(3, pod_template=own), servers(1), pod_template=file))


def test_every_task_needs_an_image(monkeypatch):
    monkeypatch.delenv("DOCKER_IMAGE", raising=False)
    with pytest.raises(SpecError, match="image is needed on Kubernetes"):
        config(workers(1), servers(1), image=None)


@pytest.mark.parametrize(
    "settings",
    [
        {"claims": ["data:/data"]},
        {"shm": "1G"},
        {"gang_hold": "5m"},
        {"queue": "training"},
        {"priority": "high"},
        {"cpu_limit": 2},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_what_has_a_meaning_on_a_kubernetes_only_is_refused_elsewhere(settings):
    with pytest.raises(SpecError, match="is supported only on Kubernetes") as error:
        make_config([workers(1)], **settings)
    assert error.value.field in settings


def test_the_template_of_a_job_lies_above_that_of_the_run(tmp_path):
    file = template(tmp_path, spec={"priorityClassName": "low", "schedulerName": "mine"})
    job = workers(1, pod_template={"spec": {"priorityClassName": "high"}})
    spec = pod(config(job, pod_template=file))["spec"]
    assert (spec["priorityClassName"], spec["schedulerName"]) == ("high", "mine")


def test_the_template_of_a_job_is_refused_where_there_are_no_pods():
    with pytest.raises(
        SpecError, match="job 'worker': pod_template is supported only on Kubernetes"
    ):
        make_config([workers(1, pod_template={"spec": {}})])
    with pytest.raises(SpecError, match="pod_template must be a dict, got 3"):
        workers(1, pod_template=3)
