"""A wrong word of a command is answered in one line, with the right one where there is one."""

import pytest

from tests.sentences import names
from tfmesos.cli.commands.names import parser_of


@pytest.mark.parametrize(
    "command, words, said",
    [
        ("list", ["--runing"], ["--runing", "not a flag of tfrun list", "--running?"]),
        ("wait", ["--timout=3"], ["--timout ", "--timeout?"]),
        ("status", ["one", "two"], ["unexpected argument", "two"]),
    ],
)
def test_a_wrong_word_of_a_command_is_named_with_the_one_that_was_meant(
    capsys, command, words, said
):
    with pytest.raises(SystemExit) as caught:
        parser_of(command).parse_args(words)
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert error.count("\n") == 1 and names(error, *said)
