"""Causes from series: of made hosts, of several faults at once, and the same whatever order series come in."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.host_metrics.host_causes import host_causes
from diagnose.host_metrics.measures import CONSEQUENT_XIDS, MEASURES
from diagnose.host_metrics.options import HostMetricsOptions
from diagnose.host_metrics.series_changes import HostSeries, increments, level, level_change, rate_change
from tests.diagnose.host_metrics.made_hosts import Case, made_cases
from tests.house.checkout import rows

START_S = 1_790_000_000
ONSET_NS = START_S * 10**9
CLOCK, TEMP, HEAT = "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_THERMAL_VIOLATION"
POWER, REPLAYS, XID = "DCGM_FI_DEV_POWER_VIOLATION", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "DCGM_FI_DEV_XID_ERRORS"
TIMES_S = np.arange(-1800, 900, 30)


def series_of(case: Case) -> list[HostSeries]:
    """What the hosts of a case export."""
    return [
        HostSeries(MEASURES[name], host, device, np.asarray(times_s * 10**9), values)
        for (name, host, device), (times_s, values) in case.samples.items()
    ]


def series(name: str, host: str, values: np.ndarray | list[float], device: str = "0") -> HostSeries:
    """A series with a sample each 30 s around the onset."""
    return HostSeries(MEASURES[name], host, device, (START_S + TIMES_S) * 10**9, np.asarray(values, dtype=np.float64))


def stepped(before: float, after: float, at_s: int = 0) -> np.ndarray:
    """A level that changes once."""
    return np.where(at_s > TIMES_S, before, after).astype(np.float64)


def counting(per_s: float, at_s: int = 0) -> np.ndarray:
    """A counter that counts from a time on."""
    return np.clip(TIMES_S - at_s, 0, None) * per_s


def with_peers(*suspected: HostSeries) -> list[HostSeries]:
    """Series of the suspect s1 with those of three peers to which nothing happens."""
    quiet = {one.measure.name: np.full(len(TIMES_S), one.values[0]) for one in suspected}
    return [*suspected, *(series(name, f"p{n}", values) for name, values in quiet.items() for n in range(4))]


def test_made_cases() -> None:
    """Cause and GPU of every fault; nothing on clean hosts and decoys."""
    wrong = {}
    for case in made_cases(1, START_S):
        found = host_causes(series_of(case), {case.hosts[0]: case.in_question}, case.onset_s * 10**9)
        best = [(one.kind, one.host, one.gpu) for one in found[:1]]
        if best != ([] if case.cause is None else [(case.cause, case.hosts[0], case.gpu)]):
            wrong[case.name] = best
    assert wrong == {}


@given(st.randoms(use_true_random=False))
@settings(max_examples=5, deadline=None)
def test_order_of_series_does_not_matter(order: random.Random) -> None:
    """The same causes to the digit."""
    case = made_cases(1, START_S, 1)[0]
    some = series_of(case)
    expected = host_causes(some, {case.hosts[0]: ()}, case.onset_s * 10**9)
    order.shuffle(some)
    assert expected
    assert host_causes(some, {case.hosts[0]: ()}, case.onset_s * 10**9) == expected


def test_the_onset_that_fits_best_decides() -> None:
    """Replays began two minutes before the heat did; the heat fits, and the others are listed."""
    some = with_peers(
        series(CLOCK, "s1", stepped(1980, 1200)),
        series(TEMP, "s1", stepped(60, 87, -60)),
        series(HEAT, "s1", counting(6e8)),
        series(REPLAYS, "s1", counting(5, -120)),
    )
    best, other = host_causes(some, {"s1": ()}, ONSET_NS)
    assert (best.kind, best.gpu, other.kind) == ("thermal", 0, "pcie")
    assert {one.series for one in best.evidence} == {CLOCK, TEMP, HEAT}
    assert best.confidence == pytest.approx(5 / 6, abs=1e-3)


def test_a_low_clock_alone_has_no_cause() -> None:
    """It is shown, and nothing is guessed."""
    (found,) = host_causes(with_peers(series(CLOCK, "s1", stepped(1980, 1200))), {"s1": ()}, ONSET_NS)
    assert (found.kind, found.gpu, found.evidence[0].value, found.evidence[0].past) == (None, 0, 1200, 1980)


def test_a_temperature_that_no_peer_exports_explains_nothing() -> None:
    """There is nothing to compare it with, so the low clock has no cause."""
    some = [*with_peers(series(CLOCK, "s1", stepped(1980, 1200))), series(TEMP, "s1", stepped(60, 88))]
    assert [one.kind for one in host_causes(some, {"s1": ()}, ONSET_NS)] == [None]


def test_throttling_that_holds_the_clock_says_nothing() -> None:
    """At its limit of power a GPU counts such time while its clock stays."""
    some = with_peers(series(POWER, "s1", counting(5e8)), series(CLOCK, "s1", stepped(1980, 1980)))
    assert host_causes(some, {"s1": ()}, ONSET_NS) == []
    without = [one for one in some if one.measure.name == POWER]
    assert [one.kind for one in host_causes(without, {"s1": ()}, ONSET_NS)] == ["power"]


def test_throttling_now_and_then_is_seen() -> None:
    """A third of the time at half the clock is a sixth less, though its median stays."""
    clock = stepped(1980, 1980)
    clock[TIMES_S >= 0] -= 990.0 * (np.arange((TIMES_S >= 0).sum()) % 3 == 0)
    (found,) = host_causes(
        with_peers(series(CLOCK, "s1", clock), series(TEMP, "s1", stepped(60, 88))), {"s1": ()}, ONSET_NS
    )
    assert found.kind == "thermal"


@pytest.mark.parametrize("at_s", [-900, -420, 300])
def test_an_onset_elsewhere_does_not_fit(at_s: int) -> None:
    """What began a quarter of an hour before, or after, is something else."""
    some = with_peers(series(REPLAYS, "s1", counting(5, at_s)), series(XID, "s1", stepped(0, 79, at_s)))
    assert host_causes(some, {"s1": ()}, ONSET_NS) == []


def test_too_few_peers_say_nothing() -> None:
    """Two other series are no group to differ from."""
    some = [series(REPLAYS, "s1", counting(5)), *(series(REPLAYS, f"p{n}", counting(0)) for n in range(2))]
    assert host_causes(some, {"s1": ()}, ONSET_NS) == []


def test_a_peer_with_the_same_fault_lowers_confidence() -> None:
    """One of four peers that the same rule names."""
    some = with_peers(series(REPLAYS, "s1", counting(5)))
    some[1] = replace(some[1], values=some[0].values)
    (found,) = host_causes(some, {"s1": ()}, ONSET_NS)
    assert found.confidence == pytest.approx(4 / 6, abs=1e-3)


@pytest.mark.parametrize("code", CONSEQUENT_XIDS)
def test_consequences_of_an_end_are_no_cause(code: int) -> None:
    """Codes of stopped applications."""
    assert host_causes(with_peers(series(XID, "s1", stepped(0, code))), {"s1": ()}, ONSET_NS) == []


@given(st.lists(st.integers(0, 9), min_size=8, max_size=60), st.integers(1, 50), st.integers(0, 10**6))
@settings(deadline=None)
def test_a_reset_loses_one_interval_and_no_more(counts: list[int], at: int, start: int) -> None:
    """Whatever a counter restarts with."""
    at = min(at, len(counts) - 1)
    total = start + np.cumsum([0, *counts]).astype(np.float64)
    total[at:] -= total[at] + 1
    times_ns = np.arange(len(total)) * 10**9
    one = HostSeries(MEASURES[REPLAYS], "s1", "0", times_ns, total)
    assert increments(one).counted.sum() == sum(counts) - counts[at - 1]


@given(st.integers(8, 60), st.integers(6, 60), st.floats(-50, 50), st.floats(1, 50))
@settings(deadline=None)
def test_a_step_is_found_where_it_is(before: int, after: int, start: float, height: float) -> None:
    """Between the last sample before and the first one after."""
    values = np.r_[np.full(before, start), np.full(after, start + height)]
    one = HostSeries(MEASURES[TEMP], "s1", "0", np.arange(before + after) * 10**9, values)
    assert level_change(one, HostMetricsOptions()) == ((before - 1) * 10**9, before * 10**9)


@given(st.integers(2, 60), st.integers(1, 60), st.integers(1, 100))
@settings(deadline=None)
def test_counting_begins_where_it_does(before: int, after: int, each: int) -> None:
    """The interval in which the first error was counted."""
    values = np.r_[np.zeros(before), each * np.arange(1, after + 1)].astype(np.float64)
    one = HostSeries(MEASURES[REPLAYS], "s1", "0", np.arange(before + after) * 10**9, values)
    assert rate_change(increments(one)) == ((before - 1) * 10**9, before * 10**9)


def test_an_outlier_does_not_move_a_level() -> None:
    """One sample of an idle clock among few, and among many."""
    for count in (5, 30):
        assert level(np.r_[345.0, np.full(count, 1980.0)]) == 1980.0


def test_page_has_the_options_and_series() -> None:
    """docs/host-metrics.md gives every option with its value and a reason, and every series."""
    table = {row[0].strip("`"): float(row[1]) for row in rows("docs/host-metrics.md", "What it says") if row[2]}
    options = HostMetricsOptions()
    assert table == {name: pytest.approx(getattr(options, name), rel=1e-3) for name in options.__slots__}
    listed = " ".join(row[1] for row in rows("docs/host-metrics.md", "What is asked"))
    assert {name for name in MEASURES if f"`{name}`" not in listed} == set()
