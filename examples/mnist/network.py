"""The network both examples here train: one hidden layer, in graph mode."""

from __future__ import annotations

from typing import NamedTuple

from digits import CLASSES
from quiet import tf

HIDDEN = 100
LEARNING_RATE = 0.005


class Network(NamedTuple):
    images: tf.Tensor
    labels: tf.Tensor
    loss: tf.Tensor
    accuracy: tf.Tensor
    step: tf.Variable  # how many steps were done, by all workers together
    train: tf.Tensor  # does a step; gives how many that makes


def build(pixels: int) -> Network:
    """The network on the devices of the surrounding ``tf.device``; its variables are shared.

    A second call gives a second copy of the computation on the same variables.
    """
    images = tf.compat.v1.placeholder(tf.float32, [None, pixels])
    labels = tf.compat.v1.placeholder(tf.int64, [None])
    with tf.compat.v1.variable_scope("network", reuse=tf.compat.v1.AUTO_REUSE):
        hidden = tf.nn.relu(dense("hidden", images, HIDDEN))
        logits = dense("logits", hidden, CLASSES)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses)
        step = tf.compat.v1.train.get_or_create_global_step()
        optimizer = tf.compat.v1.train.AdamOptimizer(LEARNING_RATE)
        with tf.control_dependencies([optimizer.minimize(loss, global_step=step)]):
            train = step.read_value()
    correct = tf.equal(tf.argmax(logits, axis=1), labels)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    return Network(images, labels, loss, accuracy, step, train)


def dense(name, inputs, units):
    shape = [inputs.shape[1], units]
    weights = tf.compat.v1.get_variable(f"{name}/weights", shape)
    biases = tf.compat.v1.get_variable(f"{name}/biases", [units], initializer=tf.zeros_initializer)
    return inputs @ weights + biases
