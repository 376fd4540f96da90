"""The runner's own JSON and HMAC say what those of the standard library say."""

from __future__ import annotations

import hashlib
import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.shared import stdlib

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_json_is_written_as_the_standard_library_writes_it(value):
    assert stdlib.dumps(value) == json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": float("-inf")}])
def test_numbers_that_json_lacks_are_not_written(value):
    with pytest.raises(ValueError):
        stdlib.dumps(value)


def test_what_is_no_json_value_is_not_written():
    with pytest.raises(TypeError):
        stdlib.dumps({"a": object()})


@given(st.binary(max_size=200), st.binary(max_size=300))
def test_the_proofs_are_hmac_sha256(key, message):
    assert stdlib.hmac_sha256(key, message) == hmac.new(key, message, hashlib.sha256).hexdigest()


def test_digests_are_compared_by_value():
    assert stdlib.compare_digest(b"abc", b"abc")
    assert not stdlib.compare_digest(b"abc", b"abd")
