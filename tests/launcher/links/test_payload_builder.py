"""What travels to a node: compiled modules, or sources."""

from __future__ import annotations

import marshal
import zlib
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any

from tfmesos.launcher.links import payload, payload_builder
from tfmesos.node import entry, own_modules
from tfmesos.node.importer import Importer

OURS = MAGIC_NUMBER.hex()


def modules(python: str) -> tuple[dict[str, bytes], bytes]:
    """What the importer is given."""
    _, *parts = marshal.loads(payload.runners()[python])
    return tuple(parts)


def unpacked(part: bytes) -> Any:
    return marshal.loads(zlib.decompress(part))


def test_every_node_module_travels_compiled_to_our_python_and_as_source_to_others():
    on_arrival = {f"tfmesos.node.{name}" for name in ("importer", "stub", "listening_stub")}
    names = set(payload_builder.node_modules()) - on_arrival
    assert set(payload.runners()) == {OURS, ""}
    assert set(modules(OURS)[0]) == set(unpacked(modules("")[1])) == names
    assert modules("")[0] == {}


def test_a_module_is_the_same_compiled_and_as_source():
    ours = Importer(*modules(OURS)).get_code("tfmesos.shared.wire")
    other = Importer(*modules("")).get_code("tfmesos.shared.wire")
    assert ours.co_filename == other.co_filename == "tfmesos/shared/wire.py"
    assert ours.co_names == other.co_names


def test_what_the_runner_hands_to_other_processes_travels_as_text_too():
    texts = unpacked(modules(OURS)[1])
    assert set(texts) == {f"tfmesos.node.{name}" for name in own_modules.TEXTS}
    assert texts["tfmesos.node.entry"] == Path(entry.__file__).read_text()


def test_what_travels_does_not_tell_where_it_was_installed():
    home = str(Path(payload.__file__).parents[2]).encode()
    importer, compiled, _ = marshal.loads(payload.runners()[OURS])
    codes = [marshal.dumps(importer), *map(zlib.decompress, compiled.values())]
    assert len(codes) > 20 and not [code for code in codes if home in code]
