"""How long a server may forbid the connections to the tasks."""

from tfmesos.engines.kubernetes.api.error import ApiError
from tfmesos.engines.kubernetes.to_runners import AFTER_SUCCESS, AT_FIRST, PAUSE, Patience

FORBIDDEN = ApiError(403, "Forbidden", "cannot get pods/portforward")
AWAY = ApiError(503, "ServiceUnavailable", "starting")


def test_a_right_that_was_never_there_is_given_up_soon():
    patience = Patience()
    assert not patience.is_over(FORBIDDEN, 100.0)
    assert not patience.is_over(FORBIDDEN, 99.9 + AT_FIRST)
    assert patience.is_over(FORBIDDEN, 100.0 + AT_FIRST)


def test_a_server_that_has_let_us_through_may_forget_our_rights_for_a_while():
    patience = Patience()
    patience.succeeded()
    assert not patience.is_over(FORBIDDEN, 100.0)
    assert not any(patience.is_over(FORBIDDEN, 100.0 + passed) for passed in (10.0, 20.0, 29.9))
    patience.succeeded()
    assert not any(patience.is_over(FORBIDDEN, 130.0 + passed) for passed in (0.0, 10.0, 20.0))
    assert patience.is_over(FORBIDDEN, 130.0 + AFTER_SUCCESS)


def test_what_was_forbidden_long_ago_does_not_count():
    patience = Patience()
    patience.succeeded()
    assert not patience.is_over(FORBIDDEN, 0.0)  # of a task that ends then
    assert not patience.is_over(FORBIDDEN, 3600.0)
    assert not patience.is_over(FORBIDDEN, 3600.0 + PAUSE)
    assert patience.is_over(FORBIDDEN, 3600.0 + AFTER_SUCCESS)


def test_a_server_that_is_away_forbids_nothing():
    patience = Patience()
    assert not patience.is_over(AWAY, 100.0)
    assert not patience.is_over(AWAY, 100.0 + 2 * AFTER_SUCCESS)
