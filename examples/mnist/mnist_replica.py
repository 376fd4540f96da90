"""Between-graph replication: every worker builds its own graph, the ps hold the variables.

    tfrun -w 2 -s 1 -- python mnist_replica.py \\
        --ps_hosts {ps_hosts} --worker_hosts {worker_hosts} \\
        --job_name {job_name} --worker_index {task_index}

The workers train without waiting for each other until they have done --steps steps together.
Worker 0, the chief, initialises the variables before and measures the accuracy after.
"""

import argparse
import time

import digits
import network
from quiet import tf

START_TIMEOUT = 120  # seconds to wait for the chief to initialise the variables
SAY_EVERY = 100  # steps


def main():
    args = parse_args()
    hosts = {"ps": args.ps_hosts.split(","), "worker": args.worker_hosts.split(",")}
    cluster = tf.train.ClusterSpec(hosts)
    if args.job_name == "worker":
        data = digits.load(args.data)  # before the server: a bad file should say so at once
    server = tf.distribute.Server(cluster, job_name=args.job_name, task_index=args.worker_index)
    if args.job_name == "ps":
        server.join()  # forever: tfrun ends it when the workers have finished
    else:
        work(args, cluster, server, data)


def parse_args():
    parser = argparse.ArgumentParser(description="Trains on handwritten digits, replicated.")
    add = parser.add_argument
    add("--ps_hosts", required=True, help="host:port of every ps, with commas between")
    add("--worker_hosts", required=True, help="host:port of every worker")
    add("--job_name", required=True, choices=["ps", "worker"])
    add("--worker_index", "--task_index", type=int, required=True, help="which of them is this?")
    add("--steps", "--train_steps", type=int, default=1000, help="of all workers together")
    add("--batch_size", type=int, default=100)
    digits.add_data_flag(parser)
    args = parser.parse_args()
    if not args.ps_hosts:
        parser.error("--ps_hosts is empty: this example needs at least one ps (tfrun -s 1)")
    return args


def work(args, cluster, server, data):
    me, workers = args.worker_index, cluster.num_tasks("worker")
    own_device = f"/job:worker/task:{me}"
    with tf.Graph().as_default() as graph:
        # Variables go to the ps, by turns; all else stays with this worker.
        setter = tf.compat.v1.train.replica_device_setter(worker_device=own_device, cluster=cluster)
        with tf.compat.v1.device(setter):
            net = network.build(data.pixels)
        with open_session(graph, server.target, own_device, is_chief=me == 0) as session:
            train(args, session, net, data.shard(me, workers).batches(args.batch_size, seed=me))
            if me == 0:
                test = {net.images: data.test_images, net.labels: data.test_labels}
                digits.report(session.run(net.accuracy, test))


def open_session(graph, target, own_device, is_chief):
    """A session on shared, initialised variables.

    The filter lets this worker see itself and the ps only. Without it the session would wait
    for all other workers, also for one that has already finished and gone.
    """
    config = tf.compat.v1.ConfigProto(device_filters=["/job:ps", own_device])
    manager = tf.compat.v1.train.SessionManager(
        graph=graph,
        ready_op=tf.compat.v1.report_uninitialized_variables(),
        recovery_wait_secs=0.2,
    )
    if is_chief:
        init = tf.compat.v1.global_variables_initializer()
        return manager.prepare_session(target, init_op=init, config=config)
    return manager.wait_for_session(target, config=config, max_wait_secs=START_TIMEOUT)


def train(args, session, net, batches):
    began, mine, step = time.monotonic(), 0, session.run(net.step)
    while step < args.steps:
        images, labels = next(batches)
        feed = {net.images: images, net.labels: labels}
        step, loss = session.run([net.train, net.loss], feed)
        mine += 1
        if mine % SAY_EVERY == 0:
            print(f"step {step}: loss {loss:.3f}", flush=True)
    print(f"did {mine} of the {step} steps, in {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
