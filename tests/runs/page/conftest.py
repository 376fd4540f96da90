"""A page of the runs in a directory of the test."""

import pytest

from tests.browser import at_width
from tests.runs.page.site import served_page
from tfmesos.runs.run_directories import Store


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


@pytest.fixture
def owner_link(visitor):
    """Makes a fresh link to the page of a run, or to the list."""
    return visitor.served.link


@pytest.fixture(params=[1280, 400])
def screen(request, browser):
    """A browser with a window of a desk, or of a phone."""
    return at_width(browser, request.param)
