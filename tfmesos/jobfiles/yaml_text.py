"""YAML, with the line of each key.

Words mean what YAML 1.2 says: ``no``, ``12:30`` and ``2026-01-31`` are strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

from .reading import MAX_DEPTH, MAX_VALUES, Twice, Unreadable
from .translation import Key

_TAG = "tag:yaml.org,2002:"
_SCALARS: dict[str, Callable[[str], Any]] = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": float,
    "str": str,
}


class _Loader(yaml.SafeLoader):
    """Without the implicit types of YAML 1.1; those of 1.2 are added below."""


_WORDS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?",
        list("-+.0123456789"),
    ),
    ("merge", "<<", ["<"]),
)


def add_words(kind: type[yaml.SafeLoader | yaml.SafeDumper]) -> None:
    """Let it recognize the words of YAML 1.2 that are not strings."""
    for name, pattern, first in _WORDS:
        kind.add_implicit_resolver(_TAG + name, re.compile(rf"(?:{pattern})\Z"), first)


_Loader.yaml_implicit_resolvers = {}
add_words(_Loader)


def parse(text: str) -> tuple[Any, ...]:
    """The value, the lines of its keys, and the names of documents that are left out."""
    try:
        nodes = [node for node in yaml.compose_all(text, _Loader) if not _is_empty(node)]
        node, others = _chosen(nodes)
        reader = _Reader()
        value = None if node is None else reader.value(node, ())
        return value, reader.lines, *map(_title, others)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "is not valid YAML"
        if "'\\t'" in problem:
            problem = "has a tab before the first word: YAML is indented with spaces"
        raise Unreadable(problem, mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        raise Unreadable(f"is not valid YAML: {str(error).splitlines()[0]}") from None


def _is_empty(node: Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == _TAG + "null"


def _chosen(nodes: list[Node]) -> tuple[Node | None, list[Node]]:
    """The only document, or the only TFJob among manifests; and the others."""
    found = [node for node in nodes if _words(node).get("kind", "").lower() == "tfjob"]
    if len(nodes) < 2:
        return (nodes[0] if nodes else None), []
    if len(found) == 1:
        return found[0], [node for node in nodes if node is not found[0]]
    second = (found or nodes)[1]
    problem = "a job file contains one document, or one TFJob: another one begins here"
    raise Unreadable(problem, _line(second))


def _words(node: Node) -> dict[str, str]:
    """The keys of a mapping whose values are plain, and those of its metadata."""
    pairs = node.value if isinstance(node, MappingNode) else []
    return {
        str(name.value): str(value.value)
        for name, value in pairs
        if isinstance(name, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode)
    }


def _title(node: Node) -> str:
    parts = node.value if isinstance(node, MappingNode) else []
    about = (_words(value) for name, value in parts if name.value == "metadata")
    name = next(about, {}).get("name", "")
    return f"{_words(node).get('kind', 'the document')} {name}".strip()


class _Reader:
    """Reads the values of nodes. An anchor counts each time it is used."""

    def __init__(self) -> None:
        self.lines: dict[Key, int] = {}
        self._count = 0

    def value(self, node: Node, key: Key) -> Any:
        self._count += 1
        if self._count > MAX_VALUES:
            raise Unreadable(f"contains more than {MAX_VALUES:,} values", _line(node))
        if len(key) > MAX_DEPTH:
            raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep", _line(node))
        self.lines.setdefault(key, _line(node))
        kind = node.tag.removeprefix(_TAG)
        if isinstance(node, MappingNode) and kind == "map":
            return self._mapping(node, key)
        if isinstance(node, SequenceNode) and kind == "seq":
            return [self.value(one, (*key, i)) for i, one in enumerate(node.value)]
        return _scalar(node, kind)

    def _mapping(self, node: MappingNode, key: Key) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for name_node, value_node in node.value:
            if name_node.tag == _TAG + "merge":
                merged |= self._merged(value_node, key)
                continue
            name = self._name(name_node)
            if name in found:
                raise Twice((*key, name), _line(name_node), self.lines[*key, name])
            self.lines[*key, name] = _line(name_node)
            found[name] = self.value(value_node, (*key, name))
        return {**merged, **found}

    def _merged(self, node: Node, key: Key) -> dict[str, Any]:
        """The keys that ``<<`` merges: of several mappings the first wins."""
        nodes = node.value if isinstance(node, SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for one in nodes:
            value = self.value(one, key)
            if not isinstance(value, dict):
                raise Unreadable("<< must stand before an anchor of keys", _line(node))
            merged = {**value, **merged}
        return merged

    def _name(self, node: Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise Unreadable("has a key that is not a string", _line(node))
        return str(node.value)


def _scalar(node: Node, kind: str) -> Any:
    try:
        return _SCALARS[kind](node.value)
    except (KeyError, TypeError, ValueError):
        problem = (
            f"{node.value!r} is not a valid {kind}" if kind in _SCALARS else f"has a tag {kind!r}"
        )
        raise Unreadable(problem, _line(node)) from None


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1
