"""The rows of the table of settings for credentials and TLS towards Mesos masters."""

from typing import Annotated, TypedDict

from .engine_kinds import OF_MESOS
from .setting import ACCESS, File, Setting, Text


class CredentialSettings(TypedDict, total=False):
    """A part of ``Settings``."""

    principal: Annotated[
        Text,
        Setting(
            "principal of the framework on the Mesos master",
            ("--principal",),
            ACCESS,
            variable="MESOS_PRINCIPAL",
            engines=OF_MESOS,
        ),
    ]
    secret_file: Annotated[
        File,
        Setting(
            "file with the secret of the principal",
            ("--secret-file",),
            ACCESS,
            "FILE",
            variable="MESOS_SECRET_FILE",
            engines=OF_MESOS,
        ),
    ]
    token_file: Annotated[
        File,
        Setting(
            "file with a token for the Mesos master instead of a secret, as on DC/OS",
            ("--token-file",),
            ACCESS,
            "FILE",
            engines=OF_MESOS,
        ),
    ]
    ca_file: Annotated[
        File,
        Setting(
            "use TLS for the Mesos masters, and trust the certificates in this file",
            ("--ca-file",),
            ACCESS,
            "FILE",
            engines=OF_MESOS,
        ),
    ]
    cert_file: Annotated[
        File,
        Setting(
            "use TLS for the Mesos masters, with the client certificate in this file",
            ("--cert-file",),
            ACCESS,
            "FILE",
            engines=OF_MESOS,
        ),
    ]
    key_file: Annotated[
        File,
        Setting(
            "private key of the client certificate, if it is in another file",
            ("--key-file",),
            ACCESS,
            "FILE",
            engines=OF_MESOS,
        ),
    ]
