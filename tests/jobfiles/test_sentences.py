"""What is wrong with a job file, word for word."""

from tests.sentences import assert_sentences

from . import test_dcos, test_native, test_round_trips
from .marathon import test_group
from .tfjob import test_document

SMALL = test_dcos.SMALL


def of_dcos():
    for service, _ in test_dcos.WITHOUT_MEANING:
        yield from test_dcos.remarks({**SMALL, **service})
    for service, _ in test_dcos.WRONG_SERVICES:
        yield test_dcos.problem({**SMALL, **service})
    for sections, _ in test_dcos.WRONG_SECTIONS:
        yield test_dcos.problem(**sections)


def of_foreign_files():
    for module in (test_document, test_group):
        for tree, _ in module.REFUSED:
            yield module.refusal(tree)


def of_ours():
    for text, _ in test_native.WRONG:
        yield test_native.problem(text)
    for changes, _ in test_round_trips.NOT_IN_A_TFJOB:
        yield test_round_trips.refusal(changes)


def test_they_are_as_written_down():
    parts = (of_dcos, of_foreign_files, of_ours)
    assert_sentences("jobfiles-sentences", {part.__name__: list(part()) for part in parts})
