"""Who computes longer than before, or than its peers."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.streams import Float, Int
from datamodel.reconstructed.transfers import ROLES
from diagnose.compute.send_delays import SendDelays
from diagnose.compute.stragglers import Lateness, compute_ratio, lateness, share_of_chain
from tests.diagnose.hand_made import DP, MS, PP

ENDPOINTS, HALF = 8, 6
BEFORE, SINCE = np.arange(HALF), np.arange(HALF, 2 * HALF)
NOBODY = np.zeros(0, np.int64)
ONE_STAGE = np.zeros(ENDPOINTS, np.int64)


def delays(usual_ms: float = 50, **late_ms: float) -> Float:
    """(endpoints, 12) delays; `e3=80` makes endpoint 3 that late from iteration 6 on."""
    found = np.full((ENDPOINTS, 2 * HALF), float(usual_ms * MS))
    for name, value in late_ms.items():
        found[int(name[1:]), HALF:] = value * MS
    return found


def gradient(delay_ns: Float, slot: int = 0) -> SendDelays:
    """A gradient collective with these delays."""
    return SendDelays(DP, 0, slot, delay_ns, delay_ns)


def message(delay_ns: Float, slot: int = 0) -> SendDelays:
    """A message to the next stage with these delays."""
    return SendDelays(PP, 1, slot, delay_ns, delay_ns)


def judged(*kinds: SendDelays, stages: Int = ONE_STAGE, baseline: Int = BEFORE) -> Lateness:
    """Lateness in the second half."""
    return lateness(kinds, stages, SINCE, baseline)


def late(seen: Lateness) -> list[int]:
    """Who takes longer than what is healthy."""
    return np.flatnonzero(seen.excess_ns > 0).tolist()


def test_a_late_rank_stands_out() -> None:
    """50 ms became 80: 30 ms more than it should be, and nobody else is late."""
    seen = judged(gradient(delays(e3=80)))
    assert (seen.excess_ns[3], seen.normal_ns[3]) == (30 * MS, 50 * MS)
    assert seen.excess_ns.sum() == 30 * MS


def test_delays_of_an_iteration_add_up() -> None:
    """Ten milliseconds at each of four messages are forty, though none alone were worth a word."""
    kinds = [message(delays(e5=60), slot) for slot in range(4)]
    assert judged(*kinds).excess_ns[5] == pytest.approx(40 * MS)
    assert late(judged(*kinds)) == [5]


def test_stages_have_their_own_normal() -> None:
    """A stage that always takes twice as long is not late; one of its members that takes more is."""
    stages = np.repeat([0, 1], ENDPOINTS // 2)
    slow_stage = delays()
    slow_stage[4:] *= 2
    assert late(judged(message(slow_stage), stages=stages)) == []
    slow_stage[6, HALF:] += 40 * MS
    assert late(judged(message(slow_stage), stages=stages)) == [6]


def test_without_a_baseline_peers_are_the_measure() -> None:
    """The one that always was late stands out among eight; three peers are too few to say."""
    always = delays()
    always[3] += 40 * MS
    assert late(judged(gradient(always), baseline=NOBODY)) == [3]
    assert late(lateness((gradient(always[1:4]),), ONE_STAGE[1:4], SINCE, NOBODY)) == []


def test_a_pipeline_is_judged_by_its_messages() -> None:
    """The collective of a late rank's neighbour starts late too: beside messages it does not count."""
    assert late(judged(message(delays(e3=90)), gradient(delays(e3=90, e2=95)))) == [3]


def test_exchanges_in_the_passes_go_before_gradients() -> None:
    """Of experts' ranks 3 is late; 6, next to somebody who waits for 3, reduces late. Gradients alone blame 6."""
    tokens = [SendDelays(ROLES.index("ep"), 0, slot, delays(e3=80), delays()) for slot in range(3)]
    collective = gradient(delays(e6=150))
    assert late(judged(*tokens, collective)) == [3]
    assert late(judged(collective)) == [6]


def test_an_occasional_long_delay_is_no_sign() -> None:
    """Two of six iterations do not move the median; a rank that was not seen in most is not judged."""
    now = delays()
    now[3, HALF : HALF + 2] = 500 * MS
    assert late(judged(gradient(now))) == []
    now[3, HALF:] = np.nan
    now[3, HALF : HALF + 2] = 500 * MS
    assert late(judged(gradient(now))) == []


def test_work_that_varies_spreads() -> None:
    """Delays of 10 to 90 ms lie 20 ms from their median, usually; those that are alike lie nowhere else."""
    now = delays()
    now[3, HALF:] = np.array([10, 30, 50, 50, 70, 90]) * MS
    assert judged(gradient(now)).spread_ns[[2, 3]].tolist() == [0, 20 * MS]


def chain(*late: tuple[int, int, int, float]) -> tuple[SendDelays, ...]:
    """A pipeline of four stages, an endpoint each; three messages each way after 50 ms.

    `late` are (stage, towards, slot, ms) from iteration 6 on.
    """
    kinds = []
    for towards, senders in ((1, (0, 1, 2)), (-1, (1, 2, 3))):
        for slot in range(3):
            delay = np.full((4, 2 * HALF), np.nan)
            delay[list(senders)] = 50 * MS
            for stage, way, place, ms in late:
                if (way, place) == (towards, slot):
                    delay[stage, HALF:] = ms * MS
            kinds.append(SendDelays(PP, towards, slot, delay, delay))
    return tuple(kinds)


FOUR, ALONE = np.arange(4), np.full(4, -1)


def grown(*late: tuple[int, int, int, float], together: Int = ALONE) -> Float:
    """Compute of the four stages over what it was."""
    return compute_ratio(chain(*late), FOUR, SINCE, BEFORE, together)


LATE_ALWAYS = [(1, towards, slot, 80) for towards in (1, -1) for slot in range(3)]
# 0 finds 1 not ready from its second message on; 2 gives back its second and third gradient to one that is busy
NEIGHBOURS = [(0, 1, 1, 80), (0, 1, 2, 80), (2, -1, 1, 80), (2, -1, 2, 80), (3, -1, 2, 80)]


def test_compute_delays_every_message_and_waiting_some() -> None:
    """Stage 1 takes 60 % longer before all it sends; its neighbours now and then send as early as ever."""
    np.testing.assert_allclose(grown(*LATE_ALWAYS, *NEIGHBOURS), [1.0, 1.6, 1.0, 1.0])


def test_a_message_with_slack_says_nothing() -> None:
    """A warm-up message that always waited for its gradient comes as late as ever: 1 is slow all the same."""
    kinds = [k for k in chain(*LATE_ALWAYS) if (k.towards, k.slot) != (1, 2)]
    waits = np.full((4, 2 * HALF), np.nan)
    waits[1] = 120 * MS
    ratio = compute_ratio((*kinds, SendDelays(PP, 1, 2, waits, waits)), FOUR, SINCE, BEFORE, ALONE)
    assert ratio[1] == pytest.approx(1.6)


def test_the_first_message_behind_the_optimizer_tells() -> None:
    """Stage 0's first message takes longer than its others, and it is no receiver that holds it up."""
    kinds = [k for k in chain(*NEIGHBOURS) if (k.towards, k.slot) != (1, 0)]
    first = np.full((4, 2 * HALF), np.nan)
    first[:2] = 90 * MS
    ratio = compute_ratio((SendDelays(PP, 1, 0, first, first), *kinds), FOUR, SINCE, BEFORE, ALONE)
    assert ratio[0] == pytest.approx(1.0)


def test_a_tensor_group_has_one_compute() -> None:
    """The median of its members, so that one message of one rank does not clear it."""
    delay = np.full((4, 2 * HALF), 50.0 * MS)
    delay[:3, HALF:] = 80 * MS
    kinds = (SendDelays(PP, 1, 0, delay, delay),)
    ratio = compute_ratio(kinds, np.zeros(4, np.int64), SINCE, BEFORE, np.array([0, 0, 0, -1]))
    np.testing.assert_allclose(ratio, [1.6, 1.6, 1.6, 1.0])


def test_who_waits_in_a_pipeline_is_no_cause() -> None:
    """1 alone computes longer, 2 a sixth as much; in a chain of its own 5 counts whole, and so does 9, in none."""
    ratio = np.array([1.0, 1.6, 1.1, 1.0, 1.0, 1.02, 1.0])
    share = share_of_chain(np.array([0, 1, 2, 3, 4, 5, 9]), ((0, 1, 2, 3), (4, 5)), ratio)
    np.testing.assert_allclose(share, [0, 1, 1 / 3, 0, 0, 1, 1], atol=1e-9)
