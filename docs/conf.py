"""How the documentation is built: ``make docs``. Nothing is fetched."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tfmesos import __version__  # noqa: E402

project = "tfmesos"
author = "the tfmesos developers"
release = version = __version__
html_theme = "furo"
html_show_copyright = False
html_title = f"tfmesos {release}"
exclude_patterns = ["_build", "_generated"]
smartquotes = False  # which would make a dash of the -- of a flag
highlight_language = "text"
