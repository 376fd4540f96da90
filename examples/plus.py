"""The smallest cluster: constants on two ps, added up on two workers. Prints 42.

    python examples/plus.py [MASTER]

MASTER is a Mesos master, mesos-master:5050 for example; without it $MESOS_MASTER, and without
that an embedded Mesos on this machine.
"""

import argparse
import sys
from pathlib import Path

from tfmesos import Job, cluster

sys.path.append(str(Path(__file__).resolve().with_name("mnist")))


def main():
    parser = argparse.ArgumentParser(description="Adds 42 together on a cluster.")
    parser.add_argument("master", nargs="?", help="Mesos master (default: $MESOS_MASTER or local)")
    args = parser.parse_args()
    jobs = [Job("ps", 2), Job("worker", 2)]
    with cluster(jobs, master=args.master, quiet=True, wait=False) as c:
        tf = import_tensorflow()  # takes seconds, in which the servers import it, too
        print(add(tf, c.targets["/job:worker/task:0"]))


def import_tensorflow():
    try:
        from quiet import tf
    except ModuleNotFoundError:  # this file was copied without the others
        import tensorflow as tf
    return tf


def add(tf, target):
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            a = tf.constant(10)
        with tf.device("/job:ps/task:1"):
            b = tf.constant(32)
        with tf.device("/job:worker/task:1"):
            total = a + b
        with tf.compat.v1.Session(target) as session:
            return session.run(total)


if __name__ == "__main__":
    main()
