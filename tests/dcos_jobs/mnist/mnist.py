"""Handwritten digits, in the style of TensorFlow 1: one layer, summaries and checkpoints."""

import os

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.logging.set_verbosity(tf.logging.ERROR)


def main(server, log_dir, context):
    cluster = tf.train.ClusterSpec(server.server_def.cluster)
    index = server.server_def.task_index
    images, labels = load()
    own = f"/job:worker/task:{index}"
    place = tf.train.replica_device_setter(worker_device=own, cluster=cluster)
    with tf.device(place):
        x = tf.placeholder(tf.float32, [None, images.shape[1]])
        y = tf.placeholder(tf.int64, [None])
        weights = tf.get_variable("weights", [images.shape[1], 10])
        logits = tf.matmul(x, weights) + tf.get_variable("bias", [10])
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        )
        right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(context["learning_rate"])
        train = optimizer.minimize(loss, global_step=step)
        tf.summary.scalar("loss", loss)
    near = tf.ConfigProto(device_filters=["/job:ps", own])
    with tf.train.MonitoredTrainingSession(
        master=server.target,
        is_chief=index == 0,
        checkpoint_dir=log_dir,
        save_summaries_steps=10,
        hooks=[tf.train.StopAtStepHook(last_step=context["steps"])],
        config=near,
    ) as session:
        while not session.should_stop():
            _, accuracy = session.run([train, right], {x: images, y: labels})
    print("worker", index, f"reads {accuracy:.2f} of the digits")


def load():
    here = os.path.dirname(os.path.abspath(__file__))
    with np.load(os.path.join(here, "digits.npz")) as data:
        images = data["x_train"]
        return images.reshape(len(images), -1) / float(images.max()), data["y_train"].astype(int)
