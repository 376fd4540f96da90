"""The engines by name. Only the engine of the run is imported."""

from __future__ import annotations

from importlib import import_module

from ..config.engine_kinds import ENGINES
from .api import Plugin, Preview


def plugin_of(name: str) -> Plugin:
    if name not in ENGINES:
        raise ValueError(f"no engine is called {name!r}")
    plugin: Plugin = import_module(f"{__package__}.{name}.plugin").PLUGIN
    return plugin


def preview_of(form: str) -> Preview:
    """Shows what would be sent to an engine; *form* is one of ``engine_kinds.PREVIEWS``."""
    preview: Preview = import_module(f"{__package__}.{form}.preview").preview
    return preview
