"""Imports point one way: pure <- I/O <- shell. CONTRIBUTING.rst explains the map."""

import ast
from pathlib import Path

import pytest

import tfmesos
from tfmesos.payload import NODE_MODULES

PACKAGE = Path(tfmesos.__file__).parent
FORBIDDEN_TO_PURE = {
    *("asyncio", "socket", "subprocess", "os", "time", "random", "threading", "logging"),
    *("aiohttp", "selectors", "signal", "sys"),
}

# Layers from the bottom; a module imports only from its own and lower ones.
PURE = {
    *(
        "errors",
        "version",
        "spec",
        "launch",
        "offers",
        "actions",
        "events",
        "roster",
        "gang",
        "lifecycle",
    ),
    *(
        "command",
        "recordio",
        "wire",
        "task_info",
        "translate",
        "payload",
        "outbox",
        "record",
        "undelivered",
        "bare",
        "json_reader",
    ),
    *(
        "containers",
        "messages",
        "preview",
        "stopwatch",
        "story",
        "hints",
        "reconciliation",
        "terminal",
        "shapes",
        "sizes",
        "secret",
    ),
    *("witnesses", "silence", "gathering", "nodes", "words", "restarts", "home", "placing"),
    *("constraints", "seating", "placement", "wait", "census", "inquiry", "notices"),
}
IO = {
    *(
        "process",
        "spawn",
        "stub",
        "importer",
        "system",
        "loop",
        "child",
        "link",
        "examine",
        "output",
        "servant",
        "serve",
        "epitaph",
        "reservation",
        "scratch",
    ),  # of the runner
    *("masters", "client", "client_answers", "client_calls", "client_patience"),
    *(
        "rendezvous",
        "console",
        "screen",
        "here",
        "interruption",
        "captivity",
        "coordinator",
        "access",
        "farewell",
        "sandbox",
        "limits",
        "acceptor",
    ),
}
SHELL = {
    *("config", "embedded", "run", "scheduler", "server", "parser", "flags", "tfrun"),
    *("__init__", "__main__"),
}


def modules():
    return sorted(path.stem for path in PACKAGE.glob("*.py"))


def imports(path):
    """Modules that *path* imports: those of this package with a dot before their name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level and node.module:
            yield "." * node.level + node.module.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield from ("." * node.level + alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def ours(path):
    return {name[1:] for name in imports(path) if name.startswith(".") and name[1] != "."}


def test_every_module_has_its_layer():
    assert set(modules()) == PURE | IO | SHELL


@pytest.mark.parametrize("name", sorted(PURE))
def test_a_pure_module_imports_pure_modules_and_no_io(name):
    found = set(imports(PACKAGE / f"{name}.py"))
    assert ours(PACKAGE / f"{name}.py") <= PURE
    assert not {module.split(".")[0] for module in found} & FORBIDDEN_TO_PURE


@pytest.mark.parametrize("name", sorted(IO))
def test_an_io_module_does_not_know_the_shell(name):
    assert ours(PACKAGE / f"{name}.py") <= PURE | IO


@pytest.mark.parametrize("name", NODE_MODULES)
def test_a_node_module_imports_only_what_travels_with_it(name):
    assert ours(PACKAGE / f"{name}.py") <= set(NODE_MODULES)


def test_the_embedded_mesos_shares_no_decision_with_the_launcher():
    for path in (PACKAGE / "local").glob("*.py"):
        shared = {name[2:] for name in imports(path) if name.startswith("..")}
        common = {"recordio", "json_reader", "process", "scratch", "errors", "record", "acceptor"}
        assert shared <= common, path.name


def test_only_one_module_knows_the_embedded_mesos():
    knowing = {name for name in modules() if "local" in ours(PACKAGE / f"{name}.py")}
    assert knowing == {"embedded"}
