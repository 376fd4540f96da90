"""A dead server's address, asked by a real client of gRPC and by other programs."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.bounds import HANG
from tfmesos.node.loop import READ, Loop
from tfmesos.node.task.dead_server import MAX_FRAME, DeadServer
from tfmesos.node.task.port import reserve

grpc = pytest.importorskip("grpc", reason="comes with TensorFlow: pip install tfmesos[tf]")

TEXT = "ps:0 was killed by SIGKILL (signal 9)"
MASTER = "/tensorflow.MasterService/"


def ask_a_dead_server(ask):
    """What ``ask(port)`` returns of a place where a server has died."""
    reservation = reserve(socket.AF_INET)
    done_reader, done_writer = socket.socketpair()
    with Loop() as loop, ThreadPoolExecutor(1) as pool, done_reader, done_writer:
        server = DeadServer(loop, reservation, TEXT)
        loop.watch(done_reader.fileno(), READ, lambda: None)
        answer = pool.submit(ask, reservation.getsockname()[1])
        answer.add_done_callback(lambda _: done_writer.send(b"!"))
        loop.run_until(answer.done)
        server.close()
    reservation.close()
    return answer.result()


def call(channel, method, request=b""):
    return channel.unary_unary(MASTER + method)(request, wait_for_ready=True, timeout=HANG)


@pytest.mark.parametrize("size", [0, 10_000, 1_000_000])
def test_a_call_is_aborted_with_the_end_of_the_server(size):
    def ask(port):
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            with pytest.raises(grpc.RpcError) as raised:
                call(channel, "RunStep", bytes(size))
            return raised.value.code(), raised.value.details()

    assert ask_a_dead_server(ask) == (grpc.StatusCode.ABORTED, TEXT)


def test_many_calls_share_a_connection_and_each_is_answered():
    def ask(port):
        codes = []
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            for method in 10 * ["RunStep", "ExtendSession"]:
                with pytest.raises(grpc.RpcError) as raised:
                    call(channel, method)
                codes.append(raised.value.code())
        return codes

    assert ask_a_dead_server(ask) == 20 * [grpc.StatusCode.ABORTED]


def test_sessions_may_be_closed():
    def ask(port):
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            return [call(channel, "CloseSession") for _ in range(3)]

    assert ask_a_dead_server(ask) == [b"", b"", b""]


@pytest.mark.parametrize("noise", [b"\xff" * MAX_FRAME, 4 * b"GET / HTTP/1.1\r\n\r\n"], ids=len)
def test_who_does_not_speak_http_2_is_left(noise):
    def ask(port):
        with socket.create_connection(("127.0.0.1", port), HANG) as other:
            other.sendall(noise)
            try:
                while other.recv(1024):
                    pass
            except ConnectionResetError:
                pass
        return "left"

    assert ask_a_dead_server(ask) == "left"


def test_an_address_that_somebody_else_has_taken_is_theirs():
    reservation = reserve(socket.AF_INET)
    address = ("127.0.0.1", reservation.getsockname()[1])
    other = reserve(socket.AF_INET, address[1])
    other.listen()
    with Loop() as loop:
        server = DeadServer(loop, reservation, TEXT)
        with socket.create_connection(address, HANG) as client:
            theirs = socket.socket(fileno=other._accept()[0])
            assert theirs.getpeername() == client.getsockname()
            theirs.close()
        server.close()
    reservation.close()
    other.close()
