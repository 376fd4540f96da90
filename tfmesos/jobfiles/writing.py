"""A document as YAML that any reader of YAML understands, old or new."""

from __future__ import annotations

from typing import Any

import yaml

from .yaml_text import add_words


class _Dumper(yaml.SafeDumper):
    """Quotes everything that YAML 1.1 or 1.2 would not take for a string."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    """A script keeps its lines; invisible characters are escaped."""
    style = None if text.isprintable() else '"'
    if style and text.replace("\n", "").isprintable():
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


add_words(_Dumper)
_Dumper.add_representer(str, _text)


def yaml_of(document: Any) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=90)
