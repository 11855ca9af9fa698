"""Series from counters: power whatever energy began with, GPUs that are lost, and heat with and without its effect."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodel.frame import Frame
from datamodel.telemetry.counters import COUNTERS
from diagnose.host_metrics.counter_series import ALL_GPUS, counter_series
from diagnose.host_metrics.host_causes import host_causes
from diagnose.host_metrics.measures import HOTTEST, LOST_GPUS, POWER_DRAW
from diagnose.host_metrics.series_changes import HostSeries
from tests.diagnose.host_metrics.test_host_causes import CLOCK, ONSET_NS, START_S, TEMP, TIMES_S, series, stepped

EVERY_S = 20


def rows(**columns: npt.ArrayLike) -> Frame:
    """Counters of one host, every 20 s."""
    count = len(np.asarray(next(iter(columns.values()))))
    times_ns, device = np.arange(count) * EVERY_S * 10**9, np.full(count, -1)
    given = {"time_ns": times_ns, "sampler_address": np.zeros(count, np.int64), "interface": device}
    return Frame(COUNTERS, {**given, **columns})


def of(measure: str, frame: Frame) -> HostSeries:
    """The only series of a measure."""
    (found,) = (one for one in counter_series(frame, {0: "s1"}, {}) if one.measure.name == measure)
    return found


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(50, 1400), min_size=2, max_size=40), st.integers(1, 8))
def test_power_is_what_energy_grew_by(start_mj: int, watts: list[int], gpus: int) -> None:
    """Whatever it began with: the counter begins again at 2^32, after minutes."""
    energy = (start_mj + np.cumsum([0, *watts]) * EVERY_S * 1000 * gpus) % 2**32
    found = of("gpu_energy_mj", rows(gpu_count=np.full(len(energy), gpus), gpu_energy_mj=energy))
    assert found.values == pytest.approx(watts)
    assert (found.host, found.device, found.times_ns[0]) == ("s1", ALL_GPUS, EVERY_S * 10**9)


def test_a_lost_gpu_is_counted_and_its_energy_is_no_power() -> None:
    """The sum falls by all that this GPU had used; one that comes back is no loss."""
    frame = rows(
        gpu_count=[8, 8, 7, 7, 8], gpu_energy_mj=[10**9, 10**9 + 8 * 10**7, 9 * 10**8, 9 * 10**8 + 7 * 10**7, 5]
    )
    assert of("gpu_energy_mj", frame).values == pytest.approx([500.0, 500.0])
    assert of("gpu_count", frame).values.tolist() == [0, 0, 1, 1, 1]


def test_an_agent_that_begins_again_and_a_gap_are_no_power() -> None:
    """A restart looks like more power than any GPU draws; in a gap the counter may have begun again twice."""
    restarted = rows(gpu_count=[8, 8, 8], gpu_energy_mj=[4 * 10**8, 4 * 10**8 + 8 * 10**7, 0])
    assert of("gpu_energy_mj", restarted).values == pytest.approx([500.0])
    away = rows(time_ns=np.array([0, 300, 320]) * 10**9, gpu_count=[8, 8, 8], gpu_energy_mj=[0, 10**8, 18 * 10**7])
    assert of("gpu_energy_mj", away).values == pytest.approx([500.0])


def test_values_that_are_unknown_and_rows_of_queues_are_left_out() -> None:
    """A host without GPUs has interfaces, and one whose GPUs do not answer has no temperature."""
    errors = rows(interface=[3, 3, 3], in_errors=[-1, 4, 9], out_errors=[-1, -1, -1], priority=[-1, -1, 2])
    (found,) = counter_series(errors, {0: "s1"}, {})
    assert (found.device, found.values.tolist()) == ("interface 3", [4.0])
    (port,) = counter_series(errors, {0: "s1"}, {(0, 3): ("s2", "leaf1 port 3")})
    assert (port.host, port.device) == ("s2", "leaf1 port 3")
    assert counter_series(rows(gpu_temperature_c=[0, 0]), {0: "s1"}, {}) == []
    assert counter_series(rows(gpu_count=[1]).take([]), {0: "s1"}, {}) == []


def hosts(heat: np.ndarray, watts: np.ndarray, peer_heat: np.ndarray, peer_watts: np.ndarray) -> list[HostSeries]:
    """Hottest GPU and power of s1 and of three peers."""
    return [
        HostSeries(measure, host, ALL_GPUS, (START_S + TIMES_S) * 10**9, values)
        for host, pair in (("s1", (heat, watts)), *((f"p{n}", (peer_heat, peer_watts)) for n in range(3)))
        for measure, values in zip((HOTTEST, POWER_DRAW), pair, strict=True)
    ]


def test_heat_without_less_power_says_nothing() -> None:
    """A GPU that works more gets hotter; peers that wait for a slow one get cooler, and it stays as it was."""
    level = stepped(650, 650)
    more_work = hosts(stepped(60, 70), stepped(650, 700), stepped(60, 60), level)
    waited_for = hosts(stepped(60, 60), level, stepped(60, 50), stepped(650, 500))
    throttled = hosts(stepped(60, 84), stepped(650, 600), stepped(60, 60), stepped(650, 640))
    assert host_causes(more_work, {"s1": ()}, ONSET_NS) == []
    assert host_causes(waited_for, {"s1": ()}, ONSET_NS) == []
    (found,) = host_causes(throttled, {"s1": ()}, ONSET_NS)
    assert (found.kind, found.gpu) == ("thermal", None)
    assert [one.series for one in found.evidence] == [HOTTEST.name, POWER_DRAW.name]


def test_heat_without_power_says_nothing() -> None:
    """NVML reports no power of some GPUs."""
    without = [one for one in hosts(*[stepped(60, 84)] * 2, *[stepped(60, 60)] * 2) if one.measure is HOTTEST]
    assert host_causes(without, {"s1": ()}, ONSET_NS) == []


def test_a_gpu_that_prometheus_names_stays_named() -> None:
    """Counters of the whole host are further evidence, and no second GPU."""
    exported = [
        *hosts(stepped(60, 88), stepped(650, 600), stepped(60, 60), stepped(650, 640)),
        *(series(name, "s1", stepped(*levels), "3") for name, levels in ((CLOCK, (1980, 1200)), (TEMP, (60, 88)))),
        *(series(name, f"p{n}", stepped(same, same)) for name, same in ((CLOCK, 1980), (TEMP, 60)) for n in range(3)),
    ]
    (found,) = host_causes(exported, {"s1": (2, 3)}, ONSET_NS)
    assert (found.kind, found.gpu) == ("thermal", 3)
    assert {one.device for one in found.evidence} == {"3", ALL_GPUS}


def test_a_lost_gpu_is_an_error_of_its_host() -> None:
    """One is enough; which of them is not known."""
    lost = [
        HostSeries(LOST_GPUS, host, ALL_GPUS, (START_S + TIMES_S) * 10**9, stepped(0, float(host == "s1")))
        for host in ("s1", "p0", "p1", "p2")
    ]
    (found,) = host_causes(lost, {"s1": (5,)}, ONSET_NS)
    assert (found.kind, found.gpu, found.evidence[0].value) == ("gpu_error", None, 1)
