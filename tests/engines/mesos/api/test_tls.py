"""TLS towards a master: which certificates are used, and why a server hangs up."""

import os
import socket
import ssl
import threading
from contextlib import contextmanager

import pytest

from tests.ports import free_port
from tests.tls import CIPHERS_OF_MESOS, blunt_server, server_context
from tfmesos.config.launch_config import Access
from tfmesos.engines.mesos.api.auth import CERTIFICATE_HINT, CIPHERS_HINT, handshake_hint
from tfmesos.engines.mesos.api.auth import tls_context as context_of
from tfmesos.errors import SpecError

TLS_1_2 = ssl.TLSVersion.TLSv1_2
LONG = 60.0  # seconds; a bound against a hang


def trusting(certificate):
    return ssl.create_default_context(cafile=str(certificate))


def hint_of(context, ours, timeout=LONG):
    with blunt_server(context) as address:
        return handshake_hint(f"https://{address}/api", ours, timeout)


def test_a_server_that_wants_a_certificate_is_recognized(certificate):
    for newest in (TLS_1_2, ssl.TLSVersion.TLSv1_3):
        context = server_context(certificate, trusted_clients=certificate, newest=newest)
        assert hint_of(context, trusting(certificate)) == CERTIFICATE_HINT


def test_a_server_with_the_ciphers_of_mesos_is_recognized(certificate):
    context = server_context(certificate, ciphers=CIPHERS_OF_MESOS, newest=TLS_1_2)
    assert hint_of(context, trusting(certificate)) == CIPHERS_HINT


def test_a_server_that_waits_for_a_request_is_blamed_for_nothing(certificate):
    context = server_context(certificate)
    assert hint_of(context, trusting(certificate), timeout=0.2) == ""


def test_a_certificate_that_we_do_not_trust_is_another_story(certificate):
    assert hint_of(server_context(certificate), None) == ""


def test_where_nobody_listens_there_is_nothing_to_say():
    assert handshake_hint(f"https://127.0.0.1:{free_port()}", None, LONG) == ""


@contextmanager
def server_that_hangs_up():
    """On everybody, at once, and counts them."""
    met = []

    def hang_up(listener):
        while True:
            try:
                met.append(listener.accept()[0])
            except OSError:
                return
            met[-1].close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=hang_up, args=(listener,))
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}", met
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_server_that_hangs_up_on_any_cipher_is_blamed_for_nothing():
    with server_that_hangs_up() as (url, met):
        assert handshake_hint(url, None, LONG) == ""
    assert len(met) == 2


# Certificates


def test_a_certificate_of_ours_is_shown_and_an_authority_is_trusted(certificate):
    ours = context_of(Access(ca_file=str(certificate), cert_file=str(certificate)))
    assert [one["serialNumber"] for one in ours.get_ca_certs()]
    asking = server_context(certificate, trusted_clients=certificate)
    assert hint_of(asking, ours, timeout=0.2) == ""


def test_every_context_verifies_whom_it_speaks_to(certificate):
    for access in (Access(ca_file=str(certificate)), Access(cert_file=str(certificate))):
        context = context_of(access)
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_a_key_of_its_own_is_used(certificate, tmp_path):
    text = certificate.read_text()
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    parts = text.partition("-----BEGIN CERTIFICATE")
    key.write_text(parts[0])
    cert.write_text("".join(parts[1:]))
    context_of(Access(cert_file=str(cert), key_file=str(key)))
    with pytest.raises(SpecError) as caught:
        context_of(Access(cert_file=str(cert)))
    assert caught.value.field == "cert_file"


@pytest.mark.parametrize("field", ["ca_file", "cert_file"])
def test_a_file_that_is_not_there_is_named_with_the_reason(tmp_path, field):
    path = tmp_path / "none.pem"
    with pytest.raises(SpecError) as caught:
        context_of(Access(**{field: str(path)}))
    assert caught.value.field == field
    assert str(caught.value).endswith(f"{path}: No such file or directory")


@pytest.mark.parametrize("field", ["ca_file", "cert_file", "key_file"])
def test_a_fifo_is_refused_at_once_and_not_waited_for(certificate, tmp_path, field):
    fifo = tmp_path / "fifo.pem"
    os.mkfifo(fifo)
    files = {"cert_file": str(certificate), field: str(fifo)}
    with pytest.raises(SpecError, match=f"{fifo}: not a regular file") as caught:
        context_of(Access(**files))
    assert caught.value.field == field
