"""MultiWorkerMirroredStrategy: all workers take every step together, each on its own images.

    tfrun -w 2 -- python examples/multi_worker.py
    tfrun -w 2 --evaluator -- python examples/multi_worker.py --evaluator --model_dir DIR

TF_CONFIG, which tfrun sets, tells each copy of this program who it is. Every worker holds a copy
of the variables; there is no ps. With --evaluator one more task, outside of the training,
measures the checkpoints that the chief writes to DIR, a directory all nodes see.

The training loop is written out because Keras 3 does not support this strategy: perceptron.py
says more.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from mnist import digits
from mnist.quiet import tf
from perceptron import Perceptron

SAY_EVERY = 100  # steps; as often a checkpoint is written
MAX_WAIT = 120  # seconds that chief and evaluator wait for each other
FINISHED_FILE = "evaluated"  # the file that says the evaluator has finished


def main():
    args = parse_args()
    data = digits.load(args.data)
    role = my_role()
    if role == "evaluator":
        evaluate(args, data)
    else:
        train(args, data, is_chief=role == "chief")


def parse_args():
    parser = argparse.ArgumentParser(description="Trains on handwritten digits, in step.")
    add = parser.add_argument
    add("--steps", type=int, default=500)
    add("--batch_size", type=int, default=50, help="of each worker")
    add("--model_dir", type=Path, help="where the chief writes checkpoints: an empty directory")
    add("--evaluator", action="store_true", help="an evaluator takes part: wait for its verdict")
    digits.add_data_flag(parser)
    args = parser.parse_args()
    if args.steps < 1:
        parser.error("--steps must be at least 1")
    if args.evaluator and not args.model_dir:
        parser.error("--evaluator needs --model_dir, a directory that all nodes see")
    return args


def my_role():
    """What this task is to do. Without a chief, worker 0 is the chief; so is a single task."""
    config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    task = config.get("task", {"type": "chief", "index": 0})
    if task["type"] not in ("chief", "worker", "evaluator"):
        sys.exit(f"there is nothing to do for a {task['type']} here: leave it out")
    if task == {"type": "worker", "index": 0} and "chief" not in config["cluster"]:
        return "chief"
    return task["type"]


def train(args, data, is_chief):
    writes = args.model_dir is not None and is_chief
    if writes:
        require_empty(args.model_dir)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        network = Perceptron(data.pixels)

    @tf.function
    def step(batch):
        losses = strategy.run(network.improve, args=batch)
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)

    checkpoint = tf.train.Checkpoint(network=network)
    shares = Shares(data, args.batch_size)
    for number in range(1, args.steps + 1):
        batch = strategy.experimental_distribute_values_from_function(shares.next_batch)
        loss = step(batch)
        if is_chief and number in milestones(args):
            print(f"step {number}: loss {loss:.3f}", flush=True)
            if writes:
                checkpoint.write(checkpoint_path(args, number))
    if is_chief:
        digits.report(network.accuracy(data.test_images, data.test_labels))
        if args.evaluator:
            wait_for(args.model_dir / FINISHED_FILE)
    leave_together(strategy, is_chief)


class Shares:
    """The batches of the replicas on this worker: one of each GPU, or one in all."""

    def __init__(self, data, batch_size):
        self.data, self.batch_size = data, batch_size
        self.batches = {}

    def next_batch(self, replica):
        me = replica.replica_id_in_sync_group
        if me not in self.batches:
            mine = self.data.shard(me, replica.num_replicas_in_sync)
            self.batches[me] = mine.batches(self.batch_size, seed=me)
        return tuple(map(tf.constant, next(self.batches[me])))


def leave_together(strategy, is_chief):
    """Wait for all workers: those who leave early are taken for dead by the others.

    The chief's server watches over the cluster, so the chief leaves last.
    """

    @tf.function
    def count():
        ones = strategy.run(lambda: tf.constant(1))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, ones, axis=None)

    count()
    if is_chief:
        time.sleep(1)


def evaluate(args, data):
    network = Perceptron(data.pixels)
    checkpoint = tf.train.Checkpoint(network=network)
    for number in milestones(args):
        path = checkpoint_path(args, number)
        wait_for(Path(f"{path}.index"))  # of a checkpoint's files the last to be written
        checkpoint.read(path).assert_consumed()
        accuracy = network.accuracy(data.test_images, data.test_labels)
        print(f"after step {number}: accuracy {accuracy:.3f}", flush=True)
    digits.report(accuracy)
    (args.model_dir / FINISHED_FILE).touch()


def milestones(args):
    """The steps after which the chief writes a checkpoint: every SAY_EVERY, and the last."""
    return sorted({*range(SAY_EVERY, args.steps, SAY_EVERY), args.steps})


def checkpoint_path(args, number):
    return str(args.model_dir / f"step-{number}")


def require_empty(directory):
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        sys.exit(f"{directory} is not empty: give --model_dir a directory of this run's own")


def wait_for(path):
    end = time.monotonic() + MAX_WAIT
    while not path.exists():
        if time.monotonic() > end:
            sys.exit(f"{path} has not appeared for {MAX_WAIT} s: is --model_dir seen by all nodes?")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
