"""A program of its own, with flags: learns to tell flowers apart from their colours."""

import argparse
import glob
import os

import numpy as np
import tensorflow.compat.v1 as tf

FLAGS = None


def get_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--image_dir")
    parser.add_argument("--how_many_training_steps", type=int, default=100)
    parser.add_argument("--model_dir")
    parser.add_argument("--summaries_dir")
    parser.add_argument("--output_graph")
    parser.add_argument("--output_labels")
    return parser


def load(directory):
    labels = sorted(os.listdir(directory))
    found = [
        (np.load(path).mean((0, 1)), number)
        for number, label in enumerate(labels)
        for path in sorted(glob.glob(os.path.join(directory, label, "*.npy")))
    ]
    colours, numbers = zip(*found, strict=True)
    return np.array(colours, np.float32), np.array(numbers), labels


def main(_):
    tf.disable_eager_execution()
    os.makedirs(FLAGS.model_dir, exist_ok=True)
    colours, numbers, labels = load(FLAGS.image_dir)
    x = tf.placeholder(tf.float32, [None, 3], name="input")
    logits = tf.matmul(x, tf.get_variable("w", [3, len(labels)])) + tf.get_variable(
        "b", [len(labels)]
    )
    answer = tf.argmax(logits, 1, name="answer")
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=numbers, logits=logits)
    )
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    tf.summary.scalar("loss", loss)
    summaries = tf.summary.merge_all()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        writer = tf.summary.FileWriter(FLAGS.summaries_dir, session.graph)
        for step in range(FLAGS.how_many_training_steps):
            summary, _ = session.run([summaries, train], {x: colours})
            writer.add_summary(summary, step)
        writer.close()
        accuracy = np.mean(session.run(answer, {x: colours}) == numbers)
        print(f"Final test accuracy = {accuracy:.1%} (N={len(numbers)})")
        graph = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["answer"])
    with tf.gfile.GFile(FLAGS.output_graph, "wb") as file:
        file.write(graph.SerializeToString())
    with tf.gfile.GFile(FLAGS.output_labels, "w") as file:
        file.write("\n".join(labels) + "\n")
