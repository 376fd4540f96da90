"""A training that goes on when the number of its workers changes.

    tfrun -w 2:4 --restart-policy all --stop-grace 30s -- \
        python examples/elastic.py --model_dir DIR
    tfrun update ID -w 1

A worker that is asked to end (SIGTERM) does not end at once. Every step adds up how many have been
told, so all workers learn of it in the same step: the chief writes a checkpoint, and all leave.
The next generation, of any size, goes on from the step of the checkpoint. It is in DIR, a
directory that all nodes see.
"""

import argparse
import json
import os
import signal
from pathlib import Path

from mnist import digits
from mnist.quiet import tf
from multi_worker import Shares, leave_together
from perceptron import Perceptron

SAY_EVERY = 50  # steps


class Told:
    """Has this process been asked to end?"""

    def __init__(self):
        self.number = 0
        signal.signal(signal.SIGTERM, self._tell)

    def _tell(self, *_):
        self.number = 1


def main():
    args = parse_args()
    data = digits.load(args.data)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    told = Told()  # after TensorFlow, which would take the signal for itself
    with strategy.scope():
        network = Perceptron(data.pixels)
    checkpoint = tf.train.Checkpoint(network=network)
    number = resume(checkpoint, args.model_dir)
    generation = os.environ.get("TFMESOS_GENERATION", "0")
    say(f"generation {generation}: from step {number} with {strategy.num_replicas_in_sync} workers")
    number = train(strategy, network, Shares(data, args.batch_size), number, args.steps, told)
    if is_chief():
        checkpoint.write(str(args.model_dir / f"step-{number}"))
        say(f"wrote step {number}")
        if number >= args.steps:
            digits.report(network.accuracy(data.test_images, data.test_labels))
    leave_together(strategy, is_chief())


def parse_args():
    parser = argparse.ArgumentParser(description="Trains on handwritten digits, with any number.")
    add = parser.add_argument
    add("--steps", type=int, default=500)
    add("--batch_size", type=int, default=50, help="of each worker")
    add("--model_dir", type=Path, required=True, help="where checkpoints are: all nodes see it")
    digits.add_data_flag(parser)
    return parser.parse_args()


def is_chief():
    """Worker 0 is, and a single task."""
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"index": 0})
    return task["index"] == 0


def say(text):
    if is_chief():
        print(text, flush=True)


def resume(checkpoint, directory):
    """Go on from the latest checkpoint that is complete; returns its step."""
    directory.mkdir(parents=True, exist_ok=True)
    found = {int(path.stem.rpartition("-")[2]): path for path in directory.glob("step-*.index")}
    number = max(found, default=0)
    if found:
        checkpoint.read(str(found[number].with_suffix(""))).assert_consumed()
    return number


def train(strategy, network, shares, number, steps, told):
    """Until all steps are done, or a worker has been asked to end; returns the last step."""

    @tf.function
    def step(batch, told):
        losses = strategy.run(network.improve, args=batch)
        leaving = strategy.run(lambda told: told, args=(told,))
        reduce, op = strategy.reduce, tf.distribute.ReduceOp
        return reduce(op.MEAN, losses, axis=None), reduce(op.SUM, leaving, axis=None)

    while number < steps:
        batch = strategy.experimental_distribute_values_from_function(shares.next_batch)
        mine = strategy.experimental_distribute_values_from_function(
            lambda _: tf.constant(told.number)
        )
        loss, leaving = step(batch, mine)
        number += 1
        if number % SAY_EVERY == 0:
            say(f"step {number}: loss {loss:.3f}")
        if int(leaving):
            break
    return number


if __name__ == "__main__":
    main()
