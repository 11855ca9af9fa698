"""Which link slow streams have in common."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.cluster.inventory import Link
from datamodel.reconstructed.streams import Int
from diagnose.links.link_findings import link_finding
from diagnose.links.slow_links import SlowLink, slow_links, slowest_loss_ns, stream_losses
from diagnose.measures.congestion_notifications import NO_NOTICES, CongestionNotifications
from diagnose.measures.stream_rates import Rates
from diagnose.model.compared_iterations import ComparedIterations
from diagnose.options import MODEL
from tests.diagnose.hand_made import DP, MS, PP, SECOND, Ring, fabric, job_view

BEFORE, SINCE = np.arange(6), np.arange(6, 12)
NOBODY = np.zeros(0, np.int64)
USUAL_BPS, BYTES = 10e9, 125e6
Pair = tuple[int, int]


def rates(
    pairs: Collection[Pair],
    slow: Collection[Pair],
    share: float = 0.25,
    *,
    sent: float | None = None,
    always: bool = False,
) -> Rates:
    """Streams at 10 Gbit/s, of which some arrive at a share of it from iteration 6 on, or `always`.

    They leave their sender at the share `sent`, or as they arrive where it is not given.
    """
    src, dst = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    rate = np.full((len(pairs), 12), USUAL_BPS)
    sending = rate.copy()
    for n, pair in enumerate(pairs):
        if pair in slow:
            rate[n, 0 if always else 6 :] *= share
            sending[n, 0 if always else 6 :] *= share if sent is None else sent
    volume = np.full(rate.shape, BYTES)
    role = np.full(len(src), DP)
    return Rates(
        np.arange(len(src)), src, dst, role, rate, sending, volume * 8e9 / rate, volume, volume / 4096, 0 * volume
    )


def both_ways(members: int) -> list[Pair]:
    """Two rings, one each way."""
    ring = one_way(members)
    return ring + [(b, a) for a, b in ring]


def one_way(members: int) -> list[Pair]:
    """A ring."""
    return [(e, (e + 1) % members) for e in range(members)]


def every_slow_link(
    seen: Rates,
    interval: Int,
    baseline: Int,
    place: EndpointLocations,
    notices: CongestionNotifications = NO_NOTICES,
    *,
    whole_bursts: bool = False,
) -> list[SlowLink]:
    """All links told, of iterations that became longer by what the slowest stream loses; without a past, by 5 %."""
    time_ns = 8e9 * np.median(seen.bytes / seen.delivered_bps, axis=1)
    longer_ns = 0.0
    if len(baseline):
        now, before = (8e9 * seen.bytes[:, i] / seen.delivered_bps[:, i] for i in (interval, baseline))
        longer_ns = float((np.median(now, axis=1) - np.median(before, axis=1)).max())
    least_ns = MODEL.least_share * longer_ns if len(baseline) else 0.05 * float(time_ns.max())
    sure = MODEL.sure if len(baseline) else MODEL.sure_among_peers
    compared = ComparedIterations(interval, baseline, 2 * float(time_ns.max()), longer_ns, least_ns, sure)
    return slow_links(
        seen,
        compared,
        stream_losses(seen, compared, place),
        place,
        notices,
        np.arange(1, seen.bytes.shape[1] + 1) * SECOND,
        whole_bursts=whole_bursts,
    )


def slow_link(
    seen: Rates, interval: Int, baseline: Int, place: EndpointLocations, notices: CongestionNotifications = NO_NOTICES
) -> SlowLink | None:
    """The surest of them."""
    return next(iter(every_slow_link(seen, interval, baseline, place, notices)), None)


def found(seen: Rates) -> SlowLink:
    """The slow link of the second half against the first."""
    link = slow_link(seen, SINCE, BEFORE, fabric(len(seen.src)))
    assert link is not None
    return link


def test_nothing_slow_is_no_link() -> None:
    """Equal rates, or all of them slower alike, name nothing."""
    assert slow_link(rates(both_ways(6), ()), SINCE, BEFORE, fabric(6)) is None
    assert slow_link(rates(both_ways(6), both_ways(6), 0.7), SINCE, BEFORE, fabric(6)) is None
    assert slow_link(rates(both_ways(6), ()), SINCE, NOBODY, fabric(6)) is None


def test_who_always_crosses_switches_is_compared_with_who_does() -> None:
    """A ring of 16 behind four switches: messages between them take longer, those of one stream a little more.

    At a fifth of the others' rate it is no path.
    """
    place = fabric(16, switches=[f"leaf{n // 4}" for n in range(16)])
    across = [(n, (n + 1) % 16) for n in (3, 7, 11, 15)]
    seen = rates(one_way(16), across, 0.5, sent=20.0, always=True)
    slower = np.where((seen.src == 7)[:, None], 0.9, 1.0)
    late = replace(seen, delivered_bps=seen.delivered_bps * slower)
    assert slow_link(late, SINCE, NOBODY, place) is None
    slow = np.where((seen.src == 7)[:, None], 0.2, 1.0)
    link = slow_link(replace(seen, delivered_bps=seen.delivered_bps * slow), SINCE, NOBODY, place)
    assert link is not None
    assert link.switch is not None or link.endpoint in {7, 8}


@pytest.mark.parametrize(("share_of_bytes", "named"), [(1.0, True), (0.3, True), (0.001, False)])
def test_what_never_got_up_to_speed_tells_if_it_is_no_few_bytes(share_of_bytes: float, named: bool) -> None:
    """At a hundredth of the others' rate from the first byte on: a slow link, or a barrier whose rate latency sets."""
    seen = rates(both_ways(6), [(2, 3), (2, 1)], 0.01, always=True)
    small = np.isin(seen.src, [2])[:, None]
    volume, busy_ns = (np.where(small, share_of_bytes * v, v) for v in (seen.bytes, seen.busy_ns))
    link = slow_link(replace(seen, bytes=volume, busy_ns=busy_ns), SINCE, NOBODY, fabric(6))
    assert (link is not None and (link.endpoint, link.direction) == (2, "tx")) == named


@pytest.mark.parametrize(
    ("slow", "direction"),
    [
        ([(2, 3), (2, 1)], "tx"),
        ([(1, 2), (3, 2)], "rx"),
        ([(2, 3), (2, 1), (1, 2), (3, 2)], None),
    ],
)
def test_an_endpoint_is_named_with_its_direction(slow: list[Pair], direction: str | None) -> None:
    """Slow streams that all leave or all reach one endpoint name its sending or receiving side; both name neither."""
    link = found(rates(both_ways(6), slow))
    assert (link.endpoint, link.direction, link.rivals, link.switch) == (2, direction, (), None)
    assert link.slow.sum() == len(slow)


def test_the_lost_time_is_that_of_the_bytes() -> None:
    """125 MB at 2.5 instead of 10 Gbit/s take 400 ms instead of 100 ms; other streams lose nothing."""
    link = found(rates(both_ways(6), [(2, 3), (2, 1)]))
    np.testing.assert_allclose(link.lost_ns, np.where(link.slow, 300 * MS, 0))
    np.testing.assert_allclose(link.normal_bps, USUAL_BPS)


@pytest.mark.parametrize(("other", "loses"), [(DP, 300 * MS), (PP, 600 * MS)], ids=["one role", "two roles"])
def test_what_one_endpoint_loses_role_after_role_adds_up(other: int, loses: float) -> None:
    """Streams of one role wait for each other at the same time; activations are sent before gradients."""
    seen = rates(both_ways(6), [(2, 3), (2, 1)])
    role = np.where((seen.src == 2) & (seen.dst == 1), other, DP)
    role[seen.src == 4] = other
    compared = ComparedIterations(SINCE, BEFORE, 1e9, 300.0 * MS, 90.0 * MS, MODEL.sure)
    assert slowest_loss_ns(stream_losses(replace(seen, role=role), compared, fabric(6)).elements) == pytest.approx(
        loses
    )


@pytest.mark.parametrize(("whole_bursts", "named"), [(False, {2, 5}), (True, {2})], ids=["messages", "whole bursts"])
def test_who_waits_within_a_burst_is_no_further_slow_link(whole_bursts: bool, named: set[int]) -> None:
    """Others of the ring of a slow link are slow too where bursts hold their waits; those of another ring are not."""
    seen = rates([*one_way(8), *((a + 8, b + 8) for a, b in one_way(8))], [(1, 2), (2, 3)])
    for milder, further in (([4, 5], set[int]()), ([12, 13], {13})):
        for column in (seen.delivered_bps, seen.sent_bps):
            column[milder, 6:] *= 0.4
        seen.busy_ns[milder, 6:] /= 0.4
        links = every_slow_link(seen, SINCE, BEFORE, fabric(16), whole_bursts=whole_bursts)
        assert {link.endpoint for link in links} == named | further


@pytest.mark.parametrize("slow", range(4))
@pytest.mark.parametrize("apart", [1.0, 1.05], ids=["both directions alike", "one direction slower"])
def test_of_a_ring_that_waits_in_turn_the_slow_member_is_named(slow: int, apart: float) -> None:
    """Both streams of a slow NIC are the slowest; the farther behind it another one is, the less of it it waits."""
    other_ring = [(a + 4, b + 4) for a, b in one_way(8)]
    seen = rates([*one_way(4), *other_ring], [((slow - 1) % 4, slow), (slow, (slow + 1) % 4)])
    for behind, ratio in ((0, apart), (1, 1.16), (2, 1.4)):
        stream = (slow + behind) % 4
        faster = ratio * (0.25 if behind else 1.0)
        for column in (seen.delivered_bps, seen.sent_bps):
            column[stream, 6:] *= faster
        seen.busy_ns[stream, 6:] /= faster
    noise = np.exp(np.random.default_rng(slow).normal(0, 0.01, seen.delivered_bps.shape))
    for column in (seen.delivered_bps, seen.sent_bps):
        column[:] *= noise
    seen.busy_ns[:] /= noise
    links = every_slow_link(seen, SINCE, BEFORE, fabric(12), whole_bursts=True)
    assert [(link.endpoint, link.rivals) for link in links] == [(slow, ())]


def test_one_ring_leaves_two_suspects() -> None:
    """A single slow stream may be its sender's or its receiver's fault."""
    link = found(rates(one_way(6), [(2, 3)]))
    assert link.endpoint is not None
    assert {link.endpoint, *link.rivals} == {2, 3}


@pytest.mark.parametrize(("sent", "suspects"), [(0.26, {2, 3}), (1.0, {3})])
def test_pacing_clears_the_sender(sent: float, suspects: set[int]) -> None:
    """Bytes that leave fast and arrive late do not wait in their sender; such as leave slowly may wait for either."""
    link = found(rates(one_way(6), [(2, 3)], sent=sent))
    assert {link.endpoint, *link.rivals} == suspects


def test_without_a_baseline_peers_are_the_measure() -> None:
    """A link that was slow all along is slow among its peers, if by more than paths differ."""
    slow = [(2, 3), (2, 1)]
    link = slow_link(rates(both_ways(6), slow, always=True), SINCE, NOBODY, fabric(6))
    assert link is not None
    assert (link.endpoint, link.direction) == (2, "tx")
    assert slow_link(rates(both_ways(6), slow, 0.8, always=True), SINCE, NOBODY, fabric(6)) is None


@pytest.mark.parametrize("times", [1.2, 1.3, 1.5, 2.0, 20.0])
def test_mildly_slow_links_are_links(times: float) -> None:
    """Of any size, where other streams keep their rate: what it is measured with decides, not how much is normal."""
    link = found(rates(both_ways(6), [(2, 3), (2, 1)], 1 / times))
    assert (link.endpoint, link.direction, link.rivals) == (2, "tx", ())


def test_a_stream_that_fell_as_far_as_its_peers_is_no_link() -> None:
    """Half of a ring runs over longer paths; all fall to 70 %, and one of them to 48 %."""
    seen = rates(one_way(8), ())
    seen.delivered_bps[::2] *= 0.4
    seen.delivered_bps[:, 6:] *= 0.7
    assert slow_link(seen, SINCE, BEFORE, fabric(8)) is None
    seen.delivered_bps[0, 6:] *= 0.69
    assert found(seen).slow.tolist() == [n == 0 for n in range(8)]


def test_an_endpoint_of_most_streams_is_the_link() -> None:
    """In a chain of four, two thirds of the streams end at the third one: that is nothing they share with the rest."""
    chain = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]
    link = found(rates(chain, [pair for pair in chain if 2 in pair]))
    assert link is not None
    assert link.endpoint == 2


def test_noise_is_hardly_ever_a_link() -> None:
    """Rates that scatter by a tenth, of iterations that are longer by what the unluckiest stream loses: 1 in 10."""
    random = np.random.default_rng(5)
    told = 0
    for _ in range(60):
        seen = rates(both_ways(16), ())
        noisy = replace(seen, delivered_bps=seen.delivered_bps * np.exp(random.normal(0, 0.1, seen.bytes.shape)))
        told += len(every_slow_link(noisy, SINCE, BEFORE, fabric(16)))
        assert every_slow_link(noisy, SINCE, NOBODY, fabric(16)) == []
    assert told <= 6


def test_two_slow_links_are_two() -> None:
    """One sends slowly, another gets slowly; neither is a rival of the other."""
    links = every_slow_link(rates(both_ways(12), [(2, 3), (2, 1), (6, 7), (8, 7)], 0.5), SINCE, BEFORE, fabric(12))
    assert sorted((link.endpoint, link.direction, link.rivals) for link in links) == [(2, "tx", ()), (7, "rx", ())]


def test_a_long_path_that_others_have_too_is_no_link() -> None:
    """Without an inventory: every fourth stream arrives late, though it left at once, and one a little later still."""
    seen = rates(one_way(16), [(e, e + 1) for e in (3, 7, 11)], 0.5, sent=20.0, always=True)
    seen.delivered_bps[7] *= 0.9
    assert slow_link(seen, SINCE, NOBODY, fabric(16)) is None
    seen.delivered_bps[7] *= 0.2
    link = slow_link(seen, SINCE, NOBODY, fabric(16))
    assert link is not None
    assert np.flatnonzero(link.slow).tolist() == [7]


def test_a_trickle_says_nothing_of_a_link() -> None:
    """Streams of a few bytes an iteration become slower by latency alone, and are no measure of their peers either."""
    back = [(b, a) for a, b in one_way(6)]
    seen = rates(both_ways(6), [(2, 1)])
    trickle = np.array([(a, b) in back for a, b in both_ways(6)])[:, None]
    slower, less = (np.where(trickle, v / 1000, v) for v in (seen.delivered_bps, seen.bytes))
    thin = replace(seen, delivered_bps=slower, bytes=less)
    for baseline in (BEFORE, NOBODY):
        assert slow_link(thin, SINCE, baseline, fabric(6)) is None


def test_a_group_of_two_has_no_peers() -> None:
    """Two streams that always differed are not judged: which one is normal is not known."""
    assert slow_link(rates([(0, 1), (1, 0)], [(0, 1)], always=True), SINCE, NOBODY, fabric(2)) is None


def test_flows_of_one_switch_to_others_name_its_uplink() -> None:
    """Slow streams between switches, all with one end behind the same, suspect its uplinks."""
    place = fabric(6, switches=("a", "a", "b", "b", "c", "c"))
    link = slow_link(rates(one_way(6), [(1, 2), (5, 0)]), SINCE, BEFORE, place)
    assert link is not None
    assert (link.endpoint, link.switch) == (None, "a")


def test_what_all_streams_between_two_switches_lose_may_be_a_cables() -> None:
    """They are each other's only peers; where some run elsewhere and are as slow, it is no link's."""
    crossing = [(0, 2), (2, 0), (1, 3), (3, 1)]
    link = slow_link(rates(crossing, crossing), SINCE, BEFORE, fabric(4, switches=("a", "a", "b", "b")))
    assert link is not None
    assert {s.switch for s in link.suspects} >= {"a", "b"}
    inside = [*crossing, (4, 5), (5, 4)]
    place = fabric(6, switches=("a", "a", "b", "b", "c", "c"))
    assert slow_link(rates(inside, inside), SINCE, BEFORE, place) is None


def test_streams_side_by_side_share_a_rate() -> None:
    """Two queue pairs of one pair are each half as fast as single ones: nothing is slow."""
    double = [(0, 1), (0, 1)]
    assert slow_link(rates([*double, *one_way(8)[1:]], double, 0.5, always=True), SINCE, NOBODY, fabric(8)) is None


def test_streams_side_by_side_lose_their_time_together() -> None:
    """Four queue pairs that lose a fifth of an iteration at the same time lose a fifth, not four fifths."""
    four = [(0, 1)] * 4
    seen = rates([*four, *one_way(8)[1:]], four, 0.5)
    lost_ns = 0.1 * SECOND
    compared = ComparedIterations(SINCE, BEFORE, SECOND, 5 * lost_ns, MODEL.least_share * 5 * lost_ns, MODEL.sure)
    lost = stream_losses(seen, compared, fabric(8))
    assert slow_links(seen, compared, lost, fabric(8), NO_NOTICES, np.arange(1, 13) * SECOND) == []


def lossy(pairs: list[Pair], losing: list[int]) -> Rates:
    """Streams with those numbers lose one packet in a hundred from iteration 6 on, and get slower."""
    seen = rates(pairs, ())
    since = np.zeros(seen.packets.shape, np.bool_)
    since[losing, 6:] = True
    slower, again = np.where(since, 0.7, 1.0), np.where(since, 0.01 * seen.packets, 0.0)
    return replace(seen, delivered_bps=seen.delivered_bps * slower, retransmitted=again)


def test_a_link_loses_packets_of_all_that_pass_it() -> None:
    """Where half of the queue pairs between two endpoints lose packets, that is neither end's own link."""
    pairs = [(0, 1)] * 8 + [(1, 0)] * 8 + one_way(8)[1:]
    assert found(lossy(pairs, list(range(8)))).endpoint in {0, 1}
    half = found(lossy(pairs, [0, 1, 2, 3, 8, 9, 10, 11]))
    assert (half.endpoint, half.switch, int(half.slow.sum())) == (None, None, 8)


def test_slow_streams_all_over_are_several_links() -> None:
    """All that two endpoints send and get: both are told."""
    place = fabric(8, switches=("a", "a", "b", "b", "c", "c", "d", "d"))
    links = every_slow_link(rates(one_way(8), [(1, 2), (5, 6), (0, 1), (4, 5)]), SINCE, BEFORE, place)
    assert sorted(link.endpoint for link in links if link.endpoint is not None) == [1, 5]


# Of a ring of 21: no two share an end.
APART = [(n, n + 1) for n in range(1, 21, 3)]


def test_without_an_inventory_flows_share_something() -> None:
    """Streams that became slow together say so without a name; streams that always were slower may just run further."""
    became = found(rates(one_way(21), APART))
    assert (became.endpoint, became.switch) == (None, None)
    always = rates(one_way(21), APART, always=True)
    assert slow_link(always, SINCE, NOBODY, fabric(21)) is None


def test_few_of_many_streams_share_one_of_many_cables() -> None:
    """Two streams of 40 without a common end became slow: one cable is likelier than two endpoints."""
    link = found(rates(one_way(40), [(1, 2), (20, 21)]))
    assert (link.endpoint, link.switch, int(link.slow.sum())) == (None, None, 2)


def test_flows_that_share_an_unknown_link_wake_nobody() -> None:
    """However much it costs, a link that nobody can be sent to is a note; the flows are its subject."""
    seen = rates(one_way(21), APART)
    finding = link_finding(job_view(*Ring(21).run(12), fabric(21)), found(seen), seen, (0, None), 1.5)
    assert (finding.kind, finding.severity, finding.subject.type) == ("slow_uplink", "info", "group")
    assert finding.subject.ids == tuple(f"10.0.0.{n}" for pair in APART for n in pair)
    assert "inventory" in finding.action


def test_an_uplink_finding_lists_the_cables() -> None:
    """Two cables leave the switch: it is the subject, and each cable is suspected by half."""
    cables = (Link(a="a", b="s1"), Link(a="a", b="s2"), Link(a="b", b="s1"))
    place = fabric(6, switches=("a", "a", "b", "b", "c", "c"))
    seen = rates(one_way(6), [(1, 2), (5, 0)])
    for links, subject, suspects in (
        (cables, ("switch", ("a",)), {("a", "s1"): 0.5, ("a", "s2"): 0.5}),
        (cables[:1], ("link", ("a", "s1")), {}),
    ):
        known = type(place)(place.addresses, switch=place.switch, port=place.port, links=links)
        link = slow_link(seen, SINCE, BEFORE, known)
        assert link is not None
        finding = link_finding(job_view(*Ring().run(12), known), link, seen, (0, None), 1.3)
        assert (finding.kind, finding.severity) == ("slow_uplink", "critical")
        assert (finding.subject.type, finding.subject.ids) == subject
        assert {s.ids: s.probability for s in finding.suspects} == suspects


def test_a_link_finding_names_switch_port_and_rates() -> None:
    """The subject is the endpoint's own link as in the inventory; the evidence is its streams' rates."""
    place = fabric(6, switches=("a",) * 6)
    seen = rates(both_ways(6), [(2, 3), (2, 1)])
    link = slow_link(seen, SINCE, BEFORE, place)
    assert link is not None
    finding = link_finding(job_view(*Ring().run(12), place), link, seen, (0, None), 1.12)
    assert (finding.kind, finding.cause, finding.severity) == ("slow_link", "tx", "warning")
    assert (finding.subject.type, finding.subject.ids, finding.subject.a_port) == ("link", ("a", "10.0.0.2"), 3)
    slow = [(e.value, e.baseline) for e in finding.evidence if ">" in e.where]
    assert slow == [(2.5e9, 10e9)] * 2
    assert "2.50 Gbit/s instead of 10.00 Gbit/s" in finding.summary


@pytest.mark.parametrize(("speed_bps", "told"), [(9e9, "10.00 Gbit/s"), (4e9, "4.00 Gbit/s")])
def test_nothing_ran_many_times_as_fast_as_its_link(speed_bps: float, told: str) -> None:
    """Bursts seen in front of a queue are faster than what the link carries: then the link's speed is told."""
    place = replace(fabric(6, switches=("a",) * 6), speed_bps=dict.fromkeys(range(6), speed_bps))
    seen = rates(both_ways(6), [(2, 3), (2, 1)])
    link = slow_link(seen, SINCE, BEFORE, place)
    assert link is not None
    finding = link_finding(job_view(*Ring().run(12), place), link, seen, (0, None), 1.12)
    assert f"instead of {told}," in finding.summary
    own = {(e.metric, e.value, e.baseline) for e in finding.evidence if ">" in e.where}
    if speed_bps > 5e9:
        assert own == {("link rate", 2.5e9, 10e9)}
    else:
        assert own == {
            ("link rate, against the port speed", 2.5e9, 4e9),
            ("burst rate before, against the port speed", 10e9, 4e9),
        }


def test_two_suspects_share_the_probability() -> None:
    """One ring's ambiguity reaches the reader: both ends alike, and less confidence.

    Nobody knows switches here: a link between them has what is left of the probability, and is no suspect.
    """
    seen = rates(one_way(6), [(2, 3)])
    place = fabric(6)
    link = slow_link(seen, SINCE, BEFORE, place)
    assert link is not None
    finding = link_finding(job_view(*Ring().run(12), place), link, seen, (0, None), 1.2)
    shares = {s.ids[0]: s.probability for s in finding.suspects}
    assert shares == {"10.0.0.2": shares["10.0.0.3"], "10.0.0.3": pytest.approx(0.45, abs=0.01)}
    assert finding.confidence < 0.5


UPLINKS = (Link(a="a", b="s1"), Link(a="a", b="s2"), Link(a="b", b="s1"), Link(a="b", b="s2"))
BEHIND = EndpointLocations(
    tuple(f"10.0.0.{n}" for n in range(6)), switch=dict(enumerate(("a", "a", "b", "b", "b", "b"))), links=UPLINKS
)
# 1 sends to two endpoints behind the other switch and gets from both.
OUTWARD, BACK = [(1, 2), (1, 4)], [(2, 1), (4, 1), (2, 4), (4, 5), (5, 3), (3, 2)]


def test_a_port_that_is_fast_inside_its_switch_is_clear() -> None:
    """All that 1 sends to other switches is slow, but not what it sends beside itself: an uplink, and not its port."""
    link = slow_link(rates([*OUTWARD, *BACK, (1, 0)], OUTWARD), SINCE, BEFORE, BEHIND)
    assert link is not None
    assert (link.endpoint, link.switch, link.rivals) == (None, "a", ())


def test_a_port_that_is_slow_inside_its_switch_is_the_link() -> None:
    """No uplink is passed on the way beside itself."""
    link = slow_link(rates([*OUTWARD, *BACK, (1, 0)], [*OUTWARD, (1, 0)]), SINCE, BEFORE, BEHIND)
    assert link is not None
    assert (link.endpoint, link.switch, link.direction) == (1, None, "tx")


def test_a_port_with_nothing_inside_its_switch_leaves_uplinks_suspect() -> None:
    """One direction is slow, the other is not: its port, or an uplink that both its streams happen to take."""
    seen = rates([*OUTWARD, *BACK], OUTWARD)
    link = slow_link(seen, SINCE, BEFORE, BEHIND)
    assert link is not None
    assert (link.endpoint, link.switch, "a" in link.among) == (1, None, True)
    finding = link_finding(job_view(*Ring().run(12), BEHIND), link, seen, (0, None), 1.3)
    assert (finding.kind, finding.subject.type, finding.subject.ids) == ("slow_link", "link", ("a", "10.0.0.1"))
    assert finding.suspects[0].ids == finding.subject.ids
    assert sum(s.probability for s in finding.suspects) == pytest.approx(1.0, abs=1e-3)
    assert "It may also be an uplink of a" in finding.summary


def test_neighbours_that_stay_fast_clear_the_uplinks() -> None:
    """All would have to take another cable than 1: the more there are, and the fewer cables, the less likely."""

    def odds(neighbours: int, cables: int) -> float:
        others = range(6, 6 + neighbours)
        uplinks = tuple(Link(a=leaf, b=f"s{n}") for n in range(cables) for leaf in "ab")
        switch = dict(enumerate("aabbbb" + "a" * neighbours))
        place = EndpointLocations(tuple(f"10.0.0.{n}" for n in range(6 + neighbours)), switch=switch, links=uplinks)
        seen = rates([*OUTWARD[:1], *BACK, *((n, 3) for n in others)], OUTWARD[:1])
        link = slow_link(seen, SINCE, BEFORE, place)
        assert link is not None
        return sum(s.probability for s in link.suspects if s.switch == "a")

    assert odds(0, 2) > odds(1, 2) > odds(2, 2) > odds(11, 2)
    assert odds(2, 8) > odds(11, 8) > odds(11, 2) == 0


def test_of_a_single_slow_stream_both_ports_are_likelier_than_any_uplink() -> None:
    """It passes both ports for certain, and each of several uplinks only if the hash put it there."""
    place = EndpointLocations(BEHIND.addresses, switch=dict(enumerate("aabbcc")), links=UPLINKS)
    link = slow_link(rates([(1, 2), (2, 4), (4, 1)], [(1, 2)]), SINCE, BEFORE, place)
    assert link is not None
    assert (link.switch, {link.endpoint, *link.rivals}) == (None, {1, 2})


def test_an_endpoint_that_leaves_slow_streams_unexplained_is_not_the_link() -> None:
    """2 holds nearly all that is lost, but two small streams between others are slow too: all four pass a's uplinks."""
    place = fabric(6, switches=("a", "a", "b", "b", "c", "c"))
    slow = [(1, 2), (2, 0), (3, 0), (4, 1)]
    fine = [(0, 1), (2, 5), (3, 4), (4, 5), (5, 3)]
    seen = rates([*slow, *fine], slow)
    size = np.array([1, 1, 0.05, 0.05, 1, 1, 1, 1, 1])[:, None]
    link = slow_link(replace(seen, bytes=seen.bytes * size), SINCE, BEFORE, place)
    assert link is not None
    assert (link.endpoint, link.switch) == (None, "a")


def test_a_port_slow_both_ways_is_the_link() -> None:
    """Uplinks of both directions at once would be a coincidence."""
    link = slow_link(rates([*OUTWARD, *BACK], [*OUTWARD, *BACK[:2]]), SINCE, BEFORE, BEHIND)
    assert link is not None
    assert (link.endpoint, link.direction) == (1, None)
