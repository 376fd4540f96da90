"""Reads TF_CONFIG as a program of TfJob does: the master has every task compute something."""

import json
import os

import tensorflow as tf

config = json.loads(os.environ["TF_CONFIG"])
cluster, task = config["cluster"], config["task"]
spec = tf.train.ClusterSpec(cluster)
server = tf.distribute.Server(spec, job_name=task["type"], task_index=task["index"])
if task["type"] != "master":
    server.join()

places = [(job, index) for job in sorted(cluster) for index in range(len(cluster[job]))]
with tf.Graph().as_default():
    parts = []
    for number, (job, index) in enumerate(places, 1):
        with tf.device(f"/job:{job}/task:{index}"):
            parts.append(tf.constant(number))
    with tf.compat.v1.Session(server.target) as session:
        print(f"{len(places)} tasks: {session.run(tf.add_n(parts))}", flush=True)
