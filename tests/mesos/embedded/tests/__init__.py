import pytest

pytest.register_assert_rewrite(
    "tests.mesos.embedded.tests.player", "tests.mesos.embedded.tests.wire"
)
