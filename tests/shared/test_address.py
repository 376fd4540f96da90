"""Host and port as one text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.shared.address import join_address, split_address


@given(
    st.one_of(st.from_regex(r"[a-z0-9.-]+", fullmatch=True), st.ip_addresses(v=6).map(str)),
    st.integers(0, 65535),
)
def test_an_address_joined_is_split_again(host, port):
    assert split_address(join_address(host, port)) == (host, port)


@pytest.mark.parametrize(
    "text", ["", "host", ":1", "host:", "host:x", "h:65536", "h:-1", "::1:5", "[]:5", "h:²"]
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match=r"is not host:port"):
        split_address(text)
