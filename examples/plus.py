"""The smallest cluster: two constants on two ps, added up on a worker. Prints 42.

    python examples/plus.py [MASTER]

MASTER is a Mesos master such as mesos-master:5050. The default is $MESOS_MASTER, else an embedded
Mesos on this machine.
"""

import sys

from tfmesos import Job, cluster

master = sys.argv[1] if len(sys.argv) > 1 else None
with cluster([Job("ps", 2), Job("worker", 2)], master=master, quiet=True, wait=False) as c:
    import tensorflow as tf  # here, because the servers import it at the same time

    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            a = tf.constant(10)
        with tf.device("/job:ps/task:1"):
            b = tf.constant(32)
        with tf.device("/job:worker/task:1"):
            total = a + b
        with tf.compat.v1.Session(c.targets["/job:worker/task:0"]) as session:
            print(session.run(total))
