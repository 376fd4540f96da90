"""The network of the tf.distribute examples: one hidden layer, of plain variables.

Not Keras: Keras 3, which TensorFlow has come with since 2.16, supports neither
ParameterServerStrategy nor MultiWorkerMirroredStrategy. (The old Keras does: pip install
tf_keras, and set TF_USE_LEGACY_KERAS=1.)
"""

from mnist import digits
from mnist.quiet import tf

HIDDEN = 100
RATE = 0.3


class Perceptron(tf.Module):
    """Make it in the scope of a strategy: that decides where the variables live."""

    def __init__(self, pixels):
        self.hidden = dense(pixels, HIDDEN, seed=1)
        self.output = dense(HIDDEN, digits.CLASSES, seed=2)

    def logits(self, images):
        (w1, b1), (w2, b2) = self.hidden, self.output
        return tf.nn.relu(images @ w1 + b1) @ w2 + b2

    def improve(self, images, labels):
        """One step of gradient descent, by each replica; returns the loss before it."""
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, self.logits(images))
            loss = tf.reduce_mean(losses)
        variables = self.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(RATE * gradient)  # replicas in step take the mean of theirs
        return loss

    def accuracy(self, images, labels):
        right = tf.argmax(self.logits(images), axis=1) == labels
        return float(tf.reduce_mean(tf.cast(right, tf.float32)))


def dense(inputs, units, seed):
    weights = tf.random.stateless_normal([inputs, units], seed=[seed, 0]) / inputs**0.5
    mean = tf.VariableAggregation.MEAN
    return tf.Variable(weights, aggregation=mean), tf.Variable(tf.zeros([units]), aggregation=mean)
