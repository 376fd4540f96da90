"""Every worker greets, and lets the parameter server add up what it knows of the cluster."""

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def main(server, log_dir, context):
    jobs = {job.name: len(job.tasks) for job in server.server_def.cluster.job}
    index = server.server_def.task_index
    with tf.device("/job:ps/task:0"):
        total = tf.add_n([tf.constant(count) for count in jobs.values()])
    # A session that sees the other worker fails if that one has ended by then.
    near = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    with tf.Session(server.target, config=near) as session:
        print("hello from worker", index, "of", session.run(total), "tasks", context["greeting"])
