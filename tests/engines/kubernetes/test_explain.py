"""What is shown of the scheduler's sentences."""

import pytest

from tfmesos.engines.kubernetes.events import PodChanged
from tfmesos.engines.kubernetes.explain import causes
from tfmesos.engines.kubernetes.pod_status import PodSeen, read
from tfmesos.engines.kubernetes.story import KubernetesStory

OF_TODAY = (
    "0/5 nodes are available: 2 node(s) had untolerated taint {node-role.kubernetes.io/control-"
    "plane: }, 3 Insufficient cpu. preemption: 0/5 nodes are available: 2 Preemption is not "
    "helpful for scheduling, 3 No preemption victims found for incoming pod."
)
TAINT = "2 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("0/3 nodes are available: 3 Insufficient cpu.", "3 Insufficient cpu"),
        (OF_TODAY, f"{TAINT}, 3 Insufficient cpu"),
        (
            "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
            "1 Insufficient nvidia.com/gpu",
        ),
        ("no nodes available to schedule pods", "no nodes available to schedule pods"),
        ("exceeded quota: few, used: pods=1", "exceeded quota: few, used: pods=1"),
        ("", ""),
    ],
)
def test_a_sentence_is_cut_to_its_causes(words, shown):
    assert causes(words) == shown


def test_the_whole_sentence_is_told_once():
    condition = {"type": "PodScheduled", "status": "False", "message": OF_TODAY}
    seen = read({"metadata": {"name": "worker-0"}, "status": {"conditions": [condition]}})
    story = KubernetesStory()
    assert OF_TODAY in story.news(PodChanged(seen)) and "worker-0" in story.news(
        PodChanged(PodSeen("worker-0", unschedulable="another one"))
    )
    assert story.news(PodChanged(seen.replace(name="worker-1"))) == ""
