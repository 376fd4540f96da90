"""Amounts as people write them."""

from __future__ import annotations

import pytest

from tests.builders import workers
from tests.sentences import names
from tfmesos.config.units import mebibytes, seconds
from tfmesos.errors import SpecError
from tfmesos.inputs.merging import make_config


@pytest.mark.parametrize(
    "text, mib",
    [
        *(("2048", 2048), ("0.5", 0.5), ("-1", -1), ("2G", 2048), ("2g", 2048), ("2Gi", 2048)),
        *(("2GB", 2048), ("2 GiB", 2048), ("512M", 512), ("512m", 512), ("1.5G", 1536)),
        *(("1T", 1024 * 1024), ("512k", 0.5), (".5G", 512)),
        *(("", None), ("G", None), ("2X", None), ("2G2", None), ("-2G", None), ("nan", None)),
        *(("1e3", None), ("2Gib ", None), ("1" * 400, None), ("٣G", None)),
    ],
)
def test_a_size_is_in_mib_or_has_a_unit_as_docker_counts(text, mib):
    assert mebibytes(text) == mib


@pytest.mark.parametrize(
    "text, number",
    [
        *(("90", 90), ("1.5", 1.5), ("-5", -5), ("90s", 90), ("5m", 300), ("2h", 7200)),
        *(("1d", 86400), ("1h30m", 5400), ("1h 30m", 5400), ("0.5m", 30), ("5 m", 300)),
        *(("", None), ("m", None), ("5min", None), ("1h30", None), ("-5m", None), ("inf", None)),
        *(("5M", None), ("1" * 400, None)),
    ],
)
def test_a_time_is_in_seconds_or_has_units(text, number):
    assert seconds(text) == number


def test_the_sizes_of_a_job_may_have_units():
    job = workers(1, mem="2G", disk="512M")
    assert (job.mem, job.disk) == (2048, 512)
    assert job == workers(1, mem=2048, disk=512)


def test_a_time_among_the_settings_may_have_a_unit():
    config = make_config(workers(1), hang_timeout="5m", start_timeout=90)
    assert (config.hang_timeout, config.start_timeout) == (300, 90)


def test_a_wrong_unit_is_named_with_what_is_right():
    with pytest.raises(SpecError) as caught:
        workers(1, mem="2X")
    assert names(str(caught.value), "job 'worker': mem", "MiB", "512M or 2G", "'2X'")
    with pytest.raises(SpecError) as caught:
        make_config(workers(1), hang_timeout="soon")
    assert names(str(caught.value), "hang_timeout", "seconds", "90s, 5m or 1h30m", "'soon'")
