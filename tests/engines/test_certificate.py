"""The certificate of a run: its own, and its key is nowhere but in the memory of the launcher."""

from __future__ import annotations

import os
import ssl
import sys
import tempfile

import pytest

from tfmesos.engines.certificate import make_certificate, tls_of
from tfmesos.errors import SpecError


@pytest.fixture(scope="module")
def certificate():
    """A context for the listener, and the hash that tasks are told."""
    return tls_of(make_certificate("run-1", "link_tls"))


def test_the_key_was_in_a_file_for_its_owner_alone_and_is_in_it_no_more(monkeypatch):
    kept, original = [], tempfile.NamedTemporaryFile

    def opened(**options):
        file = original(**options)
        kept.append((os.dup(file.fileno()), file.name))
        return file

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", opened)
    tls_of(make_certificate("run-1", "link_tls"))
    ((descriptor, name),) = kept
    about = os.fstat(descriptor)
    os.close(descriptor)
    assert (about.st_size, about.st_mode & 0o777) == (0, 0o600)
    assert not os.path.exists(name)


def test_each_run_has_a_certificate_of_its_own(certificate):
    _, digest = certificate
    _, other = tls_of(make_certificate("run-1", "link_tls"))
    assert len(digest) == 64 and digest != other


def test_without_cryptography_one_line_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(SpecError) as caught:
        tls_of(make_certificate("run-1", "link_tls"))
    expected = "link_tls needs the package cryptography: pip install cryptography"
    assert str(caught.value) == expected


def test_no_old_version_of_tls_is_spoken(certificate):
    assert certificate[0].minimum_version >= ssl.TLSVersion.TLSv1_2
