"""The browser of the tests sees what a server serves."""

from tests.browser import until_text
from tests.web import web_server


def test_a_page_is_seen_in_the_browser(browser):
    page = b"<!doctype html><p id=p></p><script>p.textContent = 'made by ' + 'script'</script>"
    with web_server({"/": page}) as url:
        browser.get(url)
        assert until_text(browser, "by script") == "made by script"
