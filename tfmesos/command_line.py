"""A parser of command lines: errors are one line, and answers are returned to the caller."""

from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn

from .errors import SpecError


class Answer(Exception):
    """The text for ``--help`` or ``--version``; the caller prints it and does nothing else."""


class CommandLine(argparse.ArgumentParser):
    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(self._problem_of(unknown[0].partition("=")[0]))
        return found

    def _problem_of(self, word: str) -> str:
        from .text import suggestion

        if not word.startswith("-"):
            return f"unexpected argument: {word}"
        near = suggestion(word, self._option_string_actions)
        return f"{word} is not a flag of {self.prog}{near}"

    def error(self, message: str) -> NoReturn:
        from .sanitize import plain_all

        sys.stderr.write(f"{self.prog}: {plain_all(message)} (see {self.prog} --help)\n")
        sys.exit(SpecError.exit_code)

    def _print_message(self, message: str, file: Any = None) -> NoReturn:
        """argparse would pass over an error here."""
        raise Answer(message)
