"""Runs retrain.py as a job: its flags are in the context."""

import sys

import retrain
import tensorflow.compat.v1 as tf


def main(server, log_dir, context):
    args = [str(word) for pair in context["args"].items() for word in pair]
    retrain.FLAGS, unparsed = retrain.get_parser().parse_known_args(args)
    tf.app.run(main=retrain.main, argv=[sys.argv[0], *unparsed])
