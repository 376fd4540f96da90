"""The commands that the documents show, as one would type them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tfmesos.record import Record

ROOT = Path(__file__).parent.parent
NAMES = [
    *("README.rst", "CONTRIBUTING.rst", "examples/README.rst", "bench/README.rst"),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.rst")),
]
_SHELL = re.compile(r"\.\. code:: (bash|text)$|(?!\.\.).*::$")
_MARK = re.compile(r"\.\. (?P<mark>runnable|\w+ begins|not run: .+)$")
_PROMPT = re.compile(r"^([\w-]*\$ |until |do |ExecStart=%h/\.local/bin/)")
_AROUND = re.compile(r"(ssh login|salloc [-\w ]+) (?=tfrun )")  # a tfrun that runs elsewhere
PROGRAMS = {
    *("tfrun", "make", "python", "python3", ".venv/bin/python", "pip", "misc/setup-node.sh"),
    *("docker", "kubectl", "salloc", "ssh"),
}


class Shown(Record):
    """*mark* is the comment before its block: how it is run, or why it is not."""

    place: str
    text: str
    mark: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)

    @property
    def arguments(self) -> list[str]:
        """Up to where the shell sends the output, or takes the input from."""
        words = self.words[1:]
        ends = [words.index(word) for word in ("<", ">", "|") if word in words]
        return words[: min(ends, default=len(words))]


def shown_commands(name: str) -> list[Shown]:
    text = (ROOT / name).read_text()
    return [
        Shown(place=f"{name}:{number}", text=command, mark=mark)
        for number, mark, block in _blocks(text.splitlines())
        for command in _commands(block)
    ]


def _blocks(lines):
    """The number of the line that announces each, its mark, and its lines."""
    mark = ""
    for number, line in enumerate(lines, 1):
        if found := _MARK.match(line):
            mark = found["mark"]
        elif _SHELL.match(line.strip()):
            yield number, mark, _indented(lines[number:], len(line) - len(line.lstrip()))
        if line.strip() and not found:
            mark = ""


def _indented(lines, indent):
    block = []
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        block.append(line)
    return block


def _commands(block):
    """What stands behind a prompt; in a block without one, lines that begin with a program."""
    whole = re.sub(r"\s*\\\n\s*", " ", "\n".join(block)).splitlines()
    has_prompts = any("$ " in line[:20] for line in whole)
    for line in (it.strip() for it in whole):
        if has_prompts and not _PROMPT.match(line):
            continue
        command = _AROUND.sub("", _PROMPT.sub("", line))
        if command.split(" ")[0] in PROGRAMS:
            yield command
