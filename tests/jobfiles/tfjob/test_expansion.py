"""``$(NAME)`` as Kubernetes fills it in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.jobfiles.tfjob.expansion import TooLong, escaped, expanded, references

VALUES = {"A": "1", "B": "2"}


def test_names_that_are_known_are_filled_in_and_all_else_stays():
    assert expanded("$(A)$(B) $(C) $A ${A} $", VALUES) == "12 $(C) $A ${A} $"
    assert expanded("$$(A) $$$(A) $$", VALUES) == "$(A) $1 $"
    assert expanded("$(A $(B)", VALUES) == "$(A $(B)"


def test_variables_that_name_each_other_do_not_grow_without_bound():
    values = {"A0": "x" * 10}
    with pytest.raises(TooLong, match="131,071"):
        for number in range(1, 13):
            values[f"A{number}"] = expanded(f"$(A{number - 1})" * 10, values)
    assert max(map(len, values.values())) == 100_000


def test_references_are_those_that_would_be_filled_in():
    assert references("$(A) $$(B) $(C") == {"A"}


@given(st.text(st.sampled_from("$()A x")))
def test_an_escaped_text_is_itself_again(text):
    assert expanded(escaped(text), VALUES) == text


def test_the_dollars_of_a_shell_are_left_alone():
    assert escaped("echo $HOME ${X} $") == "echo $HOME ${X} $"
