import sys

import pytest

from tests.commands import needs_tensorflow, tfrun
from tfmesos.hints import hint

KERAS_UNDER_PARAMETER_SERVERS = [
    '  File "site-packages/keras/src/utils/traceback_utils.py", line 122, in error_handler',
    "ValueError: To use this dataset, you need to pass this dataset to "
    "ClusterCoordinator.create_per_worker_dataset.",
]
KERAS_UNDER_MIRRORED_WORKERS = [
    "}) with an unsupported type (<class 'tensorflow.python.distribute.values.PerReplica'>) "
    "to a Tensor."
]


@pytest.mark.parametrize(
    "tail, way_out",
    [
        (KERAS_UNDER_PARAMETER_SERVERS, "TF_USE_LEGACY_KERAS=1"),
        (KERAS_UNDER_MIRRORED_WORKERS, "TF_USE_LEGACY_KERAS=1"),
        (["ModuleNotFoundError: No module named 'tensorflow'"], "has no TensorFlow"),
        (["sh: 1: exec: python3: not found"], "the node or the image has no such Python"),
        (["OSError: [Errno 98] Address already in use"], "SO_REUSEADDR"),
    ],
)
def test_a_well_known_failure_comes_with_a_way_out(tail, way_out):
    assert way_out in hint(["something before", *tail])


def test_an_unknown_failure_is_left_to_speak_for_itself():
    assert hint(["ValueError: No module named 'tensorflow_datasets'"]) == ""
    assert hint([]) == ""


@needs_tensorflow
def test_a_keras_3_model_under_a_strategy_it_does_not_support_ends_soon_with_the_way_out(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import numpy as np, tensorflow as tf\n"
        "with tf.distribute.MultiWorkerMirroredStrategy().scope():\n"
        "    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "    model.compile('sgd', 'mse')\n"
        "model.fit(np.ones((64, 3)), np.ones((64, 1)), verbose=0)\n"
    )
    done = tfrun("-w", 2, "--", sys.executable, script, timeout=110)
    assert done.returncode == 1
    assert "  hint: Keras 3 supports neither MultiWorkerMirroredStrategy nor" in done.stderr


def test_of_a_killed_task_it_is_said_who_kills():
    assert "runs out of memory" in hint(["Killed"], code=137)
    assert hint(["Killed"], code=1) == ""


def test_a_kill_whose_cause_is_known_needs_no_hint():
    assert hint(["Killed"], 137, "ran out of memory and was killed by SIGKILL (signal 9)") == ""
    assert hint(["Killed"], 137, "was killed: out of memory") == ""
