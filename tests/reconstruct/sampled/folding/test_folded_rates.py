"""Rates of endpoints over the mean iteration, from samples whose true rates are known."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.sampled.folding.folded_rates import MOST_BINS, endpoint_rates
from reconstruct.sampled.jobs.sampled_recognition import find_sampled_jobs
from tests.reconstruct.sampled.training import PACKET_BYTES, iteration_ends, ring, sampled

PERIOD_MS, AT, LASTS, PACKETS = 4000.0, 0.8, 0.15, 20_000


def test_the_folded_rate_is_the_ring_s_within_its_errors() -> None:
    """A ring that sends for 15 % of an iteration, up to its end: the rate then, nothing before, errors that hold."""
    found = find_sampled_jobs(sampled(ring([0, 1, 2, 3], AT, LASTS, PACKETS), _ends(40), 200, 6), frozenset())
    rates = endpoint_rates(found.progress, found.jobs[0])
    assert rates["bins"][0] == MOST_BINS
    true_bps = 8 * PACKETS * PACKET_BYTES / (LASTS * PERIOD_MS / 1e3)
    begin, end = rates["bin"] / MOST_BINS, (rates["bin"] + 1) / MOST_BINS
    for side in ("sent", "received"):
        mean, error = rates[f"{side}_bps"], rates[f"{side}_error_bps"]
        assert mean[end <= 1 - LASTS - 0.05].max() < 0.01 * true_bps
        inside = begin >= 1 - LASTS + 0.03
        off = (mean[inside][:-1] - true_bps) / error[inside][:-1]
        assert np.abs(off).mean() < 1.5
        assert (np.abs(off) < 1.96).mean() > 0.8


def test_iterations_that_a_fault_makes_longer_are_folded_apart() -> None:
    """Ten of forty iterations take twice as long: a mean of the thirty, at their rate, and one of the ten, at half."""
    ends = _ends(30)
    slow = ends[-1] + np.cumsum(np.full(10, 2 * PERIOD_MS * 1e6)).astype(np.int64)
    feed = sampled(ring([0, 1, 2, 3], AT, LASTS, PACKETS), np.concatenate([ends, slow]), 200, 6)
    found = find_sampled_jobs(feed, frozenset())
    rates = endpoint_rates(found.progress, found.jobs[0])
    highest = []
    for pace, (many, period_ms) in enumerate([(29, PERIOD_MS), (10, 2 * PERIOD_MS)]):
        own = rates.take(rates["pace"] == pace)
        assert own["iterations"][0] == pytest.approx(many, abs=1)
        assert own["iteration_ns"][0] == pytest.approx(period_ms * 1e6, rel=0.02)
        highest.append(float(np.median(own["sent_bps"][own["bin"] == own["bins"] - 3])))
    assert highest[0] == pytest.approx(2 * highest[1], rel=0.1)


def test_too_few_samples_give_no_rates() -> None:
    """At 1 in 4,000, with eight iterations, a bin would hold a sample or two."""
    found = find_sampled_jobs(sampled(ring([0, 1, 2, 3]), _ends(8), 4000, 6), frozenset())
    rates = endpoint_rates(found.progress, found.jobs[0])
    assert len(rates) == 0


def _ends(count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return iteration_ends(count, PERIOD_MS, 0.005, 5)
