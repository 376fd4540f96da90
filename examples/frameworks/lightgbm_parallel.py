"""Train one LightGBM model on the data of all workers."""

import hashlib
import os

import lightgbm
import numpy

machines = os.environ["TFMESOS_WORKER_HOSTS"]
random = numpy.random.default_rng(int(os.environ["RANK"]))  # each process has data of its own
x = random.normal(size=(1000, 5))
y = x.sum(axis=1)
parameters = {
    "objective": "regression",
    "tree_learner": "data",
    "machines": machines,
    "num_machines": len(machines.split(",")),
    "local_listen_port": int(os.environ["TFMESOS_PORT"]),
    "pre_partition": True,
    "num_threads": 1,
    "verbose": -1,
}
model = lightgbm.train(parameters, lightgbm.Dataset(x, y), num_boost_round=10)
trees = model.model_to_string().split("parameters:")[0]
digest = hashlib.sha256(trees.encode()).hexdigest()[:12]
print(f"error {numpy.abs(model.predict(x) - y).mean():.2f}, model {digest}")
