"""Streams between switches that became slow together without one link that holds it."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Float
from diagnose.links import SlowLink
from diagnose.rates import Rates
from diagnose.shared_links import shared_links
from tests.diagnose.hand_made import DP, MS, fabric

BEFORE, SINCE = np.arange(6), np.arange(6, 12)
USUAL_BPS, BYTES = 10e9, 125e6
# A ring of eight, two behind each of four switches: every other stream crosses.
PLACE = fabric(8, switches=("a", "a", "b", "b", "c", "c", "d", "d"))
PAIRS = [(e, (e + 1) % 8) for e in range(8)]


def rates(share: dict[int, float]) -> Rates:
    """The ring at 10 Gbit/s, and from iteration 6 on the streams of some senders at a share of it."""
    rate: Float = np.full((8, 12), USUAL_BPS)
    for sender, part in share.items():
        rate[sender, 6:] *= part
    src, dst = (np.array(side, np.int64) for side in zip(*PAIRS, strict=True))
    volume = np.full(rate.shape, BYTES)
    return Rates(np.arange(8), src, dst, np.full(8, DP), rate, rate, volume * 8e9 / rate, volume, 0 * volume)


def found(share: dict[int, float], longer_ms: float = 100) -> SlowLink | None:
    """What streams share in iterations that are so much longer."""
    return shared_links(rates(share), SINCE, BEFORE, PLACE, longer_ms * MS)


def test_streams_all_over_share_their_switches_uplinks() -> None:
    """1 and 5 lose 100 ms and 3 a little less: a and d pass one of them each, b and c two."""
    link = found({1: 0.5, 3: 0.55, 5: 0.5})
    assert link is not None
    assert (link.endpoint, {link.switch, link.among[0]}, set(link.among[1:])) == (None, {"b", "c"}, {"a", "d"})
    assert np.flatnonzero(link.slow).tolist() == [1, 3, 5]
    np.testing.assert_allclose(link.lost_ns[[1, 5]], 100 * MS)


def test_what_costs_less_than_the_period_does_not_explain_it() -> None:
    """The slowest stream loses 100 ms of 300."""
    assert found({1: 0.5, 3: 0.55, 5: 0.5}, longer_ms=300) is None


def test_streams_inside_switches_share_no_uplink() -> None:
    """0 > 1 and 4 > 5 stay behind one switch."""
    assert found({0: 0.5, 4: 0.5, 6: 0.5}) is None


def test_streams_inside_switches_that_became_as_slow_clear_the_uplinks() -> None:
    """1, 3 and 5 cross, and lose most; but 0, 2 and 4 do not, and fell as well: no cable is common to them."""
    assert found({1: 0.5, 3: 0.55, 5: 0.5, 0: 0.8, 2: 0.8, 4: 0.8}) is None


def test_one_stream_shares_nothing() -> None:
    """Two ends are two suspects, not a shared cable."""
    assert found({1: 0.5}) is None


def test_switches_and_a_better_time_must_be_known() -> None:
    """Without either, streams of different speed say nothing."""
    slow = rates({1: 0.5, 3: 0.55, 5: 0.5})
    assert shared_links(slow, SINCE, BEFORE, fabric(8), 100 * MS) is None
    assert shared_links(slow, SINCE, np.zeros(0, np.int64), PLACE, 100 * MS) is None
    assert shared_links(slow, SINCE, BEFORE, PLACE, 100 * MS) is not None
