"""The rows of the table of settings that bring secrets to the tasks."""

from collections.abc import Mapping
from typing import Annotated, TypedDict

from .setting import SECRETS, File, Setting, Text, is_dict, principal_name


class SecretSettings(TypedDict, total=False):
    """A part of ``Settings``."""

    secrets: Annotated[
        Mapping[str, str] | None,
        Setting(
            "bring a file, or the value of a variable of yours, to the tasks as the file "
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
            "the same as the variable NAME, for the command alone",
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
            "keytab with which every task gets a Kerberos ticket of its own, by kinit, before its "
            "command starts; it is renewed until the command ends",
            ("--keytab",),
            SECRETS,
            "FILE",
        ),
    ]
    krb5_principal: Annotated[
        Text,
        Setting(
            "whose ticket that is",
            ("--krb5-principal",),
            SECRETS,
            "USER@REALM",
            check=principal_name,
        ),
    ]
    krb5_conf: Annotated[
        File,
        Setting(
            "settings of Kerberos for the tasks",
            ("--krb5-conf",),
            SECRETS,
            "FILE",
            default_words="the node's own",
        ),
    ]
    gcs_key: Annotated[
        File,
        Setting(
            "key of a service account of Google Cloud, to which GOOGLE_APPLICATION_CREDENTIALS "
            "leads in the tasks",
            ("--gcs-key",),
            SECRETS,
            "FILE",
        ),
    ]
