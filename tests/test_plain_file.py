"""Files that others made are opened without waiting, and only if they have an end."""

from __future__ import annotations

import os

import pytest

from tfmesos import plain_file


def test_at_most_so_many_bytes_of_a_file_are_read(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    assert plain_file.beginning(tmp_path / "file", 4) == b"0123"
    assert plain_file.beginning(tmp_path / "file", 40) == b"0123456789"


@pytest.mark.parametrize("device", ["fifo", "/dev/zero", "/dev/tty0"])
def test_a_fifo_or_a_device_is_refused_at_once(device, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    if not os.path.exists(device):
        pytest.skip(f"there is no {device} here")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="not a regular file"):
        plain_file.opened(device)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_directory_is_called_one(tmp_path):
    with pytest.raises(IsADirectoryError):
        plain_file.opened(tmp_path)


def test_what_a_shell_hands_over_is_read():
    reader, writer = os.pipe()
    os.write(writer, b"jobs")
    os.close(writer)
    assert plain_file.beginning(f"/dev/fd/{reader}", 10) == b"jobs"
    os.close(reader)
    assert plain_file.beginning("/dev/null", 10) == b""
