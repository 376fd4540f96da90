"""What must be in a sentence: the names, the values and the way out.

A test that states a promise asks for these. The sentences as a whole are in ``tests/golden``, one
file for each folder, so that another wording changes the code and one line there:
``WRITE_SENTENCES=1 pytest -n 0 -k as_written_down tests`` writes them anew.
"""

import json
import os
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


def begins(text, sentence):
    """Does this line begin like that, where " ... " stands for some words?"""
    first, *parts = sentence.split(" ... ")
    return text.startswith(first) and names(text, first, *parts)


def assert_sentences(name, sentences):
    """They are those of the golden file, word for word."""
    file = GOLDEN / f"{name}.json"
    if os.environ.get("WRITE_SENTENCES"):
        file.write_text(json.dumps(sentences, indent=2) + "\n")
    assert json.loads(file.read_text()) == sentences
