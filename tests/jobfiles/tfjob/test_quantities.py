"""Amounts as Kubernetes writes them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.jobfiles.tfjob import quantities


@pytest.mark.parametrize(
    "text, amount",
    [
        ("500m", "0.5"), ("2", "2"), (2, "2"), (0.5, "0.5"), ("1e3", "1000"), ("1.5", "1.5"),
        ("2Ki", "2048"), ("2Gi", 2 * 2**30), ("1k", "1000"), ("1G", 10**9), ("100u", "0.0001"),
        ("1E", 10**18), ("1Ei", 2**60), ("12E2", "1200"), (".5", "0.5"), ("5.", "5"),
    ],
)  # fmt: skip
def test_an_amount_is_exact(text, amount):
    assert quantities.parse(text) == Decimal(amount)


@pytest.mark.parametrize(
    "text", ["", "x", "5 Gi", "5GB", "-1", "1e", True, None, [], "9" * 99, "1e99", "8Ei"]
)
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(ValueError, match="must "):
        quantities.parse(text)


@given(st.integers(1, 10**7), st.integers(1, 2**50))
def test_what_is_written_is_read_again(thousandths, size):
    assert quantities.parse(quantities.cores(thousandths / 1000)) == Decimal(thousandths) / 1000
    mebibytes = size / quantities.MIB
    assert quantities.parse(quantities.size(mebibytes)) == size


@pytest.mark.parametrize("write, amount", [(quantities.cores, 0.0001), (quantities.size, 0.1)])
def test_what_is_too_fine_is_refused(write, amount):
    with pytest.raises(ValueError, match="in Kubernetes, got 0"):
        write(amount)
