"""The rows of the table of settings that bring secrets to the tasks."""

from collections.abc import Mapping
from typing import Annotated, TypedDict

from .setting import SECRETS, File, Setting, is_dict


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
