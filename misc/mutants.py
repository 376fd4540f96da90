"""Change the code in every small way and see whether the tests notice: `make mutants`.

pyproject.toml says which modules are changed and which tests are run. tests/mutants.rst says of
the changes that no test notices why that is so.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

from _pytest.nodes import Node
from mutmut.__main__ import cli, walk_mutatable_files
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.workers.isolation import ForkRunner, MutantResult

ENOUGH = 0.85  # of all changes are noticed
UNNOTICED = ("survived", "no tests")


def without_orphans(wait: Callable[..., MutantResult]) -> Callable[..., MutantResult]:
    """tests/conftest.py makes this process the parent of what a test leaves; mutmut waits for all
    its children, and fails at one that it has not started.
    """

    def wait_for_result(runner: ForkRunner, timeout: float | None = None) -> MutantResult:
        while True:
            try:
                return wait(runner, timeout)
            except KeyError:
                pass  # it was an orphan

    return wait_for_result


def run(names: list[str]) -> None:
    # mutmut 3.8 asks for a name that pytest has no more since 9.2.
    Node._nodeid = property(lambda node: node.nodeid)
    ForkRunner.wait_for_result = without_orphans(ForkRunner.wait_for_result)
    cli(["run", *names], standalone_mode=False)


def show(name: str, path: str) -> None:
    diff = get_diff_for_mutant(name, path=path).splitlines()[2:]
    print(name, *(line for line in diff if line[0] in "+-"), "", sep="\n")


def main() -> int:
    run(sys.argv[1:])
    found: Counter[str] = Counter()
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        for name, code in data.exit_code_by_key.items():
            status = status_by_exit_code[code]
            if status != "not checked":  # because names were given
                found[status] += 1
            if status in UNNOTICED:
                show(name, str(path))
    share = 1 - sum(found[status] for status in UNNOTICED) / found.total()
    print(f"{share:.1%} of {found.total()} changes were noticed; {ENOUGH:.0%} are enough")
    print(*(f"{number} {status}" for status, number in found.items()), sep=", ")
    return int(share < ENOUGH)


if __name__ == "__main__":
    sys.exit(main())
