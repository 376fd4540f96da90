"""The certificate of a run: created for it and kept with its keys; tasks know it by its hash."""

from __future__ import annotations

import datetime
import hashlib
import os
import ssl
import tempfile

from ..errors import SpecError

_VALID = datetime.timedelta(days=3650)  # nobody checks the name: the hash identifies it
_INSTALL = "the package cryptography: pip install cryptography"


def make_certificate(run_id: str, asked_by: str) -> str:
    """A private key and a certificate, in PEM.

    SpecError of the setting *asked_by* if what makes it is not installed.
    """
    try:
        key, certificate = _make(run_id)
    except ImportError:
        raise SpecError(None, asked_by, f"needs {_INSTALL}") from None
    return key.decode("ascii") + ssl.DER_cert_to_PEM_cert(certificate)


def tls_of(pem: str) -> tuple[ssl.SSLContext, str]:
    """What the listener uses, and the hash for the tasks."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # OpenSSL takes a key from a file only; nobody else can read this one, and it is gone at once.
    with tempfile.NamedTemporaryFile(prefix="tfmesos-") as file:
        file.write(pem.encode("ascii"))
        file.flush()
        context.load_cert_chain(file.name)
        os.ftruncate(file.fileno(), 0)
    certificate = pem[pem.index(ssl.PEM_HEADER) :]
    return context, hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest()


def _make(run_id: str) -> tuple[bytes, bytes]:
    """A private key as PEM, and a certificate as DER that is signed with it."""
    from cryptography import x509  # an extra, and not cheap
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, run_id)])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - _VALID).not_valid_after(now + _VALID)
    made = builder.sign(key, hashes.SHA256())
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return secret, made.public_bytes(serialization.Encoding.DER)
