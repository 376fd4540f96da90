"""Only the browser that came with a fresh link sees anything of the page."""

import pytest

from tests.runs.page.site import add_run, write_log
from tests.sentences import names

EVERYTHING = ("", "app.js", "events", "events?run=aaaa", "log?run=aaaa&task=worker:0", "/", "/x")


def test_a_link_is_exchanged_once_for_a_cookie_that_no_script_reads(visitor):
    link = visitor.link("aaaa")
    told = visitor.ask(link)
    assert told.status == 200
    cookie, *rules = told.headers["set-cookie"].split("; ")
    assert rules == [f"Path={visitor.path}", "HttpOnly", "SameSite=Strict"]
    assert cookie.startswith(f"tfmesos-{visitor.served.port}=") and len(cookie) > 50
    assert 'content="0;url=./?run=aaaa"' in told.text
    again = visitor.ask(link)
    assert again.status == 403 and "set-cookie" not in again.headers
    visitor.cookie = cookie
    assert visitor.ask("").status == 200
    assert visitor.ask(link).status == 200  # it is the same browser, which goes back


def test_to_ask_whether_a_link_is_good_does_not_use_it(visitor):
    link = visitor.link()
    assert [visitor.ask(link, "HEAD").status for _ in range(2)] == [200, 200]
    assert visitor.ask(link).status == 200
    assert visitor.ask(link, "HEAD").status == 403


@pytest.mark.parametrize("token", ["", "x", "x.y", ".", "%00.%ff", "a" * 5000])
def test_a_token_that_was_not_made_here_is_refused(visitor, token):
    told = visitor.ask(f"enter?token={token}")
    assert told.status == 403 and "set-cookie" not in told.headers


def test_a_proof_counts_for_its_own_number_only(visitor):
    number, _, proof = visitor.link().partition("token=")[2].partition(".")
    assert visitor.ask(f"enter?token={number}x.{proof}").status == 403
    assert visitor.ask(f"enter?token={number}.{proof[::-1]}").status == 403
    assert visitor.ask(f"enter?token={number}.{proof}").status == 200


def test_a_name_in_a_link_cannot_become_a_part_of_the_page(visitor):
    token = visitor.link().partition("?")[2]
    told = visitor.ask(f'enter?{token}&run="><script>alert(1)</script>'.replace(" ", "%20"))
    assert told.status == 200
    assert "<script" not in told.text and "url=./?run=%22%3E%3Cscript" in told.text


@pytest.mark.parametrize("target", EVERYTHING)
@pytest.mark.parametrize("cookie", [None, "tfmesos-{port}=", "tfmesos-{port}=x", "x=y; =;;"])
def test_without_the_cookie_nothing_is_shown(visitor, store, target, cookie):
    write_log(add_run(store, "aaaa"), "worker:0", "a secret line")
    visitor.cookie = cookie and cookie.format(port=visitor.served.port)
    told = visitor.ask(target)
    assert told.status == 403
    assert names(told.text, "fresh link", "tfrun ui")


def test_without_the_cookie_nothing_is_ordered(visitor):
    assert visitor.order("stop", run="aaaa").status == 403


def test_a_cookie_of_the_same_name_that_another_page_has_set_does_no_harm(owner):
    owner.cookie = f"tfmesos-{owner.served.port}=evil; {owner.cookie}"
    assert owner.ask("").status == 200


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]"]
)
def test_a_foreign_name_is_refused_even_with_cookie_and_link(owner, host):
    owner.host, own = host.format(port=owner.served.port), owner.host
    assert owner.ask("").status == 403
    owner.cookie = None
    link = owner.served.link().partition(own)[2]
    told = owner.ask(link)
    assert told.status == 403 and "set-cookie" not in told.headers


def test_the_page_is_called_localhost_too(owner):
    owner.host = f"localhost:{owner.served.port}"
    assert owner.ask("").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_page_asks_for_with_the_cookie_is_refused(owner, site):
    """One on another port of this machine is of the same site."""
    assert owner.ask("events", Sec_Fetch_Site=site).status == 403


@pytest.mark.parametrize("origin", [None, "null", "http://evil.test", "http://127.0.0.1:1", "own/"])
def test_an_order_that_does_not_come_from_this_page_is_refused(owner, store, origin):
    add_run(store, "aaaa")
    if origin == "own/":
        origin = f"http://{owner.host}/"
    assert owner.order("stop", origin, run="aaaa").status == 403


def test_every_answer_tells_the_browser_to_be_careful(owner):
    found = [owner.ask(target) for target in ("", "app.js", "nothing", "events?run=x")]
    owner.cookie = None
    found += [owner.ask(""), owner.ask(owner.link()), owner.order("stop")]
    for told in found:
        policy = told.headers["content-security-policy"].split("; ")
        assert policy[:3] == ["default-src 'none'", "script-src 'self'", "style-src 'self'"]
        assert {"frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} < set(policy)
        assert "unsafe" not in told.headers["content-security-policy"]
        assert told.headers["referrer-policy"] == "no-referrer"
        assert told.headers["x-content-type-options"] == "nosniff"
        assert told.headers["cache-control"] == "no-store"
        assert told.headers["cross-origin-resource-policy"] == "same-origin"


def test_the_page_loads_nothing_from_elsewhere_and_has_no_script_of_its_own_in_it(owner):
    text = owner.ask("").text
    assert "://" not in text and "<script>" not in text and " style=" not in text
    for name in ("app.js", "style.css", "dom.js", "run.js"):
        text = owner.ask(name).text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in text and "innerHTML" not in text and "url(" not in text
