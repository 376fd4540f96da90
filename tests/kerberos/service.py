"""A service that knows its clients by Kerberos. For Debian's Python, which has gssapi.

service.py serve       prints its port, and answers until its standard input ends
service.py ask PORT    prints whom the service takes us for
"""

import os
import socket
import sys
import threading

import gssapi

NAME = gssapi.Name("test@localhost", gssapi.NameType.hostbased_service)


def say(connection, token):
    connection.sendall(len(token).to_bytes(4, "big") + token)


def hear(connection):
    size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
    return connection.recv(size, socket.MSG_WAITALL)


def serve():
    credentials = gssapi.Credentials(usage="accept", name=NAME)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        threading.Thread(target=end_with_standard_input, daemon=True).start()
        while True:
            connection, _ = listener.accept()
            with connection:
                answer(connection, credentials)


def end_with_standard_input():
    sys.stdin.read()
    os._exit(0)


def answer(connection, credentials):
    context = gssapi.SecurityContext(creds=credentials, usage="accept")
    say(connection, context.step(hear(connection)))
    name = str(context.initiator_name).encode()
    say(connection, context.wrap(name, True).message)


def ask(port):
    context = gssapi.SecurityContext(name=NAME, usage="initiate")
    with socket.create_connection(("127.0.0.1", int(port))) as connection:
        say(connection, context.step())
        context.step(hear(connection))
        print(context.unwrap(hear(connection)).message.decode())


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
