"""What the container of a task may do, and what is said if a cluster allows less."""

import pytest

from tests.builders import workers
from tests.engines.kubernetes.test_objects import config, container, pod, template
from tfmesos.engines.kubernetes.api.error import ApiError, Question, refusal
from tfmesos.engines.kubernetes.permissions.pod_security import explained
from tfmesos.errors import SpecError

RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
# As servers with Pod Security (since 1.23), with PodSecurityPolicy and of OpenShift say it.
BY_STANDARD = (
    'pods "tfmesos-abcd-worker-0" is forbidden: violates PodSecurity "restricted:latest": '
    'allowPrivilegeEscalation != false (container "tensorflow" must set '
    "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
    '"tensorflow" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod '
    'or container "tensorflow" must set securityContext.runAsNonRoot=true), seccompProfile (pod or '
    'container "tensorflow" must set securityContext.seccompProfile.type to "RuntimeDefault" or '
    '"Localhost")'
)
BY_POLICY = (
    'pods "tfmesos-abcd-worker-0" is forbidden: PodSecurityPolicy: unable to admit pod: '
    "[spec.containers[0].securityContext.runAsUser: Invalid value: 0: running with the root UID is "
    "forbidden]"
)
BY_CONSTRAINT = (
    'pods "tfmesos-abcd-worker-0" is forbidden: unable to validate against any security context '
    "constraint: [provider restricted-v2: .containers[0].runAsUser: Invalid value: 1000: must be "
    "in the ranges: [1000660000, 1000669999]]"
)


def context(made):
    return container(made).get("securityContext")


def test_a_task_with_a_user_meets_what_pod_security_calls_restricted():
    assert context(config(user="1000")) == {**RESTRICTED, "runAsUser": 1000}
    assert context(config(user="1000:100")) == {
        **RESTRICTED,
        "runAsUser": 1000,
        "runAsGroup": 100,
    }


@pytest.mark.parametrize("user", [None, "0", "0:0"])
def test_a_task_that_may_be_root_keeps_what_its_cluster_gives_it(user):
    found = context(config(user=user)) or {}
    assert not RESTRICTED.keys() & found.keys()


@pytest.mark.parametrize("spec", [{"runAsNonRoot": True}, {"runAsUser": 1000}])
@pytest.mark.parametrize("is_of_pod", [True, False])
def test_a_template_may_name_the_user_or_leave_it_to_the_image(tmp_path, spec, is_of_pod):
    of_container = {"containers": [{"name": "tensorflow", "securityContext": spec}]}
    file = template(tmp_path, spec={"securityContext": spec} if is_of_pod else of_container)
    found = context(config(pod_template=file))
    expected = {**RESTRICTED, **({} if is_of_pod else spec)}
    if is_of_pod:
        expected = {k: v for k, v in expected.items() if k not in spec}
    assert found == expected


def test_a_template_has_the_last_word_on_every_field_but_the_user(tmp_path):
    said = {"capabilities": {"add": ["IPC_LOCK"]}, "seccompProfile": None, "runAsUser": 1}
    file = template(tmp_path, spec={"containers": [{"name": "main", "securityContext": said}]})
    assert context(config(pod_template=file, user="1000")) == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"add": ["IPC_LOCK"]},
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": None,
    }


@pytest.mark.parametrize(
    "said", [{"privileged": True}, {"capabilities": {"add": ["SYS_ADMIN"]}}], ids=str
)
def test_a_template_that_gives_privileges_makes_a_pod_that_servers_take(tmp_path, said):
    file = template(tmp_path, spec={"containers": [{"name": "main", "securityContext": said}]})
    assert "allowPrivilegeEscalation" not in context(config(pod_template=file, user="1000"))


@pytest.mark.parametrize("user", ["1000660000", "1000660000:0", "2147483647"])
def test_users_of_openshift_are_taken(user):
    assert context(config(user=user))["runAsUser"] == int(user.partition(":")[0])


@pytest.mark.parametrize("user", ["2147483648", "1:2147483648", "99999999999", "me", "1:", "-1"])
def test_users_that_kubernetes_does_not_take_are_refused_before_it_is_asked(user):
    with pytest.raises(SpecError, match="must be a number on Kubernetes") as error:
        config(user=user)
    assert error.value.field == "user"


# What is said


def refused(message, **settings):
    status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}
    question = Question("create", "pods", "research", "", "https://k8s")
    return explained(refusal(403, status, question), config(workers(1), **settings), "research")


def test_a_namespace_that_enforces_restricted_is_named_with_the_way_out():
    error = refused(BY_STANDARD)
    assert "namespace research enforces Pod Security restricted" in str(error)
    assert "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot" in str(
        error
    )
    assert "must set" not in str(error) and "\n" not in str(error)
    assert "a number above 0" in str(error) and error.exit_code == 2


def test_a_webhook_that_refuses_the_same_is_understood():
    error = refused(f'admission webhook "security.example" denied the request: {BY_STANDARD}')
    assert "Pod Security restricted" in str(error) and "give a user" in str(error)


@pytest.mark.parametrize("message", [BY_POLICY, BY_CONSTRAINT])
def test_older_policies_and_those_of_openshift_are_understood(message):
    assert "give a user" in str(refused(message)) and refused(message).exit_code == 2


def test_a_user_beyond_the_range_of_the_namespace_is_told_with_the_range():
    error = refused(BY_CONSTRAINT, user="1000")
    assert "1000660000, 1000669999" in str(error) and "choose another user" in str(error)


def test_paths_of_nodes_that_are_forbidden_are_named_with_the_flag():
    path = (
        'restricted volume types (volume "tfmesos-host-0" uses restricted volume type "hostPath")'
    )
    message = f'pods "x" is forbidden: violates PodSecurity "restricted:v1.35": {path}'
    error = refused(message, user="1000", volumes=["/a:/a"])
    assert "use persistent volume claims" in str(error) and "a user" not in str(error)
    assert "change the pod template" in str(refused(message, user="1000"))


def test_other_refusals_stay_as_they_are():
    error = refused('pods "x" is forbidden: exceeded quota: few')
    assert isinstance(error, ApiError) and error.is_quota and "Security" not in str(error)


# Placeholders of a template


def test_a_template_is_filled_in_with_the_run_the_job_and_the_index(tmp_path):
    file = template(
        tmp_path,
        metadata={"labels": {"scheduling.x-k8s.io/pod-group": "{run}"}},
        spec={
            "workloadRef": {"name": "{run}", "podGroup": "{job}"},
            "containers": [
                {"name": "main"},
                {"name": "log", "args": ["${run} {index}", "{name} {{}}"]},
            ],
        },
    )
    file.write_text(file.read_text().replace('"main"', '"tensorflow"'))
    found = pod(config(workers(3), pod_template=file))
    assert found["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "tfmesos-abcd"
    assert found["spec"]["workloadRef"] == {"name": "tfmesos-abcd", "podGroup": "worker"}
    assert found["spec"]["containers"][1]["args"] == ["${run} 0", "{name} {{}}"]
