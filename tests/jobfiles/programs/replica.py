"""A trainer with the flags of the Marathon template: each worker reports to the ps."""

import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--worker_hosts", type=lambda text: text.split(","))
parser.add_argument("--ps_hosts", type=lambda text: text.split(","))
parser.add_argument("--job_name", choices=["worker", "ps"])
parser.add_argument("--task_index", type=int)
parser.add_argument("--train_dir")
flags = parser.parse_args()

spec = tf.train.ClusterSpec({"worker": flags.worker_hosts, "ps": flags.ps_hosts})
server = tf.distribute.Server(spec, job_name=flags.job_name, task_index=flags.task_index)
if flags.job_name == "ps":
    server.join()

with tf.Graph().as_default():
    with tf.device("/job:ps/task:0"):
        present = tf.compat.v1.get_variable(
            "present", [len(flags.worker_hosts)], initializer=tf.zeros_initializer()
        )
        joined = tf.compat.v1.scatter_update(present, [flags.task_index], [1.0])
        total = tf.reduce_sum(joined)
    # A session that sees the other worker is made anew when that one ends first, and waits for it.
    seen = ["/job:ps", f"/job:worker/task:{flags.task_index}"]
    with tf.compat.v1.train.MonitoredTrainingSession(
        server.target,
        is_chief=flags.task_index == 0,
        config=tf.compat.v1.ConfigProto(device_filters=seen),
    ) as session:
        # Again and again: a chief whose session is made anew sets all of them back.
        while (found := session.run(total)) < len(flags.worker_hosts):
            pass
        print(f"worker {flags.task_index}: {found:g} in {flags.train_dir}", flush=True)
