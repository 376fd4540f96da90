"""Recognizes the usual cause of a failure by the last lines of its task."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ...errors import PORT_TAKEN
from ...shared.exit_status import KILLED

_KERAS = (
    "Keras 3 supports neither MultiWorkerMirroredStrategy nor ParameterServerStrategy: write the "
    "training loop yourself, install tf_keras and set TF_USE_LEGACY_KERAS=1 ({env}), or use "
    "keras.distribution on JAX"
)
_HINTS = (
    (r"distribute\.values\.PerReplica'>\) to a Tensor", _KERAS),
    (r"(?s)keras/src/.*ClusterCoordinator\.create_per_worker_dataset", _KERAS),
    (
        r"No module named '?tensorflow'?$|TensorFlow cannot be imported by",
        "the tasks' Python has no TensorFlow: install it there, or name another interpreter "
        "({python}) or an image that has it ({image})",
    ),
    (
        r"TensorBoard is not installed|No module named '?tensorboard'?",
        "the TensorBoard callback needs a package that TensorFlow no longer includes: pip install "
        "tensorboard where the tasks run, or leave the callback out",
    ),
    (
        r"TF_CONFIG, it must have one \"(?:chief|master)\" node",
        "an Estimator needs a chief among its tasks: add one ({chief})",
    ),
    (
        r"(?:exec|sh): .*python\S*: not found$|exec: \"(?:/bin/sh|\S*python\S*)\"",
        "the node or the image has no such Python: it needs Python 3.8 or newer; name its "
        "interpreter ({python})",
    ),
    (
        r"Python 3\.8 or newer is needed",
        "name a newer interpreter of the node ({python}), or an image that has one ({image})",
    ),
    (
        r"could not select device driver .*\[gpu\]",
        "Docker on that node has no GPU support: install the NVIDIA Container Toolkit there",
    ),
    (
        # TensorFlow; what the system says; LightGBM
        r"Could not start gRPC server|Address already in use|Binding port \d+ failed",
        "a task's port is held for it while it runs, so its socket must set SO_REUSEADDR; a "
        "program that does not, such as LightGBM, needs {reserve_port}; if another program has the "
        "port, run again",
    ),
)


# It does not say who killed it.
_RIDDLE = re.compile(r"(failed: its \w+ )?(was killed by SIGKILL|exited with 137)")
_WHO_KILLS = (
    "a SIGKILL comes from outside: most often from the kernel, when the node or the task's "
    "container runs out of memory"
)


def hint(
    tail: Sequence[str], code: int = 1, reason: str = "", named: Callable[[str], str] = str
) -> str:
    """A way out for the user, or nothing if there is none.

    *named* returns the user's name of a setting: its flag, or its field.
    """
    if code == PORT_TAKEN:
        return ""  # the reason says who has it
    text = "\n".join([*tail, reason])
    known = next((way_out for sign, way_out in _HINTS if re.search(sign, text, re.M)), "")
    is_riddle = code == KILLED and (not reason or _RIDDLE.match(reason))
    return known.format_map(_Names(named)) or (_WHO_KILLS if is_riddle else "")


class _Names(dict[str, str]):
    """The names of the settings in a hint."""

    def __init__(self, named: Callable[[str], str]) -> None:
        super().__init__()
        self._named = named

    def __missing__(self, setting: str) -> str:
        return self._named(setting)
