"""The comb over the byte axis, on streams whose rhythm is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int, Streams
from datamodel.telemetry.flows import FLOWS, TCP, Flows, recode
from reconstruct.numeric.autocorrelation import autocorrelation
from reconstruct.periods.byte_period import (
    LONGEST_AXIS,
    StreamPeriods,
    comb,
    find_periods,
    pause_threshold_ns,
    pauses_ns,
    refine,
)
from reconstruct.periods.cycles import Cycles, cut_cycles, members
from reconstruct.periods.period_multiples import count_periods_per_cycle
from reconstruct.streams.stream_builder import build_streams

MS = 1_000_000


def stream(sizes: list[int], pauses_ms: Sequence[float], cycles_seen: int, seed: int = 0) -> Streams:
    """One stream whose cycle is messages of `sizes` bytes, each 1 ms long, with a pause behind each."""
    random = np.random.default_rng(seed)
    size = np.tile(sizes, cycles_seen)
    pause = np.tile(np.array(pauses_ms) * MS, cycles_seen) * random.uniform(0.95, 1.05, len(size))
    start = np.concatenate([[0], np.cumsum(MS + pause)[:-1]]).astype(np.int64)
    return build_streams(records(start, start + MS, size))


def heard(seen: Streams, least_coherence: float = 0.0) -> tuple[float, float, float]:
    """Quantum, unit and coherence of a single stream."""
    quantum, unit, coherence = find_periods(seen, np.array([0]), least_coherence)
    return float(quantum[0]), float(unit[0]), float(coherence[0])


def folded(seen: Streams) -> Cycles:
    """A single stream on the lattice of its quantum."""
    own = cut_cycles(seen, np.array([0]), find_periods(seen, np.array([0]), 0.5))
    return members(seen, own)[0]


def records(start: Int, end: Int, size: Int) -> Flows:
    """Exact flow records from one address to another."""
    n = len(start)
    columns = {
        "time_flow_start_ns": start,
        "time_flow_end_ns": end,
        "src_addr": np.zeros(n),
        "dst_addr": np.ones(n),
        "proto": np.full(n, TCP),
        "bytes": size,
        "packets": size // 1000,
    }
    return recode(Frame(FLOWS, columns), ("10.0.0.1", "10.0.0.2"))


def test_the_quantum_is_the_bytes_of_a_cycle() -> None:
    """Four messages and a long pause: the fundamental is their sum, the unit divides it."""
    seen = stream([40_000, 40_000, 40_000, 40_000], [5, 5, 5, 60], 30)
    quantum, unit, coherence = heard(seen)
    assert quantum == pytest.approx(160_000, rel=0.01)
    assert quantum / unit == pytest.approx(round(quantum / unit), abs=0.1)
    assert coherence > 0.5


def test_a_slow_iteration_does_not_change_the_quantum() -> None:
    """The rhythm is in bytes: pauses three times as long in every other cycle leave it as it is."""
    seen = stream([30_000, 70_000, 30_000, 70_000], [5, 40, 15, 120], 24)
    quantum, _, _ = heard(seen)
    assert quantum == pytest.approx(100_000, rel=0.01) or quantum == pytest.approx(200_000, rel=0.01)


def test_messages_of_random_size_have_no_rhythm() -> None:
    """Remote calls of any size at any time are not coherent."""
    random = np.random.default_rng(4)
    start = np.sort(random.integers(0, 10_000 * MS, 400))
    seen = build_streams(records(start, start + 1000, random.integers(1_000, 100_000, 400)))
    assert heard(seen)[2] < 0.5
    assert heard(seen, 0.5) == (0.0, 0.0, 0.0)


def test_too_few_rows_have_no_rhythm() -> None:
    """Eleven rows are none, twelve may be."""
    assert heard(stream([1_000_000], [10], 11)) == (0.0, 0.0, 0.0)
    assert heard(stream([1_000_000], [10], 12))[2] > 0.5


@pytest.mark.parametrize("spikes", [10, 100, 1500], ids=["few", "some", "many"])
def test_autocorrelation_is_that_of_the_spread_spikes(spikes: int) -> None:
    """Pair by pair or by Fourier transform: what NumPy finds for the same spikes put into bins."""
    random = np.random.default_rng(spikes)
    bins = 1024
    place = np.sort(random.integers(2, bins - 2, spikes))
    weight = random.uniform(0, 10, spikes)
    spikes_in_bins = np.bincount(place, weight, bins)
    signal = np.convolve(spikes_in_bins, np.array([1, 2, 3, 2, 1]) / 3, "same")
    before = np.concatenate([[0], np.cumsum(3 * spikes_in_bins)])
    found = autocorrelation(place, weight, bins)
    lags = np.arange(len(found) - 8)
    products = np.correlate(signal, signal, "full")[bins - 1 :][lags]
    mean = signal.sum() / bins
    products += mean**2 * (bins - lags) - mean * (before[bins - lags] + before[-1] - before[lags])
    assert found[lags] == pytest.approx(products / products[0] / (1 - lags / bins), abs=1e-9)


def test_nothing_correlates_with_nothing() -> None:
    """Without a spike all values are 0."""
    assert not autocorrelation(np.zeros(0, np.int64), np.zeros(0), 1024).any()


def test_a_comb_is_the_mean_height_of_its_teeth() -> None:
    """Peaks at each multiple of 512 give 1 at 512, half of them at 256."""
    values = np.zeros(LONGEST_AXIS)
    values[512::512] = 1.0
    assert comb(values, LONGEST_AXIS, 512.0, 0.0) == 1.0
    assert comb(values, LONGEST_AXIS, 256.0, 0.0) == 0.5
    assert comb(values, LONGEST_AXIS, 300.0, 0.0) < 0.3


def test_refining_divides_the_error_by_the_tooth() -> None:
    """Peaks at multiples of 500.4 are found from a guess of 498."""
    values = np.zeros(LONGEST_AXIS)
    for m in range(1, 12):
        centre = 500.4 * m
        near = np.arange(int(centre) - 3, int(centre) + 5)
        values[near] = 1.0 - ((near - centre) / 6) ** 2
    assert refine(values, LONGEST_AXIS, 498.0, 0.02) == pytest.approx(500.4, abs=0.02)


def test_rows_that_overlap_have_no_pause() -> None:
    """A row inside a longer one is followed by the longer one's end."""
    seen = build_streams(records(np.array([0, 10, 200]), np.array([100, 20, 300]), np.full(3, 5_000)))
    assert pauses_ns(seen.start_ns, seen.end_ns).tolist() == [0, 100]


def test_every_gap_between_flow_records_is_a_pause() -> None:
    """Only packet trains hold gaps inside a message."""
    gaps = np.array([1.0] * 50 + [100.0] * 5)
    assert pause_threshold_ns(gaps, False) == 0.0
    assert pause_threshold_ns(gaps, True) == 5.0


def test_places_are_where_the_cycle_pauses() -> None:
    """A cycle of three messages pauses behind each; the longest is the main one; the lattice holds one a cycle."""
    seen = stream([20_000, 30_000, 50_000], [10, 20, 80], 20)
    own = folded(seen)
    shares = np.sort(np.mod(own.places / own.quantum_bytes + 1e-3, 1.0)).round(2)
    assert shares.tolist() == [0.0, 0.2, 0.5]
    assert np.allclose(own.lattice(own.main), 100_000 * np.arange(1, 21), atol=100)


@pytest.mark.parametrize("cycles_seen", [30, 180, 400, 1200, 3000])
def test_a_long_stream_keeps_its_beat(cycles_seen: int) -> None:
    """However many cycles a window holds, the fundamental is one of them and not a multiple."""
    seen = stream([20_000, 30_000, 50_000], [10, 20, 80], cycles_seen)
    assert heard(seen, 0.5)[0] == pytest.approx(100_000, rel=0.005)
    own = folded(seen)
    assert abs(len(own.lattice(own.main)) - cycles_seen) <= 1


def test_streams_that_cannot_be_cut_are_left_out() -> None:
    """A quantum of which no place recurs names no cycles; the others keep their numbers."""
    one = stream([20_000, 30_000, 50_000], [10, 20, 80], 30)
    both = one.take(np.array([0, 0]))
    found = cut_cycles(both, np.array([0, 1]), StreamPeriods(np.array([37_111.0, 100_000.0]), np.ones(2), np.ones(2)))
    assert found.stream.tolist() == [1]
    assert found.count[0] == pytest.approx(30, rel=0.01)
    assert len(members(both, found)[0].rows) == 90


def test_pauses_that_alternate_make_a_cycle_of_two() -> None:
    """Equal bytes are scattered and gathered in turn; behind a slow link both pauses are long, and still not equal."""
    alternate = [5, 5, 5, 900, 5, 5, 5, 1200]
    quantum, _, _ = heard(stream([40_000] * 8, alternate, 20))
    assert quantum == pytest.approx(320_000, rel=0.01)


def test_a_rare_pause_is_no_turn() -> None:
    """A checkpoint after every fourth iteration leaves the iteration what it is."""
    quantum, _, _ = heard(stream([40_000] * 16, [5, 5, 5, 60, 5, 5, 5, 60, 5, 5, 5, 60, 5, 5, 5, 90], 12))
    assert quantum == pytest.approx(160_000, rel=0.01)


@pytest.mark.parametrize("messages", [[200.0], [0.0, 80.0, 200.0]], ids=["gradients", "micro-batches"])
def test_pauses_for_checkpoints_and_evaluations_make_no_period(messages: list[float]) -> None:
    """After each ninth iteration 2.3 s, after each twelfth 0.4 s, seen three and two times: all else is alike."""
    idle = [[*messages[:-1], 2300.0 if i % 9 == 8 else 400.0 if i % 12 == 11 else messages[-1]] for i in range(28)]
    quantum, _, _ = heard(stream([200_000] * 28 * len(messages), [pause for one in idle for pause in one], 1), 0.5)
    assert quantum == pytest.approx(len(messages) * 200_000, rel=0.01)


def test_an_iteration_that_is_seen_a_few_times_keeps_its_micro_batches() -> None:
    """Those of a pipeline differ in what is idle before them, and not only in the last one's pause."""
    quantum, _, _ = heard(stream([200_000] * 6, [5, 300, 80, 85, 80, 900], 5), 0.5)
    assert quantum == pytest.approx(6 * 200_000, rel=0.01)


@pytest.mark.parametrize("cycles_seen", [300, 400])
def test_a_cycle_of_two_rows_is_told_from_two_of_them(cycles_seen: int) -> None:
    """Where an axis has too few bins for so many cycles, the middle of the stream tells."""
    quantum, _, _ = heard(stream([40_000, 40_000], [5, 60], cycles_seen))
    assert quantum == pytest.approx(80_000, rel=0.01)


def test_a_fault_that_comes_and_goes_leaves_the_rhythm() -> None:
    """Iterations that wait a hundred times as long, now and then, do not drown the others' pauses."""
    random = np.random.default_rng(3)
    pauses = np.concatenate([[1.0] * 27 + [30.0 if usual else 3000.0] for usual in random.random(28) < 0.6])
    quantum, _, coherence = heard(stream([200_000] * len(pauses), pauses.tolist(), 1), 0.5)
    assert quantum == pytest.approx(28 * 200_000, rel=0.01)
    assert coherence >= 0.5


@pytest.mark.parametrize("layers", [[1.0, 1.0], [1.0, 1.5, 1.0, 0.7]], ids=["even", "by layer"])
def test_a_fault_that_comes_and_goes_every_few_iterations_is_no_period(layers: list[float]) -> None:
    """Three iterations slow, three not, since the ninth: before it set in all were alike, but for their layers."""
    slow = [10.0 if i >= 9 and i // 3 % 2 else 1.0 for i in range(28)]
    idle = [100 * layer * factor for factor in slow for layer in layers]
    quantum, _, _ = heard(stream([200_000, 200_000] * len(idle), [p for i in idle for p in (1.0, i)], 1), 0.5)
    assert quantum == pytest.approx(400_000 * (len(layers) if len(set(layers)) > 1 else 1), rel=0.01)


def test_micro_batches_stay_parts_of_an_iteration() -> None:
    """Three short pauses and a long one, in every iteration from the first on."""
    quantum, _, _ = heard(stream([200_000] * 8, [1, 100, 1, 100, 1, 100, 1, 900], 12), 0.5)
    assert quantum == pytest.approx(1_600_000, rel=0.01)


def test_micro_batches_of_sharded_training_end_in_a_step() -> None:
    """Gathers and scatters of three micro-batches, of which only the last is followed by a pause."""
    batch = [44, 44, 84, 0, 84, 0]
    quantum, _, _ = heard(stream([40_000] * 18, [*batch, *batch, *batch[:-1], 30], 12))
    assert quantum == pytest.approx(18 * 40_000, rel=0.001)


def test_one_coincidence_is_no_pattern_that_is_away() -> None:
    """Halves of a cycle pause for 172 and 84 ms; a hiccup once makes one of them as long as the next."""
    pause = np.tile([44, 44, 84, 2, 84, 2], 24).astype(np.float64)
    pause[9 * 6 + 3] = 86
    pause[60 + 2] += 10
    start = np.concatenate([[0], np.cumsum(MS + pause * MS)[:-1]]).astype(np.int64)
    quantum, _, _ = heard(build_streams(records(start, start + MS, np.full(len(pause), 40_000))))
    assert quantum == pytest.approx(6 * 40_000, rel=0.001)


def test_a_link_that_begins_to_flap_after_few_iterations_makes_no_longer_ones() -> None:
    """Every third iteration waits, but for the first three that are looked at: a cycle of three falls into three."""
    idle_ns = np.array([1.0, 1.0, 1.0, 1.0, *[8.0, 1.0, 1.0] * 3, 8.0, 1.0])
    size = np.full(len(idle_ns) + 1, 100)
    assert count_periods_per_cycle(idle_ns, size, 100.0, 3, 0.5) == 3


def test_counted_rows_show_pauses_that_hold_a_third_of_the_time() -> None:
    """Six messages that vary in length, and what is idle between them too: the last pause is three times the others."""
    between_ms = np.random.default_rng(5).normal(140, 20, 150)
    between_ms[5::6] = 430
    seen = replace(stream([40_000] * 150, between_ms.tolist(), 1), bytes=np.ones(150, np.int64))
    assert find_periods(seen, np.array([0]), 0.5, counted=True).quantum_bytes[0] == pytest.approx(6, rel=0.02)


def test_counted_rows_that_pause_for_any_time_have_no_beat() -> None:
    """All pauses stand whole rows apart: only their lengths can tell a beat from chance."""
    random = np.random.default_rng(2)
    rows, turns = np.ones(240, np.int64), np.tile([1.0, 1, 1, 1, 8, 1], 40)
    heard_counts = []
    for pause_ms in (random.exponential(10, 240), turns * random.uniform(0.8, 1.2, 240)):
        start = np.cumsum(MS * (1 + pause_ms)).astype(np.int64)
        seen = replace(build_streams(records(start, start + MS, 5000 * rows)), bytes=rows)
        heard_counts.append(round(float(find_periods(seen, np.array([0]), 0.5, counted=True).quantum_bytes[0])))
    assert heard_counts == [0, 6]


@pytest.mark.parametrize("seed", [8233, 27317, 34348])
def test_counted_rows_whose_few_late_pauses_agree_have_no_beat(seed: int) -> None:
    """A client of a parameter server whose pauses correlate 20 and 40 rows on, where 54 and 34 of 74 overlap.

    These are the three of 40,000 draws of independent pauses that a limit for overlaps of two thirds takes for a beat.
    """
    pause = 500 * MS * np.random.default_rng(seed).lognormal(0, 0.25, 73)
    start = np.append(0, np.cumsum(MS + pause)).astype(np.int64)
    seen = replace(build_streams(records(start, start + MS, np.full(74, 5000))), bytes=np.ones(74, np.int64))
    assert find_periods(seen, np.array([0]), 0.5, counted=True).quantum_bytes[0] == 0
