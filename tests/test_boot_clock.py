"""The clock by which a launcher counts how long it was silent."""

from __future__ import annotations

import time

from tfmesos.boot_clock import since_boot


def test_the_clock_is_the_one_of_the_kernel_that_also_counts_a_suspended_machine():
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= since_boot() <= time.clock_gettime(time.CLOCK_BOOTTIME)
