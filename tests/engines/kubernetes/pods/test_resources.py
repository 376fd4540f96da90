"""What a task asks for, and the most that it may use."""

import pytest

from tests.builders import workers
from tests.engines.kubernetes.test_objects import config, container, pod, template
from tfmesos.engines.kubernetes.pods.resources import demands_cpu_limit, with_cpu_limit

# As an API server says them: a quota, and a LimitRange, that demand limits.
BY_QUOTA = (
    'pods "tfmesos-abcd-worker-0" is forbidden: failed quota: compute: must specify limits.cpu'
)
BY_RANGE = (
    'Pod "tfmesos-abcd-worker-0" is invalid: spec.containers[0].resources.requests: Invalid value: '
    '"1": must be less than or equal to cpu limit'
)


def resources(made):
    return container(made)["resources"]


@pytest.mark.parametrize(
    ("limit", "cpu"),
    [(None, None), ("none", None), ("request", "1500m"), (4, "4000m"), ("2", "2000m")],
)
def test_cpu_is_limited_only_if_that_is_asked_for_and_memory_always(limit, cpu):
    found = resources(config(workers(1, cpus=1.5, mem=2048), cpu_limit=limit))
    assert found["requests"] == {"cpu": "1500m", "memory": "2048Mi"}
    assert found["limits"].get("cpu") == cpu and found["limits"]["memory"] == "2048Mi"


def template_of(tmp_path, **amounts):
    return template(tmp_path, spec={"containers": [{"name": "main", "resources": amounts}]})


def test_a_template_has_its_way_with_amounts_that_the_user_did_not_give(tmp_path):
    limits = {"cpu": "8", "memory": "4Gi"}
    file = template_of(tmp_path, requests={"cpu": "2500m", "memory": "2Gi"}, limits=limits)
    made = config(pod_template=file)
    assert resources(made) == {
        "requests": {"cpu": "2500m", "memory": "4096Mi"},
        "limits": {"cpu": "8", "memory": "4096Mi"},
    }
    assert (made.jobs[0].cpus, made.jobs[0].mem) == (2.5, 4096)


def test_what_the_user_gave_wins_over_a_template(tmp_path):
    file = template_of(tmp_path, requests={"cpu": "2"}, limits={"cpu": "8", "memory": "4Gi"})
    found = resources(config(workers(1, cpus=3, mem=512), pod_template=file))
    assert found["requests"] == {"cpu": "3000m", "memory": "512Mi"}
    assert found["limits"] == {"cpu": "8", "memory": "512Mi"}


@pytest.mark.parametrize(("limit", "asked"), [("500m", "500m"), ("64", "1000m")])
def test_a_template_that_only_limits_cpu_asks_for_no_more_than_usual(tmp_path, limit, asked):
    found = resources(config(pod_template=template_of(tmp_path, limits={"cpu": limit})))
    assert (found["requests"]["cpu"], found["limits"]["cpu"]) == (asked, limit)


def test_the_template_of_a_job_counts_for_that_job(tmp_path):
    own = {"spec": {"containers": [{"name": "x", "resources": {"requests": {"cpu": "2"}}}]}}
    made = config(workers(1, pod_template=own))
    assert made.jobs[0].cpus == 2


@pytest.mark.parametrize(
    "message",
    [
        BY_QUOTA,
        BY_RANGE,
        BY_QUOTA.replace("limits.cpu", "limits.cpu for: tensorflow"),
        BY_QUOTA.replace("limits.cpu", "limits.cpu,limits.memory"),
    ],
)
def test_a_namespace_that_demands_a_cpu_limit_is_recognised(message):
    assert demands_cpu_limit(message)


def test_other_refusals_demand_no_cpu_limit():
    assert not demands_cpu_limit(
        "exceeded quota: few, requested: limits.cpu=2, limited: limits.cpu=1"
    )
    assert not demands_cpu_limit("failed quota: q: must specify requests.storage")


def test_the_limit_that_is_demanded_is_what_the_task_asks_for(tmp_path):
    beside = {"name": "log", "image": "l"}
    file = template(tmp_path, spec={"containers": [{"name": "tensorflow"}, beside]})
    found = with_cpu_limit(pod(config(workers(1, cpus=2), pod_template=file)))
    ours, other = found["spec"]["containers"]
    assert ours["resources"]["limits"] == {"cpu": "2000m", "memory": "1024Mi"}
    assert other == beside
