"""Slow links whose streams were seen on their way."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.reconstructed.paths import Paths
from datamodel.reports.findings import Finding
from diagnose.links.link_findings import link_finding
from diagnose.links.slow_links import SlowLink
from diagnose.links.uplink_suspects import narrow_to_uplinks
from tests.diagnose.hand_made import Ring, fabric, job_view
from tests.diagnose.links.test_candidate_routes import TWO_TIERS, Stay, seen
from tests.diagnose.links.test_slow_links import BEFORE, SINCE, Pair, rates, slow_link

# Three endpoints behind each of three leaves, three spines.
PLACE = replace(fabric(9, ("leaf1",) * 3 + ("leaf2",) * 3 + ("leaf3",) * 3), links=TWO_TIERS)
# Streams between leaves, either way; of them those of leaf 1 over spine 1 slow down.
PAIRS: tuple[Pair, ...] = ((0, 3), (3, 0), (1, 4), (4, 1), (2, 6), (6, 2), (5, 7), (7, 5), (4, 8), (8, 4))
SLOW = PAIRS[:4]
WINDOW = (0, 100)


def over(spines: Sequence[int | None], switches: Collection[str] = ("leaf1", "leaf2", "leaf3")) -> Paths:
    """Where the streams were seen by some switches, ten times each: the spine of each stream; None: not seen."""
    stays: list[Stay] = []
    for n, ((src, dst), spine) in enumerate(zip(PAIRS, spines, strict=True)):
        ends = (PLACE.switch[src], PLACE.switch[dst])
        if spine is not None:
            stays += [(n, leaf, 10 + spine, leaf == ends[0], 5, 10) for leaf in ends if leaf in switches]
    return seen(TWO_TIERS, *stays)


def suspect(
    paths: Paths | None, slow: Collection[Pair] = SLOW, place: EndpointLocations = PLACE
) -> tuple[SlowLink, SlowLink]:
    """What rates tell, and what sightings leave of it."""
    found = rates(PAIRS, slow)
    link = slow_link(found, SINCE, BEFORE, place)
    assert link is not None
    return link, narrow_to_uplinks(link, found, SINCE, WINDOW, place, paths)


def finding(link: SlowLink, slow: Collection[Pair] = SLOW) -> Finding:
    """The link in the report's words."""
    ops, edges = Ring(9).run(12)
    return link_finding(job_view(ops, edges, PLACE), link, rates(PAIRS, slow), (0, None), 1.3)


# Streams of leaf 1 go over spine 1, but for those of endpoint 2; so does one between the others.
APART = (1, 1, 1, 1, 2, 2, 2, 2, 1, 1)


def test_the_cable_of_all_slow_streams_and_no_quick_one_is_named() -> None:
    """Leaf 1 to spine 1: from spine 1 to leaf 2 a quick stream goes as well."""
    before, after = suspect(over(APART))
    assert (before.endpoint, before.cables) == (None, ())
    told = finding(after)
    assert (told.kind, told.subject.ids, told.subject.a_port, told.suspects) == (
        "slow_uplink",
        ("leaf1", "spine1"),
        11,
        (),
    )
    assert "switches saw 4 on leaf1 (11) - spine1 (1)" in told.summary
    assert [e.value for e in told.evidence if "pass the cable" in e.metric] == [4]


def test_one_switch_that_exports_is_enough() -> None:
    """Of the others the way follows, where both ends' sightings would say the same."""
    named = [finding(suspect(over(APART, who))[1]).subject.ids for who in (("leaf1", "leaf3"), ("leaf2", "leaf3"))]
    assert named == [("leaf1", "spine1"), ("leaf1", "spine1")]


def test_without_sightings_the_finding_stays() -> None:
    """Nobody saw the streams."""
    before, after = suspect(over((None,) * 10))
    assert after is before
    assert suspect(None)[1].cables == ()


def test_sightings_of_quick_streams_clear_their_cables() -> None:
    """Of the slow ones none was seen: what others passed at their usual rate is left out."""
    _, after = suspect(over((None, None, None, None, 2, 2, 2, 2, 1, 1)))
    cables = {(c.link.a, c.link.b) for c in after.cables}
    assert cables == {("leaf1", "spine1"), ("leaf1", "spine3"), ("leaf2", "spine3")}


def test_slow_streams_on_several_cables_are_no_single_one() -> None:
    """Two over one spine, two over another: nothing that all passed, nothing is narrowed."""
    before, after = suspect(over((1, 1, 2, 2, 3, 3, 3, 3, 3, 3)))
    assert after is before


def test_sightings_of_some_slow_streams_leave_several() -> None:
    """Where half of them were not seen the cable of the others is likely, and no other is left."""
    _, after = suspect(over((1, 1, None, None, 2, 2, 2, 2, 1, 1)))
    assert [(c.link.a, c.link.b, c.streams) for c in after.cables] == [("leaf1", "spine1", 2)]


def test_a_far_end_that_no_quick_stream_passes_stays_suspect() -> None:
    """All slow streams run from leaf 1 over spine 1 to leaf 2: either of its two cables may be it."""
    _, after = suspect(over((1, 1, 1, 1, 2, 2, 2, 2, 3, 3)))
    told = finding(after)
    assert told.subject.type == "switch"
    assert told.subject.ids[0] in {"leaf1", "leaf2"}
    assert {s.ids for s in told.suspects} == {("leaf1", "spine1"), ("leaf2", "spine1")}


def test_packets_spread_over_cables_narrow_nothing() -> None:
    """Each sighting at another door."""
    stays = [(n, PLACE.switch[s], 11 + k % 3, True, k, 1) for n, (s, _) in enumerate(PAIRS) for k in range(12)]
    before, after = suspect(seen(TWO_TIERS, *stays))
    assert after is before


def test_an_endpoint_stays_named_unless_its_port_is_clear() -> None:
    """Its one slow stream may be slow by its port or by a cable: the port it passes for certain."""
    slow = [(0, 3)]
    before, after = suspect(over(APART), slow)
    assert before.endpoint is not None
    assert (after.endpoint, after.cables) == (before.endpoint, ())
