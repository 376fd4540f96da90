"""``$(NAME)`` as Kubernetes fills it in."""

from hypothesis import given
from hypothesis import strategies as st

from tfmesos.jobfiles.tfjob.expansion import escaped, expanded, references

VALUES = {"A": "1", "B": "2"}


def test_names_that_are_known_are_filled_in_and_all_else_stays():
    assert expanded("$(A)$(B) $(C) $A ${A} $", VALUES) == "12 $(C) $A ${A} $"
    assert expanded("$$(A) $$$(A) $$", VALUES) == "$(A) $1 $"
    assert expanded("$(A $(B)", VALUES) == "$(A $(B)"


def test_references_are_those_that_would_be_filled_in():
    assert references("$(A) $$(B) $(C") == {"A"}


@given(st.text(st.sampled_from("$()A x")))
def test_an_escaped_text_is_itself_again(text):
    assert expanded(escaped(text), VALUES) == text


def test_the_dollars_of_a_shell_are_left_alone():
    assert escaped("echo $HOME ${X} $") == "echo $HOME ${X} $"
