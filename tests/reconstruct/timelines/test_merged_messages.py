"""What a flow cache's records show: its timeouts, which bursts they hold, and what they leave open."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.observations import KINDS
from datamodel.reconstructed.streams import Streams
from reconstruct.streams.curves import Curve
from reconstruct.timelines.merged_messages import Timeouts, observations, resolution_ns, timeouts
from reconstruct.timelines.metered_transfers import latest_arrivals

MS = 1_000_000


def streams(starts_ms: list[float], lasting_ms: list[float], size: list[int] | None = None) -> Streams:
    """Two streams of the same records, there and back."""
    start, end = (np.tile(np.asarray(t) * MS, 2).astype(np.int64) for t in (starts_ms, np.add(starts_ms, lasting_ms)))
    rows = len(start)
    zero, ends = np.zeros(rows, np.int64), np.array([0, rows // 2, rows])
    pair = np.array([0, 1]), np.array([1, 0]), np.arange(2), np.zeros(2, np.bool_)
    watch = np.zeros(2, np.int64), np.full(2, end[-1])
    sent = zero + 1 if size is None else np.tile(np.asarray(size, np.int64), 2)
    return Streams(*pair, ends, *watch, start, end, zero, sent, zero, zero, zero, ("a", "b"))


def spaced(lasting_ms: list[float], gaps_ms: list[float]) -> Streams:
    """Records of these lengths with these pauses behind them."""
    starts = np.concatenate([[0.0], np.cumsum(np.add(lasting_ms, gaps_ms))[:-1]])
    return streams(starts.tolist(), lasting_ms)


def test_both_timeouts_are_told_from_records() -> None:
    """Records of 5 s that follow at once were cut; what began another one sooner came after 1.2 s of silence."""
    found = timeouts(spaced([4990, 5000, 4995, 700, 300, 900] * 4, [1, 0, 1, 1300, 1200, 2500] * 4))
    assert found == Timeouts(active_ns=5000 * MS, inactive_ns=1200 * MS)


def test_a_pause_behind_a_cut_is_no_timeout() -> None:
    """Where the next packet was 114 ms late when the active timeout ran out, a record began all the same."""
    found = timeouts(spaced([1000, 999, 1000, 998, 950, 300] * 4, [0, 1, 0, 1, 114, 600] * 4))
    assert found == Timeouts(active_ns=1000 * MS, inactive_ns=600 * MS)


def test_records_that_no_timeout_cut_tell_none() -> None:
    """Bursts half a minute apart: the pauses are longer than any active timeout may be."""
    assert timeouts(spaced([200, 210, 190] * 5, [30_000] * 15)) == Timeouts(0, 0)


@pytest.mark.parametrize(("step_ms", "known"), [(1, MS), (0.001, 1000), (0.0000037, 0)])
def test_the_resolution_of_stamps_is_told_from_them(step_ms: float, known: int) -> None:
    """Milliseconds, microseconds, or whatever a clock gives; a clock's offset changes nothing."""
    drawn = np.random.default_rng(1).integers(1, 900, (2, 60))
    lasting, gaps = (np.round(part * 0.77123 / step_ms) * step_ms for part in drawn)
    found = spaced(lasting.tolist(), gaps.tolist())
    assert resolution_ns(found) == known


def test_records_are_two_observations_each() -> None:
    """The two packets that they stamp, and what was sent until then; of each connection from its first record on."""
    found = observations(streams([0, 10, 30], [5, 5, 5], [100, 50, 10]))
    assert found["stream"].tolist() == [0] * 6 + [1] * 6
    assert (found["time_ns"][:6] / MS).tolist() == [0, 5, 10, 15, 30, 35]
    assert found["bytes_low"][:6].tolist() == found["bytes_high"][6:].tolist() == [0, 100, 100, 150, 150, 160]
    assert [KINDS[k] for k in found["kind"][:2]] == ["first packet", "last packet"]
    assert set(found["time_error_ns"].tolist()) == {MS}


def test_what_a_line_allows_bounds_the_curve() -> None:
    """1,000 bytes in 4.3 ms on a line that takes 1 ms for them: the packets at both ends are known, little between."""
    seen = streams([0, 10], [4.3217, 4.3217], [1000, 1000])
    curve = Curve.of(observations(seen), 2, np.full(2, 1000 / MS))
    at = np.array([-1, 0, 1, 2, 4, 7, 11, 20]) * MS
    sent = curve.bytes_at(np.zeros(8, np.int64), at)
    assert sent.low.tolist() == pytest.approx([0, 0, 0, 0, 678.3, 1000, 1000, 2000])
    assert sent.high.tolist() == pytest.approx([0, 0, 1000, 1000, 1000, 1000, 2000, 2000])
    half = curve.time_at(np.zeros(2, np.int64), np.array([500, 1500]))
    assert (half.low / MS).tolist() == pytest.approx([0.5, 10.5])
    assert (half.width / MS).tolist() == pytest.approx([3.3217, 3.3217])


def test_a_full_line_leaves_nothing_open() -> None:
    """Bytes that take all the time between two packets were sent evenly."""
    curve = Curve.of(observations(streams([0], [4.3217], [4322])), 2, np.full(2, 1000 / MS))
    sent = curve.bytes_at(np.array([1, 1]), np.array([MS, 3 * MS]))
    assert sent.low.tolist() == pytest.approx([1000, 3000], abs=1)
    assert sent.width.tolist() == pytest.approx([0, 0], abs=1)


def test_nothing_is_sent_because_of_what_came_in_the_same_millisecond() -> None:
    """Records end a millisecond later than their stamps say, and arrive another one later; exact ones stay."""
    coarse = streams([0, 100, 250], [0, 1, 3])
    late = latest_arrivals(coarse)
    assert (late.end_ns[:3] / MS).tolist() == [1, 102, 254]
    assert (late.delivered_ns[:3] / MS).tolist() == [2, 103, 255]
    exact = streams([0.12345, 100.54321], [0.777123, 1.123777])
    assert latest_arrivals(exact) is exact
