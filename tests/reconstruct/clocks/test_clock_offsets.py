"""Clocks of exporters: recovered from stamps and arrivals, and the records set right."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.clocks.clock_offsets import clock_offsets, correct_times
from simulate.case import Case, simulate_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario


@pytest.fixture(scope="module")
def off() -> Case:
    """Eight leaves whose clocks are up to 200 ms off and drift by up to 50 ppm; their samples are stamped."""
    return simulate_case(scenario("clock-offset", ScenarioOptions(iterations=16)), 1)


def test_offsets_are_recovered(off: Case) -> None:
    """To 2 ms, of every exporter; the sign says who is ahead."""
    flows = off.readings["sflow"].flows
    found = {flows.addresses[o.sampler]: o for o in clock_offsets(flows)}
    (feed,) = off.truth.model_dump()["telemetry"]
    assert len(found) == len(feed["exporters"])
    begin = int(flows.frame["time_received_ns"].min())
    for exporter in feed["exporters"]:
        known = found[exporter["agent"]]
        true = exporter["offset_ns"] + exporter["drift_ppm"] * 1e-6 * (known.middle_ns - begin)
        assert known.offset_ns == pytest.approx(true, abs=2e6)
        assert known.drift_ppm == pytest.approx(exporter["drift_ppm"], abs=20)


def test_corrected_records_arrive_after_they_were_seen(off: Case) -> None:
    """Before, half of the exporters sampled what had not arrived yet, by up to 200 ms."""
    flows = off.readings["sflow"].flows
    lags = []
    for some in (flows, correct_times(flows, clock_offsets(flows))):
        lag = some.frame["time_received_ns"] - some.frame["time_flow_end_ns"]
        lags.append(
            [int(lag[some.frame["sampler_address"] == s].min()) for s in np.unique(some.frame["sampler_address"])]
        )
    assert max(map(abs, lags[0])) > 100e6
    assert max(map(abs, lags[1])) < 3e6


@pytest.mark.parametrize("name", ["sflow", "clock-offset-ipfix", "late-batches"])
def test_what_cannot_be_known_is_not_corrected(name: str) -> None:
    """Samples without stamps have no clock; a meter's records are held for as long as its timeouts say."""
    case = simulate_case(scenario(name, ScenarioOptions(iterations=10)), 1)
    flows = next(r for kind, r in case.readings.items() if kind != "flows").flows
    assert clock_offsets(flows) == []
    assert correct_times(flows, []) is flows
