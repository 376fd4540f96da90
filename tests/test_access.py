import base64

import pytest

from tfmesos.access import authorization, tls_context
from tfmesos.errors import SpecError
from tfmesos.launch import Access


def test_a_principal_and_its_secret_become_basic_authentication():
    header = authorization(("me", "se:cret"))["Authorization"]
    assert base64.b64decode(header.removeprefix("Basic ")) == b"me:se:cret"


def test_a_token_is_sent_as_dcos_wants_it():
    assert authorization(token="abc") == {"Authorization": "token=abc"}


def test_without_either_nothing_is_sent():
    assert authorization() == {}


def test_secrets_do_not_show():
    access = Access(principal="me", secret="hidden")
    assert "hidden" not in repr(access)
    assert "hidden" not in repr(Access(token="hidden"))


def test_without_files_of_ones_own_the_machines_certificates_are_trusted():
    assert tls_context(Access()) is None


@pytest.mark.parametrize("field", ["ca_file", "cert_file"])
def test_a_certificate_that_is_none_is_named(tmp_path, field):
    file = tmp_path / "not-a-certificate"
    file.write_text("hello")
    with pytest.raises(SpecError, match=f"{field} cannot be used: {file}"):
        tls_context(Access(**{field: str(file)}))
