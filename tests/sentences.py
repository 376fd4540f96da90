"""What must be in a sentence: the names, the values and the way out.

A test that states a promise asks for these. The sentences as a whole are in ``tests/golden``, one
file for each folder, so that another wording changes the code and one line there.
"""

import json
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def names(text, *parts):
    """Does this line name all of them, in this order?"""
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return "\n" not in text.rstrip("\n")


def assert_sentences(name, sentences):
    """They are those of the golden file, word for word."""
    assert json.loads((GOLDEN / f"{name}.json").read_text()) == sentences
