"""All shortest routes between switches, and between endpoints that are plugged into several."""

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.reconstructed.streams import Int
from diagnose.paths.shortest_routes import NONE, DirectedCables, shortest_routes

# Leaves a and b with one spine, leaves c and d with another; n and m have a port at a and c, or at b and d.
LINKS = [Link(a=leaf, b=spine) for leaf, spine in (("a", "s"), ("b", "s"), ("c", "t"), ("d", "t"))]
PORTS = [Link(a=nic, b=leaf) for nic, leaf in (("n", "a"), ("n", "c"), ("m", "b"), ("m", "d"), ("o", "a"), ("o", "b"))]
FABRIC = DirectedCables.of([*LINKS, *PORTS], ["n", "m", "o"])


def routes(src: str, dst: str) -> list[str]:
    """Switches passed on each route between two ends."""
    number = {name: n for n, name in enumerate(FABRIC.switches)}
    found = shortest_routes(FABRIC, np.array([[number[src], number[dst]]]))
    return [_passed(hops[hops != NONE]) for hops in found.cables]


def _passed(hops: Int) -> str:
    return "".join([FABRIC.switches[FABRIC.tail[hops[0]]], *(FABRIC.switches[n] for n in FABRIC.head[hops])])


def test_an_endpoint_with_two_ports_has_routes_by_both() -> None:
    """By the leaf and the spine of either plane."""
    assert sorted(routes("n", "m")) == ["nasbm", "nctdm"]


def test_nothing_passes_through_an_endpoint() -> None:
    """Not where that were as short as over a spine, and not where there is no other way."""
    assert routes("a", "b") == ["asb"]
    assert routes("a", "c") == []
    assert sorted(routes("n", "o")) == ["nao"]
