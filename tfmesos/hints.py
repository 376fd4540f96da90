"""What usually lies behind a failure, told by the last lines of its task."""

from __future__ import annotations

import re
from collections.abc import Sequence

_KERAS = (
    "Keras 3 supports neither MultiWorkerMirroredStrategy nor ParameterServerStrategy: write the "
    "training loop yourself, or install tf_keras and run with --env TF_USE_LEGACY_KERAS=1"
)
_HINTS = (
    (r"distribute\.values\.PerReplica'>\) to a Tensor", _KERAS),
    (r"(?s)keras/src/.*ClusterCoordinator\.create_per_worker_dataset", _KERAS),
    (
        r"No module named '?tensorflow'?$",
        "the tasks' Python has no TensorFlow: install it there, or name another interpreter",
    ),
    (
        r"(?:exec|sh): .*python\S*: not found$|exec: \"/bin/sh\"",
        "the node or the image has no such Python: it needs Python 3.8 or newer; name its "
        "interpreter with --python",
    ),
    (
        r"could not select device driver .*\[gpu\]",
        "Docker on that node has no GPU support: install the NVIDIA Container Toolkit there",
    ),
    (
        r"Could not start gRPC server|Address already in use",
        "a task's address is reserved for it until it listens there, so its socket must set "
        "SO_REUSEADDR; if another program has the port, run again",
    ),
)


_KILLED = 137  # as a shell counts a SIGKILL
_WHO_KILLS = (
    "a SIGKILL comes from outside: most often from the kernel, when the node or the task's "
    "container runs out of memory"
)


def hint(tail: Sequence[str], code: int = 1, reason: str = "") -> str:
    """A way out for the user, or nothing if we know of none."""
    text = "\n".join(tail)
    known = next((way_out for sign, way_out in _HINTS if re.search(sign, text, re.M)), "")
    is_riddle = code == _KILLED and "out of memory" not in reason
    return known or (_WHO_KILLS if is_riddle else "")
