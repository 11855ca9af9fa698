"""Least lags of exporters, against a plain search."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS
from reconstruct.clocks.export_delays import least_lags

PARTS = 5


@pytest.mark.parametrize("shuffled", [False, True])
def test_every_part_of_an_exporters_time_has_a_least_lag(shuffled: bool) -> None:
    """By when it arrived, of chosen rows alone; nobody is an exporter too, and of equal lags the first one counts."""
    random = np.random.default_rng(7)
    rows = 400
    sampler, received = random.choice([-1, 2, 5], rows), np.sort(random.integers(0, 10**6, rows))
    stamp, chosen = received - random.integers(3, 30, rows), random.random(rows) < 0.8
    columns = {"sampler_address": sampler, "time_received_ns": received, "time_flow_end_ns": stamp}
    rest = dict.fromkeys(("time_flow_start_ns", "src_addr", "dst_addr", "bytes"), np.zeros(rows, np.int64))
    order = random.permutation(rows) if shuffled else np.arange(rows)
    found = least_lags(Frame(FLOWS, {**columns, **rest}).take(order), chosen[order], PARTS)
    assert found.samplers.tolist() == [-1, 2, 5]
    for n, code in enumerate(found.samplers.tolist()):
        own = np.flatnonzero(chosen & (sampler == code))
        begin, end = received[own].min(), received[own].max()
        assert (found.begin_ns[n], found.end_ns[n]) == (begin, end)
        part = (received[own] - begin) * PARTS // (end + 1 - begin)
        for p in range(PARTS):
            inside = own[part == p]
            first = inside[np.argmin((received - stamp)[inside])]
            assert found.count[n, p] == len(inside)
            assert (found.least_ns[n, p], found.at_ns[n, p]) == (received[first] - stamp[first], received[first])


def test_nobody_has_no_lags() -> None:
    """Where no row is chosen, and where there is none."""
    one = Frame(FLOWS, {c.name: np.zeros(1, np.int64) for c in FLOWS if c.required})
    for frame in (one, one.take([])):
        assert len(least_lags(frame, np.zeros(len(frame), np.bool_), PARTS).samplers) == 0
