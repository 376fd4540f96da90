"""Train one Keras 3 model on JAX, on all workers at once: tfrun -w 2 -- python keras_jax.py"""

import os
import sys

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np

keras.distribution.initialize()  # reads KERAS_DISTRIBUTION_...
# Each process brings its own part of the data, so that Keras has nothing to share out.
everyone = keras.distribution.DataParallel(auto_shard_dataset=False)
keras.distribution.set_distribution(everyone)
keras.utils.set_random_seed(0)  # the same weights everywhere

rng = np.random.default_rng(0)
centers = rng.normal(size=(4, 16))
labels = rng.integers(4, size=2048)
points = (centers[labels] + rng.normal(size=(2048, 16))).astype("float32")
mine = slice(jax.process_index(), None, jax.process_count())

model = keras.Sequential([keras.layers.Dense(32, "relu"), keras.layers.Dense(4)])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss, metrics=["accuracy"])
model.fit(points[mine], labels[mine], batch_size=64, epochs=10, verbose=0)

loss, accuracy = model.evaluate(points[mine], labels[mine], batch_size=64, verbose=0)
me = f"process {jax.process_index()} of {jax.process_count()}"
print(f"{me}: loss {loss:.6f}, accuracy {accuracy:.3f}")
if accuracy < 0.9:
    sys.exit(f"{me}: the accuracy should be at least 0.9")
