"""Eager code on a cluster: a matrix is taken apart into two thin ones, half on each worker.

    python examples/matrix_factorization.py [MASTER]

Given is a random matrix of low rank; gradient descent finds two matrices, ROWS x RANK and
RANK x COLUMNS, whose product it is. These live on two ps; each worker knows half of the rows.
MASTER is a Mesos master (default: $MESOS_MASTER, else an embedded Mesos on this machine).
"""

import argparse
import gc
import sys

import tensorflow as tf

from tfmesos import Job, cluster

ROWS, COLUMNS, RANK = 100, 80, 5
WORKERS = 2
RATE = 0.003
BOUND = 0.01  # the mean squared error to reach; it begins near RANK


def main():
    parser = argparse.ArgumentParser(description="Factorises a matrix on a cluster.")
    parser.add_argument("master", nargs="?", help="Mesos master (default: $MESOS_MASTER or local)")
    parser.add_argument("--steps", type=int, default=60, help="of gradient descent (default 60)")
    args = parser.parse_args()
    if args.steps < 1:
        parser.error("--steps must be at least 1")
    with cluster([Job("ps", 2), Job("worker", WORKERS)], master=args.master, quiet=True) as c:
        tf.config.experimental_connect_to_cluster(c.cluster_spec)
        loss = factorize(args.steps)
        gc.collect()  # lets TensorFlow free what it has on the tasks while they are there
    print(f"final loss: {loss:.4f}")
    if not loss <= BOUND:
        sys.exit(f"the final loss should be at most {BOUND}: the factors were not found")


def factorize(steps):
    factors = Factors(random_matrix())
    for step in range(1, steps + 1):
        loss = float(factors.improve())
        if step == 1 or step % 10 == 0:
            print(f"step {step}: loss {loss:.4f}", flush=True)
    return loss


def random_matrix():
    left = tf.random.stateless_normal([ROWS, RANK], seed=[1, 1])
    return left @ tf.random.stateless_normal([RANK, COLUMNS], seed=[1, 2])


class Factors:
    def __init__(self, matrix):
        with tf.device("/job:ps/task:0"):
            left = tf.random.stateless_normal([ROWS, RANK], seed=[2, 1])
            self.lefts = [tf.Variable(rows) for rows in tf.split(left, WORKERS)]
        with tf.device("/job:ps/task:1"):
            self.right = tf.Variable(tf.random.stateless_normal([RANK, COLUMNS], seed=[2, 2]))
        self.parts = []
        for worker, rows in enumerate(tf.split(matrix, WORKERS)):
            with tf.device(f"/job:worker/task:{worker}"):
                self.parts.append(tf.identity(rows))

    @tf.function
    def improve(self):
        """One step of gradient descent, as one graph over all tasks; returns the loss before."""
        errors, right_gradients = [], []
        for worker, (left, part) in enumerate(zip(self.lefts, self.parts, strict=True)):
            with tf.device(f"/job:worker/task:{worker}"):
                right = tf.identity(self.right)
                difference = left @ right - part
                errors.append(tf.reduce_sum(difference**2))
                left_gradient = tf.matmul(difference, right, transpose_b=True)
                right_gradients.append(tf.matmul(left, difference, transpose_a=True))
            with tf.device("/job:ps/task:0"):
                left.assign_sub(RATE * left_gradient)
        with tf.device("/job:ps/task:1"):
            self.right.assign_sub(RATE * tf.add_n(right_gradients))
        return tf.add_n(errors) / (ROWS * COLUMNS)


if __name__ == "__main__":
    main()
