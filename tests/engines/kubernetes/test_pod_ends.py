"""How the end of a pod is told that its node, or its container runtime, has ended."""

import pytest

from tests.builders import workers
from tests.engines.kubernetes.runs import Run
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core.endings import EVICTION_REASON
from tfmesos.engines.kubernetes import pod_status
from tfmesos.engines.kubernetes.engine import POD_REASON
from tfmesos.errors import EVICTED

RUNC = "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
START = f"{RUNC}runc create failed: unable to start container process: "
NOT_FOUND = f'{START}exec: "python3": executable file not found in $PATH: unknown'
NO_FILE = f'{START}exec: "/opt/python": stat /opt/python: no such file or directory: unknown'
FORBIDDEN = f'{START}exec: "/etc/passwd": permission denied: unknown'
TOO_SMALL = f"{START}container init was OOM-killed (memory limit too low?): unknown"


@pytest.mark.parametrize(
    ("detail", "code", "words"),
    [
        (NOT_FOUND, 127, 'exec: "python3": executable file not found in $PATH'),
        (NO_FILE, 127, 'exec: "/opt/python": stat /opt/python: no such file or directory'),
        (FORBIDDEN, 126, 'exec: "/etc/passwd": permission denied'),
        (TOO_SMALL, 128, "container init was OOM-killed (memory limit too low?)"),
    ],
)
def test_a_container_that_containerd_cannot_start_ends_as_a_shell_counts(detail, code, words):
    run = Run(workers(1), restarts=RestartPolicy(0))
    failed = {"phase": "Failed", "reason": "StartError", "detail": detail, "code": 128}
    run.pod("worker-0", node="node-1", **failed)
    run.wait(5)
    assert run.outcome.exit_code == code
    assert run.outcome.cause.reason == f"could not be started: {words}"


def test_an_interpreter_that_containerd_does_not_find_is_not_looked_for_twice():
    run = Run(workers(1))
    failed = {"phase": "Failed", "reason": "StartError", "detail": NOT_FOUND, "code": 128}
    run.pod("worker-0", node="node-1", **failed)
    run.wait(5)
    assert len(run.made()) == 1 and run.outcome.exit_code == 127


DETAIL = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."
EVICTION = {"node": "node-1", "phase": "Failed", "reason": "Evicted", "detail": DETAIL}
WHY = f"was evicted by its node: {DETAIL.rstrip('.')}"
BY_SIGNAL = f"{EVICTED}: it was killed by SIGTERM (signal 15)"


def test_an_eviction_that_the_pod_told_of_before_its_runner_has_the_words_of_the_pod():
    run = Run(workers(1)).up()
    run.pod("worker-0", is_running=True, **EVICTION)
    run.exit("worker:0", 143, BY_SIGNAL)
    assert run.outcome.cause.reason == WHY
    assert (run.outcome.exit_code, run.outcome.cause.tail) == (143, ("last words",))


def test_an_eviction_that_the_pod_tells_of_after_its_runner_has_the_words_of_the_pod():
    run = Run(workers(1)).up()
    run.exit("worker:0", 143, BY_SIGNAL)
    run.wait(EVICTION_REASON - 1)
    run.pod("worker-0", code=143, **EVICTION)
    assert run.outcome.cause.reason == WHY


def test_the_end_of_a_container_waits_for_the_reason_of_its_pod():
    run = Run(workers(1)).up()
    run.exit("worker:0", 143, BY_SIGNAL)
    run.pod("worker-0", node="node-1", phase="Running", code=143)
    run.wait(POD_REASON / 2)
    assert run.outcome is None
    run.pod("worker-0", code=143, **EVICTION)
    assert run.outcome.cause.reason == WHY


def test_a_container_that_was_killed_before_its_runner_could_report_waits_for_its_pod():
    run = Run(workers(1)).up()
    run.pod("worker-0", node="node-1", phase="Running", code=137, reason="Error")
    run.cut("worker:0")
    run.wait(POD_REASON / 2)
    run.pod("worker-0", code=137, **EVICTION)
    run.wait(5)
    assert (run.outcome.cause.reason, run.outcome.exit_code) == (WHY, 137)


def test_a_pod_that_never_says_why_is_not_waited_for_long():
    run = Run(workers(1)).up()
    run.pod("worker-0", node="node-1", phase="Running", code=137, reason="Error")
    run.cut("worker:0")
    run.wait(POD_REASON + 5)
    assert run.outcome.cause.reason == "was killed by SIGKILL (signal 9)"


def test_memory_that_ran_out_is_said_at_once():
    run = Run(workers(1)).up()
    killed = {"node": "node-1", "phase": "Running", "code": 137, "reason": "OOMKilled"}
    run.pod("worker-0", **killed)
    run.cut("worker:0")
    run.wait(POD_REASON - 1)
    assert "out of memory" in run.outcome.cause.reason


def test_a_pod_whose_time_is_over_says_so():
    run = Run(workers(1)).up()
    over = {"node": "node-1", "phase": "Failed", "reason": "DeadlineExceeded"}
    run.pod("worker-0", is_running=True, **over)
    run.exit("worker:0", 143, BY_SIGNAL)
    assert "activeDeadlineSeconds" in run.outcome.cause.reason


def test_an_evicted_pod_is_started_again_if_the_policy_says_so():
    run = Run(workers(1), restarts=RestartPolicy(1, "all")).up()
    run.exit("worker:0", 143, BY_SIGNAL)
    run.pod("worker-0", code=143, **EVICTION)
    run.wait(10)
    assert run.made()[1] == ["worker-0-2"]


def test_a_pod_that_has_a_reason_of_its_own_speaks_for_its_container():
    ended = {"exitCode": 137, "reason": "Error", "message": "of the container"}
    container = {"name": pod_status.CONTAINER, "state": {"terminated": ended}}
    status = {"phase": "Failed", "containerStatuses": [container]}
    assert pod_status.read({"status": status}).detail == "of the container"
    evicted = {**status, "reason": "Evicted", "message": DETAIL}
    seen = pod_status.read({"status": evicted})
    assert (seen.reason, seen.detail) == ("Evicted", DETAIL)
