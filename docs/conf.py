"""How the documentation is built: ``make docs``. Nothing is fetched."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import reference  # noqa: E402

from tfmesos import __version__  # noqa: E402
from tfmesos.config.settings_help import TITLE  # noqa: E402
from tfmesos.record import Record  # noqa: E402

project = "tfmesos"
author = "the tfmesos developers"
release = version = __version__
extensions = ["sphinx.ext.autodoc"]
html_theme = "furo"
html_show_copyright = False
html_title = f"tfmesos {release}"
exclude_patterns = ["_build", "_generated"]
autodoc_member_order = "bysource"
maximum_signature_line_length = 130
highlight_language = "text"


def signature_of_record(app, what, name, value, options, signature, returned):
    """The fields of a Record, which its ``__init__`` takes by position or by name."""
    if isinstance(value, type) and issubclass(value, Record):
        defaults = {field: f"={default!r}" for field, default in value._defaults.items()}
        return (
            f"({', '.join(field + defaults.get(field, '') for field in value.__match_args__)})",
            None,
        )
    return None


def without_settings(app, what, name, value, options, lines):
    """The page has a table of them."""
    if name == "tfmesos.cluster":
        start = next(n for n, line in enumerate(lines) if line.startswith(TITLE))
        del lines[start:]


def setup(app):
    app.connect("autodoc-process-docstring", without_settings)
    app.connect("autodoc-process-signature", signature_of_record)
    app.connect("builder-inited", lambda _: reference.write(HERE / "_generated"))
