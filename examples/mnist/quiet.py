"""``from quiet import tf``: TensorFlow without the notices it prints while it loads.

TensorFlow 2.21 writes a few lines (oneDNN, no CUDA driver) to the standard error before it has
read TF_CPP_MIN_LOG_LEVEL. Set that variable, to anything, and you see all there is to see.
"""

import os
import sys
import tempfile
from contextlib import contextmanager, nullcontext

STDERR = 2


@contextmanager
def notices_held_back():
    """Keep what is written to the standard error, and show it only if the block fails."""
    shown = os.dup(STDERR)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), STDERR)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(shown, held.read())
            raise
        finally:
            os.dup2(shown, STDERR)
            os.close(shown)


wanted = "TF_CPP_MIN_LOG_LEVEL" in os.environ
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only
with nullcontext() if wanted else notices_held_back():
    try:
        import tensorflow as tf
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        sys.exit("this example needs TensorFlow, and this Python has none: pip install tensorflow")
    tf.config.list_physical_devices()  # looks for GPUs now, and complains of their absence now

if not wanted:
    tf.get_logger().setLevel("ERROR")
