"""Ways out that are shown with well-known failures of TensorFlow."""

import sys
from importlib.util import find_spec

import pytest

from tests.commands import needs_tensorflow, tfrun


@needs_tensorflow
def test_a_tensorboard_callback_without_tensorboard_comes_with_the_way_out(tmp_path):
    if find_spec("tensorboard") is not None:
        pytest.skip("TensorBoard is installed here, so nothing is missing")
    script = tmp_path / "train.py"
    script.write_text(
        "import numpy as np, tensorflow as tf\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\n"
        f"board = tf.keras.callbacks.TensorBoard({str(tmp_path)!r})\n"
        "model.fit(np.ones((8, 3)), np.ones((8, 1)), verbose=0, callbacks=[board])\n"
    )
    done = tfrun("-w", 1, "--", sys.executable, script)
    assert done.returncode == 1
    assert "pip install tensorboard" in done.stderr


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
    done = tfrun("-w", 2, "--", sys.executable, script)
    assert done.returncode == 1
    assert "  hint: Keras 3 supports neither MultiWorkerMirroredStrategy nor" in done.stderr
