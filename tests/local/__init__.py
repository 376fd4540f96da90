import pytest

pytest.register_assert_rewrite("tests.local.player", "tests.local.wire")
