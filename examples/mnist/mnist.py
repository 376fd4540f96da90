"""In-graph replication: one program holds the graph of all workers, each driven by a thread.

    python examples/mnist/mnist.py -w 2 -s 1

The cluster consists of bare TensorFlow servers, so the nodes need neither this file nor the
data. The variables live on the ps; each worker trains them on its own part of the data.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor

import digits
import network
from quiet import tf

from tfmesos import Job, cluster

SAY_EVERY = 100  # steps


def main():
    args = parse_args()
    data = digits.load(args.data)
    jobs = [
        Job("ps", args.nserver),
        Job("worker", args.nworker, gpus=args.worker_gpus),
    ]
    with cluster(
        jobs, containerizer_type=args.containerizer_type, protocol=args.protocol, quiet=True
    ) as c:
        accuracy = train(args, data, c.targets)
    digits.report(accuracy)


def parse_args():
    parser = argparse.ArgumentParser(description="Trains on handwritten digits, in one graph.")
    add = parser.add_argument
    add("-w", "--nworker", type=int, default=2, help="number of workers (default 2)")
    add("-s", "--nserver", type=int, default=1, help="number of ps (default 1)")
    add("-Gw", "--worker-gpus", type=int, default=0, help="GPUs of each worker (default 0)")
    add("-C", "--containerizer_type", help="MESOS or DOCKER")
    add("-P", "--protocol", default="grpc", help="between the servers (default grpc)")
    add("--steps", type=int, default=500, help="of each worker")
    add("--batch_size", type=int, default=100)
    digits.add_data_flag(parser)
    args = parser.parse_args()
    if args.nworker < 1 or args.nserver < 1:
        parser.error("this example needs at least one worker and one ps")
    return args


def train(args, data, targets):
    """Let every worker train the same variables; return the test accuracy."""
    with tf.Graph().as_default() as graph:
        replicas = [build_replica(args, data, index) for index in range(args.nworker)]
        init = tf.compat.v1.global_variables_initializer()
    chief = targets["/job:worker/task:0"]
    with tf.compat.v1.Session(chief, graph=graph) as session:
        session.run(init)
        with ThreadPoolExecutor(args.nworker) as threads:
            drives = [
                threads.submit(drive, args, data, targets, graph, index, replica)
                for index, replica in enumerate(replicas)
            ]
        for end in drives:
            end.result()  # raises what the thread raised
        net = replicas[0]
        test = {net.images: data.test_images, net.labels: data.test_labels}
        return session.run(net.accuracy, test)


def build_replica(args, data, index):
    setter = tf.compat.v1.train.replica_device_setter(
        ps_tasks=args.nserver, worker_device=f"/job:worker/task:{index}"
    )
    with tf.compat.v1.device(setter):
        return network.build(data.pixels)


def drive(args, data, targets, graph, index, net):
    """One worker's training, through a session of its own."""
    batches = data.shard(index, args.nworker).batches(args.batch_size, seed=index)
    with tf.compat.v1.Session(targets[f"/job:worker/task:{index}"], graph=graph) as session:
        for mine in range(1, args.steps + 1):
            images, labels = next(batches)
            feed = {net.images: images, net.labels: labels}
            _, loss = session.run([net.train, net.loss], feed)
            if mine % SAY_EVERY == 0:
                print(f"worker {index}, step {mine}: loss {loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
