"""A cluster without TensorFlow: the workers estimate pi, the ps adds up what they found.

    tfrun -w 2 -s 1 -- python examples/hello.py

Each task learns from its environment who it is and where the others are.
"""

import os
import random
import socket
import time

SAMPLES = 300_000
JOB, INDEX = os.environ["TFMESOS_JOB_NAME"], int(os.environ["TFMESOS_TASK_INDEX"])
PS = os.environ["TFMESOS_PS_HOSTS"].split(",")[0]
WORKERS = os.environ["TFMESOS_WORKER_HOSTS"].split(",")


def address(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


def add_up():
    """Wait for one line of every worker, and answer all of them with the result."""
    print(f"listening at {PS} for {len(WORKERS)} workers")
    with socket.create_server(address(PS)) as listener:
        connections = [listener.accept()[0] for _ in WORKERS]
        hits = sum(int(connection.makefile().readline()) for connection in connections)
        pi = 4 * hits / (SAMPLES * len(WORKERS))
        for connection in connections:
            with connection:
                connection.sendall(f"{pi:.3f}\n".encode())
    print(f"pi is about {pi:.3f}, by {SAMPLES * len(WORKERS)} samples of {len(WORKERS)} workers")


def estimate():
    source = random.Random(INDEX)
    hits = sum(source.random() ** 2 + source.random() ** 2 < 1 for _ in range(SAMPLES))
    print(f"{hits} of {SAMPLES} points lie in the circle")
    with connected(address(PS)) as connection:
        connection.sendall(f"{hits}\n".encode())
        print(f"together we say {connection.makefile().readline().strip()}")


def connected(where, patience=30.0):
    """All tasks start at the same moment, so the ps may not listen just yet."""
    end = time.monotonic() + patience
    while True:
        try:
            return socket.create_connection(where)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    add_up() if JOB == "ps" else estimate()
