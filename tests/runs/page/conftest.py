"""A page of the runs in a directory of the test."""

import pytest

from tests.runs.page.site import served_page
from tfmesos.runs.store import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def visitor(store):
    """Somebody who has no link."""
    with served_page(store) as visitor:
        yield visitor


@pytest.fixture
def owner(visitor):
    """Who came with a link."""
    return visitor.enter()
