"""Keras' BackupAndRestore, when all tasks are stopped to write a checkpoint."""

from __future__ import annotations

import re
import sys

from tests.commands import needs_tensorflow, tfrun, wait_for_output

PROGRAM = """
import sys
import time

import keras
import numpy

class Says(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        print("epoch", epoch, flush=True)
        time.sleep(0.2)

model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
backup = keras.callbacks.BackupAndRestore(sys.argv[1], save_freq="epoch")
x = numpy.ones((8, 4))
model.fit(x, x.sum(1), epochs=10**6, verbose=0, callbacks=[backup, Says()])
"""


def epochs(run_id, generation):
    output = tfrun("logs", run_id, "worker:0", "--generation", generation).stdout
    return [int(number) for number in re.findall(r"(?m)^epoch (\d+)$", output)]


@needs_tensorflow
def test_only_the_epoch_under_way_is_repeated(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    flags = ("--detach", "-w", 1, "--restart-policy", "all", "--restarts", 0)
    begun = tfrun(*flags, "--", sys.executable, program, tmp_path / "backup")
    assert begun.returncode == 0, begun.stderr
    run_id = begun.stdout.strip()
    try:
        wait_for_output(run_id, "epoch 5")
        assert tfrun("checkpoint", run_id).returncode == 0
        last = epochs(run_id, 0)[-1]
        wait_for_output(run_id, f"epoch {last + 1}")
        first = epochs(run_id, 1)[0]
    finally:
        tfrun("stop", run_id)
    assert 5 <= first
    assert first in (last, last + 1)  # it may have been stopped between two epochs
