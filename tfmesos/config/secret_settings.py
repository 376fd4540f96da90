"""The rows of the table of settings for secrets of the tasks."""

from collections.abc import Mapping
from typing import Annotated, TypedDict

from .setting import SECRETS, File, Setting, Text, is_dict, principal_name


class SecretSettings(TypedDict, total=False):
    """A part of ``Settings``."""

    secrets: Annotated[
        Mapping[str, str] | None,
        Setting(
            "give the tasks a secret, from a file or a variable of this shell, as the file "
            "$TFMESOS_SECRETS_DIR/NAME",
            ("--secret",),
            SECRETS,
            "NAME=FILE|env:VARIABLE",
            check=is_dict,
            is_repeatable=True,
        ),
    ]
    secret_env: Annotated[
        Mapping[str, str] | None,
        Setting(
            "give the command a secret, from a file or a variable of this shell, as the variable "
            "NAME",
            ("--secret-env",),
            SECRETS,
            "NAME=FILE|env:VARIABLE",
            check=is_dict,
            is_repeatable=True,
        ),
    ]
    keytab: Annotated[
        File,
        Setting(
            "keytab with which every task gets its own Kerberos ticket (kinit) before its command "
            "starts; the ticket is renewed until the command ends",
            ("--keytab",),
            SECRETS,
            "FILE",
        ),
    ]
    krb5_principal: Annotated[
        Text,
        Setting(
            "Kerberos principal of the tickets",
            ("--krb5-principal",),
            SECRETS,
            "USER@REALM",
            check=principal_name,
        ),
    ]
    krb5_conf: Annotated[
        File,
        Setting(
            "Kerberos configuration file for the tasks",
            ("--krb5-conf",),
            SECRETS,
            "FILE",
            default_words="the node's own",
        ),
    ]
    gcs_key: Annotated[
        File,
        Setting(
            "Google Cloud service account key; GOOGLE_APPLICATION_CREDENTIALS tells the tasks "
            "where it is",
            ("--gcs-key",),
            SECRETS,
            "FILE",
        ),
    ]
