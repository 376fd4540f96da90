"""The folder of a module tells what it may import: lower rooms know nothing of higher ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tfmesos

PACKAGE = Path(tfmesos.__file__).parent
TESTS = Path(__file__).parent
TOP = "tfmesos"  # what lies in no folder

# Room -> rooms it may import from. The top is for all: errors, record and the like.
_BELOW_ENGINES = {"core", "config", "node", "shared", "http"}
_BELOW_LAUNCHER = {"engines", *_BELOW_ENGINES}
ALLOWED = {
    "config": {"config", "shared"},
    "jobfiles": {"jobfiles", "config", "shared"},
    "core": {"core", "config"},
    "shared": {"shared"},
    "node": {"node", "shared"},
    "http": {"http"},
    "engines": {"engines", *_BELOW_ENGINES},
    "launcher": {"launcher", *_BELOW_LAUNCHER},
    "inputs": {"inputs", "jobfiles", "launcher", *_BELOW_LAUNCHER},
    "runs": {"runs", "launcher", "core", "config", "node", "shared", "http"},
    "cli": {"cli", "runs", "inputs", "jobfiles", "launcher", *_BELOW_LAUNCHER},
}
# Modules that may import from a folder of a room above theirs, which imports no engine.
_SETUPS = re.compile(r"engines/\w+/(setup|preview|runner_command)\.py")
_OF_SETUPS = "tfmesos.launcher.links."
# Room -> its folders -> what of the room these may import: folders, and modules at its top.
FOLDERS = {
    "launcher": {
        "ship": {"ship"},
        "links": {"links", "ship"},
        "screen": {"screen", "links"},
        "caller": {"caller", "screen"},
    },
    "engines": {
        "local": {"local", "api", "elastic", "listening"},
        "mesos": {"mesos", "api", "elastic", "listening", "own_address"},
        "kubernetes": {"kubernetes", "api", "elastic", "listening", "own_address"},
        "slurm": {"slurm", "api", "elastic", "listening", "own_address"},
    },
    "engines/mesos": {"api": {"api"}},
    "engines/slurm": {"api": {"api"}},
    "engines/kubernetes": {
        "api": {"api"},
        "permissions": {"permissions", "api"},
        "pods": {"pods", "pod_status", "quota"},
        "takeover": {"takeover", "api", "pods", "objects", "actions", "events"},
    },
    "node": {
        "link": {"link", "loop", "runner_settings"},
        "process": {"process", "link", "loop", "runner_settings"},
        "task": {"task", "process", "link", "loop", "runner_settings", "own_modules"},
        "inside": {"inside", "task", "process", "link", "loop", "runner_settings"},
    },
}
PURE = {"config", "jobfiles", "core"}
IO = {
    *("asyncio", "socket", "subprocess", "os", "time", "random", "threading", "logging"),
    *("h11", "wsproto", "selectors", "signal", "sys"),
}
_OF_OTHER_ENGINES = re.compile(
    r"tfmesos\.engines\.(mesos|kubernetes|slurm)\.|tests\.(engines|mesos|kubernetes|slurm)\."
)
FRONTS = {"__init__", "__main__", "tfrun", "scheduler", "server"}
WORDS_OF_AN_ENGINE = (
    *("offer", "agent", "framework", "decline", "revive", "suppress", "reconcile", "master", "pod"),
)


def modules(room: str) -> list[Path]:
    """Those of its folders, too."""
    return sorted(PACKAGE.glob("*.py") if room == TOP else (PACKAGE / room).rglob("*.py"))


def dotted(path: Path) -> str:
    return ".".join(("tfmesos", *path.relative_to(PACKAGE).with_suffix("").parts))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """The dotted names of all that *path* imports, its own package's relative ones made whole."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    package = dotted(path).split(".")[:-1] if path.is_relative_to(PACKAGE) else ["tests"]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def rooms_of(path: Path) -> set[str]:
    """The rooms that *path* imports from."""
    is_setup = _SETUPS.fullmatch(path.relative_to(PACKAGE).as_posix())
    names = [n for n in imports(path) if not (is_setup and n.startswith(_OF_SETUPS))]
    ours = [name.split(".") for name in names if name.split(".")[0] == "tfmesos"]
    return {parts[1] for parts in ours if parts[1] in ALLOWED}


def test_every_folder_is_a_room_and_states_its_rule():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ALLOWED)
    for path in PACKAGE.rglob("*/__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_a_room_imports_only_from_the_rooms_below(room):
    for path in modules(room):
        assert rooms_of(path) <= ALLOWED[room], path.name


def test_what_lies_at_the_top_is_a_front_or_for_all():
    for path in modules(TOP):
        assert path.stem in FRONTS or not rooms_of(path), path.name


@pytest.mark.parametrize("room", sorted(FOLDERS))
def test_imports_among_the_folders_of_a_room_point_one_way(room):
    folders = {path.parent.name for path in PACKAGE.glob(f"{room}/*/__init__.py")}
    assert folders == set(FOLDERS[room])
    start = f"tfmesos.{room.replace('/', '.')}."
    for folder, allowed in FOLDERS[room].items():
        for path in modules(f"{room}/{folder}"):
            ours = [name.removeprefix(start) for name in imports(path) if name.startswith(start)]
            assert {name.split(".")[0] for name in ours} <= allowed, path.name


@pytest.mark.parametrize("room", sorted(PURE))
def test_a_pure_room_does_no_io(room):
    for path in modules(room):
        assert not {name.split(".")[0] for name in imports(path)} & IO, path.name


@pytest.mark.parametrize(
    "module",
    [
        f"engines.{name}"
        for name in ("local.engine", "mesos.engine", "kubernetes.engine", "slurm.engine")
    ]
    + ["engines.kubernetes.objects", "engines.slurm.request", "engines.slurm.script"],
)
def test_an_engine_decides_without_io(module):
    """All that it imports of ours, and what that imports, is pure."""
    waiting, seen = [f"tfmesos.{module}"], set()
    while waiting:
        name = waiting.pop()
        path = PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
        if name in seen or not path.is_file():
            continue
        seen.add(name)
        found = set(imports(path))
        assert not {name.split(".")[0] for name in found} & IO, name
        waiting += [n for one in found for n in (one, one.rpartition(".")[0])]
    assert len(seen) > 10


def test_the_node_imports_nothing_that_does_not_travel():
    travels = ("tfmesos.node.", "tfmesos.shared.", "tfmesos.errors.")
    for path in [*modules("node"), *modules("shared")]:
        ours = {name for name in imports(path) if name.startswith("tfmesos.")}
        assert all(name.startswith(travels) for name in ours), path.name


def test_the_embedded_mesos_shares_no_decision_with_the_launcher():
    """A partner that shared our mistakes would hide them."""
    shared = {
        *("http.server", "http.connection", "engines.mesos.api.recordio", "shared.process"),
        *("shared.stdlib", "shared.json_reader", "shared.held_directory"),
        *(f"engines.local.{name}" for name in ("scratch_directory", "start_rate", "machine")),
    }
    for path in sorted((TESTS / "mesos" / "embedded").glob("*.py")):
        ours = {name.removeprefix("tfmesos.") for name in imports(path) if "tfmesos." in name}
        foreign = {name for name in ours if name.split(".")[0] in ALLOWED}
        unshared = [n for n in foreign if not any(f"{n}.".startswith(f"{s}.") for s in shared)]
        assert unshared == [], path.name


def test_the_core_has_no_word_of_an_engine():
    for path in modules("core"):
        text = path.read_text().lower()
        assert not [word for word in WORDS_OF_AN_ENGINE if word in text], path.name


def test_the_core_is_tested_in_its_own_words():
    """By no engine, or by the one that runs on this machine."""
    words = re.compile(rf"(?i:{'|'.join(WORDS_OF_AN_ENGINE)}|\bmesos)|\b(TASK|REASON)_[A-Z]")
    paths = [*(TESTS / "core").rglob("*.py"), TESTS / "builders.py", TESTS / "replay.py"]
    assert len(paths) > 35
    for path in paths:
        assert [name for name in imports(path) if _OF_OTHER_ENGINES.match(name)] == [], path.name
        assert not words.search(path.read_text()), path.name


def test_unit_tests_start_no_run():
    """They lie beside the tests of the layers, and in folders named as ours: `make test-fast`."""
    ours = [path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("__init__.py")]
    folders = [TESTS / folder for folder in ours]
    units = [path for folder in folders for path in folder.glob("test_*.py")]
    assert units
    starts_one = re.compile(r"^from tests\.commands import|^ +with cluster\(", re.MULTILINE)
    assert [path for path in units if starts_one.search(path.read_text())] == []


def test_no_module_is_too_long_to_be_about_one_thing():
    sizes = {path: len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {dotted(path): lines for path, lines in sizes.items() if lines > 450} == {}


def test_no_file_of_tests_is_too_long_to_be_about_one_promise():
    sizes = {path: len(path.read_text().splitlines()) for path in TESTS.rglob("*.py")}
    assert {path: lines for path, lines in sizes.items() if lines > 400} == {}


def test_a_name_that_stands_twice_means_the_same_in_each_folder():
    """The parts of every engine have the same names, and a command that of what it commands."""
    same = {
        *("actions", "answers", "driver", "engine", "events", "explain", "gang", "plugin"),
        *(
            "preview",
            "refusals",
            "retries",
            "setup",
            "story",
            "client",
            "connection",
            "server",
            "export",
            "command",
        ),
        *("completion", "prune", "stacks", "status"),
    }
    stems = [path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__"]
    assert {stem for stem in stems if stems.count(stem) > 1} - same == set()


def test_no_folder_has_more_modules_than_one_looks_through():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    sizes = {folder.name: len(list(folder.glob("*.py"))) for folder in folders}
    assert {folder: number for folder, number in sizes.items() if number > 26} == {}


def test_nothing_takes_more_parameters_than_one_keeps_in_mind():
    """But for the rows of the table of settings, and what TFMesos took by position."""
    allowed = {"tfmesos.config.setting", "tfmesos.scheduler"}
    found = {
        f"{dotted(path)}:{node.lineno}": number
        for path in PACKAGE.rglob("*.py")
        if dotted(path) not in allowed
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (number := _parameters(node.args)) > 8
    }
    assert found == {}


def _parameters(arguments: ast.arguments) -> int:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len([one for one in named if one.arg not in ("self", "cls")])
