"""The comb over the byte axis, on streams whose rhythm is known."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.flows import FLOWS, TCP, Flows, recode
from datamodel.frame import Frame
from datamodel.streams import Int, Streams
from reconstruct.cycles import cycles
from reconstruct.rhythm import BINS, Correlogram, beat, correlogram, fundamental, pause_threshold_ns, pauses_ns
from reconstruct.streams import streams

MS = 1_000_000


def stream(sizes: list[int], pauses_ms: list[float], cycles_seen: int, seed: int = 0) -> Streams:
    """One stream whose cycle is messages of `sizes` bytes, each 1 ms long, with a pause behind each."""
    random = np.random.default_rng(seed)
    size = np.tile(sizes, cycles_seen)
    pause = np.tile(np.array(pauses_ms) * MS, cycles_seen) * random.uniform(0.95, 1.05, len(size))
    start = np.concatenate([[0], np.cumsum(MS + pause)[:-1]]).astype(np.int64)
    return streams(records(start, start + MS, size))


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
    picture = correlogram(seen, 0)
    assert picture is not None
    beat = fundamental(picture)
    assert beat is not None
    assert beat.quantum_bytes == pytest.approx(160_000, rel=0.01)
    ratio = beat.quantum_bytes / beat.unit_bytes
    assert ratio == pytest.approx(round(ratio), abs=0.1)
    assert beat.coherence > 0.5


def test_a_slow_iteration_does_not_change_the_quantum() -> None:
    """The rhythm is in bytes: pauses three times as long in every other cycle leave it as it is."""
    seen = stream([30_000, 70_000, 30_000, 70_000], [5, 40, 15, 120], 24)
    picture = correlogram(seen, 0)
    assert picture is not None
    beat = fundamental(picture)
    assert beat is not None
    assert beat.quantum_bytes == pytest.approx(100_000, rel=0.01) or beat.quantum_bytes == pytest.approx(
        200_000, rel=0.01
    )


def test_messages_of_random_size_have_no_rhythm() -> None:
    """Remote calls of any size at any time are not coherent."""
    random = np.random.default_rng(4)
    start = np.sort(random.integers(0, 10_000 * MS, 400))
    seen = streams(records(start, start + 1000, random.integers(1_000, 100_000, 400)))
    picture = correlogram(seen, 0)
    assert picture is not None
    beat = fundamental(picture)
    assert beat is None or beat.coherence < 0.5


def test_too_few_rows_have_no_correlogram() -> None:
    """Eleven rows are no rhythm."""
    assert correlogram(stream([1_000_000], [10], 11), 0) is None


def test_a_comb_is_the_mean_height_of_its_teeth() -> None:
    """Peaks at each multiple of 512 give 1 at 512, half of them at 256."""
    values = np.zeros(BINS)
    values[512::512] = 1.0
    picture = Correlogram(values, BINS)
    assert picture.comb(512.0) == 1.0
    assert picture.comb(256.0) == 0.5
    assert picture.comb(300.0) < 0.3


def test_refining_divides_the_error_by_the_tooth() -> None:
    """Peaks at multiples of 500.4 are found from a guess of 498."""
    values = np.zeros(BINS)
    for m in range(1, 12):
        centre = 500.4 * m
        near = np.arange(int(centre) - 3, int(centre) + 5)
        values[near] = 1.0 - ((near - centre) / 6) ** 2
    assert Correlogram(values, BINS).refine(498.0) == pytest.approx(500.4, abs=0.02)


def test_rows_that_overlap_have_no_pause() -> None:
    """A row inside a longer one is followed by the longer one's end."""
    seen = streams(records(np.array([0, 10, 200]), np.array([100, 20, 300]), np.full(3, 5_000)))
    assert pauses_ns(seen, 0).tolist() == [0, 100]


def test_every_gap_between_flow_records_is_a_pause() -> None:
    """Only packet trains hold gaps inside a message."""
    gaps = np.array([1.0] * 50 + [100.0] * 5)
    assert pause_threshold_ns(gaps, trains=False) == 0.0
    assert pause_threshold_ns(gaps, trains=True) == 5.0


def test_places_are_where_the_cycle_pauses() -> None:
    """A cycle of three messages pauses behind each; the longest is the main one; the lattice holds one a cycle."""
    seen = stream([20_000, 30_000, 50_000], [10, 20, 80], 20)
    picture = correlogram(seen, 0)
    assert picture is not None
    beat = fundamental(picture)
    assert beat is not None
    cut = cycles(seen, 0, beat)
    assert cut is not None
    shares = np.sort(np.mod(cut.places / cut.quantum_bytes + 1e-3, 1.0)).round(2)
    assert shares.tolist() == [0.0, 0.2, 0.5]
    assert np.allclose(cut.lattice(cut.main), 100_000 * np.arange(1, 21), atol=100)


@pytest.mark.parametrize("cycles_seen", [30, 180, 400, 1200, 3000])
def test_a_long_stream_keeps_its_beat(cycles_seen: int) -> None:
    """However many cycles a window holds, the fundamental is one of them and not a multiple."""
    seen = stream([20_000, 30_000, 50_000], [10, 20, 80], cycles_seen)
    heard = beat(seen, 0, 0.5)
    assert heard is not None
    assert heard.quantum_bytes == pytest.approx(100_000, rel=0.005)
    cut = cycles(seen, 0, heard)
    assert cut is not None
    assert abs(len(cut.lattice(cut.main)) - cycles_seen) <= 1
