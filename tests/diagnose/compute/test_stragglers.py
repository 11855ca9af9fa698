"""Who computes longer than before, or than its peers."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.streams import Float, Int
from datamodel.transfers import ROLES
from diagnose.compute.send_delays import SendDelays
from diagnose.compute.stragglers import Lateness, compute_ratio, drop_ring_predecessors, drop_waiting_stages, lateness
from tests.diagnose.hand_made import DP, MS, PP, SECOND

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
    """Lateness in the second half, of iterations of 1 s, with 2.5 % worth naming."""
    return lateness(kinds, stages, SINCE, baseline, SECOND, 0.025)


def test_a_late_rank_stands_out() -> None:
    """50 ms became 80: 30 ms more than it should be, and nobody else is late."""
    seen = judged(gradient(delays(e3=80)))
    assert np.flatnonzero(seen.late).tolist() == [3]
    assert (seen.excess_ns[3], seen.typical_ns[3], seen.normal_ns[3]) == (30 * MS, 80 * MS, 50 * MS)
    assert seen.excess_ns.sum() == 30 * MS


def test_delays_of_an_iteration_add_up() -> None:
    """Ten milliseconds at each of four messages are forty, though none alone were worth a word."""
    kinds = [message(delays(e5=60), slot) for slot in range(4)]
    assert judged(*kinds).excess_ns[5] == pytest.approx(40 * MS)
    assert np.flatnonzero(judged(*kinds).late).tolist() == [5]
    assert not judged(kinds[0]).late.any()


def test_everybody_late_is_seen_as_such() -> None:
    """All eight have 30 ms more than they had."""
    seen = judged(gradient(delays() + np.repeat([0, 30 * MS], HALF)))
    assert seen.late.all()


def test_the_half_late_are_not_late() -> None:
    """Beside one that lost 100 ms, one that lost 40 ms is a victim."""
    assert np.flatnonzero(judged(gradient(delays(e1=150, e6=90))).late).tolist() == [1]
    assert np.flatnonzero(judged(gradient(delays(e1=150, e6=110))).late).tolist() == [1, 6]


def test_stages_have_their_own_normal() -> None:
    """A stage that always takes twice as long is not late; one of its members that takes more is."""
    stages = np.repeat([0, 1], ENDPOINTS // 2)
    slow_stage = delays()
    slow_stage[4:] *= 2
    assert not judged(message(slow_stage), stages=stages).late.any()
    slow_stage[6, HALF:] += 40 * MS
    assert np.flatnonzero(judged(message(slow_stage), stages=stages).late).tolist() == [6]


def test_without_a_baseline_peers_are_the_measure() -> None:
    """The one that always was late stands out among eight; three peers are too few to say."""
    always = delays()
    always[3] += 40 * MS
    assert np.flatnonzero(judged(gradient(always), baseline=NOBODY).late).tolist() == [3]
    few = lateness((gradient(always[1:4]),), ONE_STAGE[1:4], SINCE, NOBODY, SECOND, 0.025)
    assert not few.late.any()


def test_a_pipeline_is_judged_by_its_messages() -> None:
    """The collective of a late rank's neighbour starts late too: beside messages it does not count."""
    seen = judged(message(delays(e3=90)), gradient(delays(e3=90, e2=95)))
    assert np.flatnonzero(seen.late).tolist() == [3]


def test_exchanges_in_the_passes_go_before_gradients() -> None:
    """Of experts' ranks 3 is late; 6, next to somebody who waits for 3, reduces late. Gradients alone blame 6."""
    tokens = [SendDelays(ROLES.index("ep"), 0, slot, delays(e3=80), delays()) for slot in range(3)]
    late = gradient(delays(e6=150, e3=80))
    assert np.flatnonzero(judged(*tokens, late).late).tolist() == [3]
    assert np.flatnonzero(judged(late).late).tolist() == [6]


def test_an_occasional_long_delay_is_no_sign() -> None:
    """Two of six iterations do not move the median; a rank that was not seen in most is not judged."""
    now = delays()
    now[3, HALF : HALF + 2] = 500 * MS
    assert not judged(gradient(now)).late.any()
    now[3, HALF:] = np.nan
    now[3, HALF : HALF + 2] = 500 * MS
    assert not judged(gradient(now)).late.any()


def test_work_that_varies_makes_nobody_late() -> None:
    """Delays between 10 and 90 ms have some median; one whose median is 80 ms but who is quick as often is not late."""
    random = np.random.default_rng(1)
    now = delays()
    now[:, HALF:] = random.uniform(10, 90, (ENDPOINTS, HALF)) * MS
    now[3, HALF:] = np.array([10, 12, 90, 88, 86, 85]) * MS
    assert not judged(gradient(now)).late[3]
    now[3, HALF:] = np.array([130, 140, 190, 188, 186, 185]) * MS
    assert judged(gradient(now)).late[3]


def test_a_late_ranks_predecessors_only_wait() -> None:
    """In a rendezvous ring 1 and 2 wait for 3, which is late; 6 is late for itself."""
    ring = {e: (e + 1) % ENDPOINTS for e in range(ENDPOINTS)}
    late = np.isin(np.arange(ENDPOINTS), [1, 2, 3, 6])
    roots = drop_ring_predecessors(late, np.arange(ENDPOINTS), ring)
    assert np.flatnonzero(roots).tolist() == [3, 6]


def test_a_ring_that_is_late_all_round_has_no_root() -> None:
    """Where everybody's successor is late too, all stay."""
    ring = {e: (e + 1) % ENDPOINTS for e in range(ENDPOINTS)}
    everybody = np.ones(ENDPOINTS, bool)
    assert drop_ring_predecessors(everybody, np.arange(ENDPOINTS), ring).all()


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
    """All of the chain are late, 1 alone computes longer; in a chain of its own 5 stays, and so does 9, in none."""
    endpoints, late = np.array([0, 1, 2, 3, 4, 5, 9]), np.array([True, True, True, True, False, True, True])
    ratio = np.array([1.0, 1.6, 1.1, 1.0, 1.0, 1.02, 1.0])
    kept = drop_waiting_stages(late, endpoints, ((0, 1, 2, 3), (4, 5)), ratio)
    assert endpoints[kept].tolist() == [1, 5, 9]
