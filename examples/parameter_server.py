"""ParameterServerStrategy: a coordinator hands out the steps, workers take them as they come.

    python examples/parameter_server.py
    tfrun --chief -w 2 -s 1 --serve ps,worker -- python examples/parameter_server.py

The first way this program is the coordinator and brings up its own cluster; the second way it
runs as the chief of a cluster that tfrun brings up. Either way ps and workers are stock servers.

The training loop is written out because Keras 3 does not support this strategy: perceptron.py
says more.
"""

import argparse
import json
import os
import sys

from mnist import digits
from mnist.quiet import tf
from perceptron import Perceptron

from tfmesos import Job, cluster

SAY_EVERY = 200  # steps


def main():
    args = parse_args()
    data = digits.load(args.data)
    if "TF_CONFIG" in os.environ:
        require_chief()
        accuracy = coordinate(args, data, tf.distribute.cluster_resolver.TFConfigClusterResolver())
    else:
        jobs = [Job("ps", args.nserver), Job("worker", args.nworker)]
        with cluster(jobs, quiet=True) as c:
            accuracy = coordinate(args, data, c.resolver())
    digits.report(accuracy)


def parse_args():
    parser = argparse.ArgumentParser(description="Trains on handwritten digits, coordinated.")
    add = parser.add_argument
    add("-w", "--nworker", type=int, default=2, help="number of workers, without tfrun (default 2)")
    add("-s", "--nserver", type=int, default=1, help="number of ps, without tfrun (default 1)")
    add("--steps", type=int, default=1000, help="of all workers together")
    add("--batch_size", type=int, default=100)
    digits.add_data_flag(parser)
    return parser.parse_args()


def require_chief():
    task = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
    if task != "chief":
        sys.exit(f"this is the {task}: only the chief runs this; add --chief --serve ps,worker")


def coordinate(args, data, resolver):
    """Train on the cluster that *resolver* names; return the test accuracy."""
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        network = Perceptron(data.pixels)

    @tf.function
    def step(images, labels):
        return strategy.run(network.improve, args=(images, labels))

    batches = data.batches(args.batch_size)
    for done in range(0, args.steps, SAY_EVERY):
        count = min(SAY_EVERY, args.steps - done)
        losses = [coordinator.schedule(step, args=next(batches)) for _ in range(count)]
        coordinator.join()  # raises what went wrong on a worker
        print(f"step {done + count}: loss {losses[-1].fetch():.3f}", flush=True)
    return network.accuracy(data.test_images, data.test_labels)


if __name__ == "__main__":
    main()
