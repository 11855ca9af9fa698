"""What the memory benchmark tells of its samples."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks.service.feed_memory import ALL, COLUMNS, courses, slope_per_h

MB = 1_000_000


def test_processes_of_one_kind_are_summed(tmp_path: Path) -> None:
    """Two decoders are one row at each time, and all processes together another."""
    rows = [
        (at, name, pid, size * MB, MB) for at in (0, 10) for name, pid, size in (("d", 1, 5), ("d", 2, 7), ("k", 3, 1))
    ]
    with (tmp_path / "memory.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    found = courses(tmp_path / "memory.csv")
    assert found["d"].rss.tolist() == [12 * MB, 12 * MB]
    assert (found[ALL].rss[1], found[ALL].pss[1]) == (13 * MB, 3 * MB)


def test_a_slope_is_told_from_noise() -> None:
    """A megabyte in a minute is found to its standard error, behind a beginning that does not count; noise is none."""
    seconds = np.arange(0.0, 7200, 10)
    noise = np.random.default_rng(1).normal(0, 5 * MB, len(seconds))
    level = np.where(seconds < 3600, 0.0, 300 * MB)
    slope, error = slope_per_h(seconds, level + noise + seconds * MB / 60, 3600)
    assert slope == pytest.approx(60, abs=3 * error)
    assert 0 < error < 3
    flat, error = slope_per_h(seconds, level + noise, 3600)
    assert abs(flat) < 3 * error
